/* Allocates scratch memory on a cache line of its own, and advances `place` past it. */
static inline void *scratch_block(char **place, int64_t bytes)
{
    char *start = *place + (-(uintptr_t)*place & 63);
    *place = start + bytes;
    return start;
}

/* numpy.transpose(x), as a copy: from (rows, columns) to (columns, rows), tiled. */
static inline void transposed_T(int64_t rows, int64_t columns, const T *restrict x, T *restrict y)
{
    const int64_t side = 16;
    for (int64_t i0 = 0; i0 < rows; i0 += side) {
        int64_t i1 = i0 + side < rows ? i0 + side : rows;
        for (int64_t j0 = 0; j0 < columns; j0 += side) {
            int64_t j1 = j0 + side < columns ? j0 + side : columns;
            for (int64_t i = i0; i < i1; i++) {
                for (int64_t j = j0; j < j1; j++) {
                    y[j * rows + i] = x[i * columns + j];
                }
            }
        }
    }
}

/* Fills x with NaN, the result of a factorization that failed. */
static inline void fill_nan_T(int64_t count, T *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] = (T)NAN;
    }
}

/* numpy.isfinite(x).all(), for routines that do not terminate, or return anything, given infinities
   or NaNs. */
static inline bool all_finite_F(int64_t count, const F *x)
{
    bool found = true;
    for (int64_t i = 0; i < count; i++) {
        found = found && isfinite(x[i]);
    }
    return found;
}

static inline bool all_finite_C(int64_t count, const C *x)
{
    bool found = true;
    for (int64_t i = 0; i < count; i++) {
        found = found && isfinite(creal(x[i])) && isfinite(cimag(x[i]));
    }
    return found;
}

/* scipy.linalg.lu_factor(x) for x of (m, n): the factors in one matrix, the pivots, and the
   permutation of the rows that they make. LAPACK's matrices are column-major, so x is transposed.
   */
static inline void lu_T(int64_t m, int64_t n, const T *x, T *lu, int64_t *pivots,
                        int64_t *permutation, void *workspace)
{
    int64_t k = m < n ? m : n;
    if (m <= SMALL_SYSTEM && n <= SMALL_SYSTEM) {
        memcpy(lu, x, (size_t)(m * n) * sizeof(T));
        eliminate_T(m, n, lu, pivots);
    } else {
        char *place = workspace;
        T *a = scratch_block(&place, m * n * (int64_t)sizeof(T));
        lapack_int *found = scratch_block(&place, k * (int64_t)sizeof(lapack_int));
        lapack_int rows = (lapack_int)m, columns = (lapack_int)n, info = 0;
        transposed_T(m, n, x, a);
        if (k > 0) { /* LAPACK refuses arrays without rows, with a message of its own */
            lapack_getrf_T(&rows, &columns, a, &rows, found, &info);
        }
        transposed_T(n, m, a, lu);
        for (int64_t i = 0; i < k; i++) {
            int64_t other = (int64_t)found[i] - 1;
            pivots[i] = other < i || other >= m ? i : other;
        }
    }
    for (int64_t i = 0; i < m; i++) {
        permutation[i] = i;
    }
    for (int64_t i = 0; i < k; i++) {
        int64_t moved = permutation[i];
        permutation[i] = permutation[pivots[i]];
        permutation[pivots[i]] = moved;
    }
}

/* numpy.linalg.cholesky(x) of (n, n), by the lower triangle; NaN where x is not positive definite.
   To LAPACK, which is column-major, x is x^T, and its upper factor l^T: nothing has to be
   transposed. */
static inline void cholesky_T(int64_t n, const T *x, T *l, void *workspace)
{
    lapack_int size = (lapack_int)n, info = 0;
    (void)workspace;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            l[i * n + j] = j <= i ? x[i * n + j] : 0;
        }
    }
    if (n > 0) {
        lapack_potrf_T("U", &size, l, &size, &info, 1);
    }
    if (info != 0) {
        for (int64_t i = 0; i < n; i++) {
            fill_nan_T(i + 1, l + i * n);
        }
    }
}

/* scipy.linalg.solve_triangular(a, b) for a of (n, n), b of (n, k). `form`: 0 solves a x = b, 1
   takes the transpose of a, 2 its conjugate transpose. To LAPACK, which is column-major, this is
   x^T a^T = b^T, solved in place. */
static inline void triangular_solve_T(int64_t n, int64_t k, int64_t lower, int64_t unit,
                                      int64_t form, const T *a, const T *b, T *x, void *workspace)
{
    lapack_int rows = (lapack_int)k, columns = (lapack_int)n;
    const T one = 1;
    (void)workspace;
    if (n == 0 || k == 0) {
        return;
    }
    memcpy(x, b, (size_t)(n * k) * sizeof(T));
    if (n <= SMALL_SYSTEM && k <= SMALL_SYSTEM) {
        substitute_T(n, k, lower, unit, form, a, x);
        return;
    }
    lapack_trsm_T("R", lower ? "U" : "L", form == 0 ? "N" : form == 1 ? "T" : "C",
                  unit ? "U" : "N", &rows, &columns, &one, a, &columns, x, &rows, 1, 1, 1, 1);
}

/* numpy.linalg.qr(x) of (m, n): q of (m, c) and r of (c, n), c being m or min(m, n). */
static inline void qr_T(int64_t m, int64_t n, int64_t c, int64_t length, const T *x, T *q, T *r,
                        void *workspace)
{
    int64_t k = m < n ? m : n, wide = n < c ? c : n;
    char *place = workspace;
    T *a = scratch_block(&place, m * wide * (int64_t)sizeof(T));
    T *tau = scratch_block(&place, k * (int64_t)sizeof(T));
    T *work = scratch_block(&place, length * (int64_t)sizeof(T));
    lapack_int rows = (lapack_int)m, columns = (lapack_int)n, of_q = (lapack_int)c;
    lapack_int count = (lapack_int)k, size = (lapack_int)length, info = 0;
    if (m == 0) {
        return;
    }
    transposed_T(m, n, x, a);
    lapack_geqrf_T(&rows, &columns, a, &rows, tau, work, &size, &info);
    for (int64_t i = 0; i < c; i++) {
        for (int64_t j = 0; j < n; j++) {
            r[i * n + j] = i <= j ? a[j * m + i] : 0;
        }
    }
    lapack_orgqr_T(&rows, &of_q, &count, a, &rows, tau, work, &size, &info);
    transposed_T(c, m, a, q);
}

/* numpy.linalg.qr(x, mode="raw") of (m, n): the Householder reflectors, transposed, and tau. */
static inline void householder_T(int64_t m, int64_t n, int64_t length, const T *x, T *h, T *tau,
                                 void *workspace)
{
    char *place = workspace;
    T *work = scratch_block(&place, length * (int64_t)sizeof(T));
    lapack_int rows = (lapack_int)m, columns = (lapack_int)n, size = (lapack_int)length, info = 0;
    if (m == 0) {
        return;
    }
    transposed_T(m, n, x, h);
    lapack_geqrf_T(&rows, &columns, h, &rows, tau, work, &size, &info);
}

/* LAPACK's routine for numpy.linalg.eigh under one name: ?syevd, or ?heevd, which alone has real
   scratch memory. */
static inline lapack_int eigh_driver_F(const char *job, const char *part, lapack_int n, F *a, F *w,
                                       F *work, lapack_int length, F *rwork, lapack_int real_length,
                                       lapack_int *iwork, lapack_int integer_length)
{
    lapack_int info = 0;
    (void)rwork, (void)real_length;
    lapack_heevd_F(job, part, &n, a, &n, w, work, &length, iwork, &integer_length, &info, 1, 1);
    return info;
}

static inline lapack_int eigh_driver_C(const char *job, const char *part, lapack_int n, C *a, R *w,
                                       C *work, lapack_int length, R *rwork, lapack_int real_length,
                                       lapack_int *iwork, lapack_int integer_length)
{
    lapack_int info = 0;
    lapack_heevd_C(job, part, &n, a, &n, w, work, &length, rwork, &real_length, iwork,
                   &integer_length, &info, 1, 1);
    return info;
}

/* numpy.linalg.eigh(x) of (n, n) from one triangle; eigenvalues only if v is NULL. NaN where LAPACK
   does not converge. */
static inline void eigh_T(int64_t n, int64_t lower, int64_t length, int64_t real_length,
                          int64_t integer_length, const T *x, R *w, T *v, void *workspace)
{
    char *place = workspace;
    T *a = scratch_block(&place, n * n * (int64_t)sizeof(T));
    T *work = scratch_block(&place, length * (int64_t)sizeof(T));
    R *rwork = scratch_block(&place, real_length * (int64_t)sizeof(R));
    lapack_int *iwork = scratch_block(&place, integer_length * (int64_t)sizeof(lapack_int));
    if (n == 0) {
        return;
    }
    transposed_T(n, n, x, a);
    lapack_int info = eigh_driver_T(v != NULL ? "V" : "N", lower ? "L" : "U", (lapack_int)n, a, w,
                                    work, (lapack_int)length, rwork, (lapack_int)real_length,
                                    iwork, (lapack_int)integer_length);
    if (info != 0) {
        fill_nan_R(n, w);
        fill_nan_T(n * n, a);
    }
    if (v != NULL) {
        transposed_T(n, n, a, v);
    }
}

/* numpy.linalg.eigvalsh(x) of (n, n) from one triangle. */
static inline void eigvalsh_T(int64_t n, int64_t lower, int64_t length, int64_t real_length,
                              int64_t integer_length, const T *x, R *w, void *workspace)
{
    eigh_T(n, lower, length, real_length, integer_length, x, w, NULL, workspace);
}

/* numpy.linalg.eig(x) of a real (n, n); eigenvalues only if v is NULL. LAPACK returns the real and
   imaginary parts of a conjugate pair of eigenvectors as two columns. */
static inline void eig_F(int64_t n, int64_t length, const F *x, Z *w, Z *v, void *workspace)
{
    char *place = workspace;
    F *a = scratch_block(&place, n * n * (int64_t)sizeof(F));
    F *right = scratch_block(&place, n * n * (int64_t)sizeof(F));
    F *real = scratch_block(&place, n * (int64_t)sizeof(F));
    F *imaginary = scratch_block(&place, n * (int64_t)sizeof(F));
    F *work = scratch_block(&place, length * (int64_t)sizeof(F));
    lapack_int size = (lapack_int)n, one = 1, long_size = (lapack_int)length;
    lapack_int info = !all_finite_F(n * n, x);
    if (n == 0) {
        return;
    }
    transposed_F(n, n, x, a);
    if (info == 0) {
        lapack_geev_F("N", v != NULL ? "V" : "N", &size, a, &size, real, imaginary, right, &one,
                      right, &size, work, &long_size, &info, 1, 1);
    }
    for (int64_t j = 0; j < n; j++) {
        w[j] = info == 0 ? make_complex_F(real[j], imaginary[j]) : (Z)NAN;
    }
    for (int64_t j = 0; v != NULL && j < n; j++) {
        const F *first = right + j * n, *second = first + n;
        bool is_pair = info == 0 && imaginary[j] != 0 && j + 1 < n;
        for (int64_t i = 0; i < n; i++) {
            if (is_pair) {
                v[i * n + j] = make_complex_F(first[i], second[i]);
                v[i * n + j + 1] = make_complex_F(first[i], -second[i]);
            } else {
                v[i * n + j] = info == 0 ? make_complex_F(first[i], 0) : (Z)NAN;
            }
        }
        j += is_pair;
    }
}

/* numpy.linalg.eig(x) of a complex (n, n); eigenvalues only if v is NULL. */
static inline void eig_C(int64_t n, int64_t length, const C *x, C *w, C *v, void *workspace)
{
    char *place = workspace;
    C *a = scratch_block(&place, n * n * (int64_t)sizeof(C));
    C *right = scratch_block(&place, n * n * (int64_t)sizeof(C));
    R *rwork = scratch_block(&place, 2 * n * (int64_t)sizeof(R));
    C *work = scratch_block(&place, length * (int64_t)sizeof(C));
    lapack_int size = (lapack_int)n, one = 1, long_size = (lapack_int)length;
    lapack_int info = !all_finite_C(n * n, x);
    if (n == 0) {
        return;
    }
    transposed_C(n, n, x, a);
    if (info == 0) {
        lapack_geev_C("N", v != NULL ? "V" : "N", &size, a, &size, w, right, &one, right, &size,
                      work, &long_size, rwork, &info, 1, 1);
    }
    if (info != 0) {
        fill_nan_C(n, w);
        fill_nan_C(n * n, right);
    }
    if (v != NULL) {
        transposed_C(n, n, right, v);
    }
}

/* numpy.linalg.eigvals(x) of (n, n). */
static inline void eigvals_T(int64_t n, int64_t length, const T *x, Z *w, void *workspace)
{
    eig_T(n, length, x, w, NULL, workspace);
}

/* LAPACK's routine for numpy.linalg.svd under one name, as for eigh. */
static inline lapack_int svd_driver_F(const char *job, lapack_int m, lapack_int n, F *a, F *s, F *u,
                                      F *vh, lapack_int rows_of_vh, F *work, lapack_int length,
                                      F *rwork, lapack_int *iwork)
{
    lapack_int info = 0;
    (void)rwork;
    lapack_gesdd_F(job, &m, &n, a, &m, s, u, &m, vh, &rows_of_vh, work, &length, iwork, &info, 1);
    return info;
}

static inline lapack_int svd_driver_C(const char *job, lapack_int m, lapack_int n, C *a, R *s, C *u,
                                      C *vh, lapack_int rows_of_vh, C *work, lapack_int length,
                                      R *rwork, lapack_int *iwork)
{
    lapack_int info = 0;
    lapack_gesdd_C(job, &m, &n, a, &m, s, u, &m, vh, &rows_of_vh, work, &length, rwork, iwork,
                   &info, 1);
    return info;
}

/* The first columns of the identity, one after another. */
static inline void identity_T(int64_t rows, int64_t columns, T *x)
{
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) {
            x[j * rows + i] = i == j;
        }
    }
}

/* numpy.linalg.svd(x) of (m, n): u of (m, rows), s, and vh of (columns, n); singular values only if
   u is NULL. NaN where LAPACK does not converge. */
static inline void svd_T(int64_t m, int64_t n, int64_t rows, int64_t columns, int64_t length,
                         int64_t real_length, const T *x, T *u, R *s, T *vh, void *workspace)
{
    int64_t k = m < n ? m : n;
    char *place = workspace;
    T *a = scratch_block(&place, m * n * (int64_t)sizeof(T));
    T *left = scratch_block(&place, m * rows * (int64_t)sizeof(T));
    T *right = scratch_block(&place, n * columns * (int64_t)sizeof(T));
    T *work = scratch_block(&place, length * (int64_t)sizeof(T));
    R *rwork = scratch_block(&place, real_length * (int64_t)sizeof(R));
    lapack_int *iwork = scratch_block(&place, 8 * k * (int64_t)sizeof(lapack_int));
    const char *job = u == NULL ? "N" : rows == k && columns == k ? "S" : "A";
    lapack_int info = !all_finite_T(m * n, x);
    transposed_T(m, n, x, a);
    if (k == 0) {
        identity_T(m, rows, left);
        identity_T(n, columns, right);
    } else if (info == 0) {
        info = svd_driver_T(job, (lapack_int)m, (lapack_int)n, a, s, left, right,
                            (lapack_int)columns, work, (lapack_int)length, rwork, iwork);
    }
    if (info != 0) {
        fill_nan_R(k, s);
        fill_nan_T(m * rows, left);
        fill_nan_T(n * columns, right);
    }
    if (u != NULL) {
        transposed_T(rows, m, left, u);
        transposed_T(n, columns, right, vh);
    }
}

/* numpy.linalg.svdvals(x) of (m, n). */
static inline void svdvals_T(int64_t m, int64_t n, int64_t length, int64_t real_length, const T *x,
                             R *s, void *workspace)
{
    svd_T(m, n, 1, 1, length, real_length, x, NULL, s, NULL, workspace);
}

/* The square root of an upper triangular matrix, column by column, in place: column j begins at a[j
   * n]. Method: A. Bjorck and S. Hammarling, A Schur method for the square root of a matrix, 1983.
   */
static inline void triangular_root_C(int64_t n, C *a)
{
    for (int64_t j = 0; j < n; j++) {
        C *column = a + j * n;
        column[j] = sqrt_C(column[j]);
        for (int64_t i = j - 1; i >= 0; i--) {
            C total = column[i], size = a[i * n + i] + column[j];
            for (int64_t k = i + 1; k < j; k++) {
                total -= multiply_C(a[k * n + i], column[k]);
            }
            column[i] = total == 0 ? 0 : divide_C(total, size);
        }
    }
}

/* scipy.linalg.sqrtm(x) of (n, n), always complex: z t^(1/2) z^H from the Schur form z t z^H. */
static inline void sqrtm_T(int64_t n, int64_t length, const T *x, Z *y, void *workspace)
{
    char *place = workspace;
    Z *a = scratch_block(&place, n * n * (int64_t)sizeof(Z));
    Z *z = scratch_block(&place, n * n * (int64_t)sizeof(Z));
    Z *values = scratch_block(&place, n * (int64_t)sizeof(Z));
    Z *work = scratch_block(&place, length * (int64_t)sizeof(Z));
    R *rwork = scratch_block(&place, n * (int64_t)sizeof(R));
    lapack_int size = (lapack_int)n, none = 0, unused = 0, info = 0;
    lapack_int long_size = (lapack_int)length;
    if (n == 0) {
        return;
    }
    if (!all_finite_T(n * n, x)) {
        fill_nan_Z(n * n, y);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            a[j * n + i] = x[i * n + j];
        }
    }
    lapack_gees_Z("V", "N", NULL, &size, a, &size, &none, values, z, &size, work, &long_size,
                  rwork, &unused, &info, 1, 1);
    if (info != 0) {
        fill_nan_Z(n * n, y);
        return;
    }
    triangular_root_Z(n, a);
    Z *row = values; /* of z t^(1/2) */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            Z total = 0;
            for (int64_t k = 0; k <= j; k++) {
                total += multiply_Z(z[k * n + i], a[j * n + k]);
            }
            row[j] = total;
        }
        for (int64_t j = 0; j < n; j++) {
            Z total = 0;
            for (int64_t k = 0; k < n; k++) {
                total += multiply_Z(row[k], conjugate_Z(z[k * n + j]));
            }
            y[i * n + j] = total;
        }
    }
}

/* The permutation of `size` rows after each of the first `count` is exchanged with its pivot row.
   */
static inline void pivots_to_permutation_i64(int64_t count, int64_t size, const int64_t *pivots,
                                             int64_t *permutation, void *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < size; i++) {
        permutation[i] = i;
    }
    for (int64_t i = 0; i < count && i < size; i++) {
        int64_t other = pivots[i] < 0 || pivots[i] >= size ? i : pivots[i];
        int64_t moved = permutation[i];
        permutation[i] = permutation[other];
        permutation[other] = moved;
    }
}

/* LAPACK's routine for scipy.linalg.schur under one name; w has 2 n elements. */
static inline lapack_int schur_driver_F(lapack_int n, F *a, F *z, F *w, F *work, lapack_int length,
                                        F *rwork)
{
    lapack_int none = 0, unused = 0, info = 0;
    (void)rwork;
    lapack_gees_F("V", "N", NULL, &n, a, &n, &none, w, w + n, z, &n, work, &length, &unused, &info,
                  1, 1);
    return info;
}

static inline lapack_int schur_driver_C(lapack_int n, C *a, C *z, C *w, C *work, lapack_int length,
                                        R *rwork)
{
    lapack_int none = 0, unused = 0, info = 0;
    lapack_gees_C("V", "N", NULL, &n, a, &n, &none, w, z, &n, work, &length, rwork, &unused, &info,
                  1, 1);
    return info;
}

/* scipy.linalg.schur(x) of (n, n): t and z with x = z t z^H; NaN where LAPACK does not converge. */
static inline void schur_T(int64_t n, int64_t length, const T *x, T *t, T *z, void *workspace)
{
    char *place = workspace;
    T *a = scratch_block(&place, n * n * (int64_t)sizeof(T));
    T *vectors = scratch_block(&place, n * n * (int64_t)sizeof(T));
    T *values = scratch_block(&place, 2 * n * (int64_t)sizeof(T));
    T *work = scratch_block(&place, length * (int64_t)sizeof(T));
    R *rwork = scratch_block(&place, n * (int64_t)sizeof(R));
    if (n == 0) {
        return;
    }
    transposed_T(n, n, x, a);
    if (!all_finite_T(n * n, x) ||
        schur_driver_T((lapack_int)n, a, vectors, values, work, (lapack_int)length, rwork) != 0) {
        fill_nan_T(n * n, a);
        fill_nan_T(n * n, vectors);
    }
    transposed_T(n, n, a, t);
    transposed_T(n, n, vectors, z);
}
