/* numpy.linalg: matrices of no more rows and columns are factored and solved by loops: a call of
   LAPACK takes longer than all of their arithmetic. */
enum { SMALL_SYSTEM = 8 };

/* The size by which LAPACK compares pivots. */
static inline F pivot_size_F(F x)
{
    return x < 0 ? -x : x;
}

static inline R pivot_size_C(C x)
{
    return pivot_size_R(real_C(x)) + pivot_size_R(imag_C(x));
}

/* x - factor * y and x / y, of floats and of complex numbers. */
static inline F eliminated_F(F x, F factor, F y)
{
    return x - factor * y;
}

static inline C eliminated_C(C x, C factor, C y)
{
    return x - multiply_C(factor, y);
}

static inline F pivot_quotient_F(F x, F y)
{
    return x / y;
}

/* Both times a power of two where y is so small that its reciprocal may be infinite: exact, as the
   quotient of an x that then overflows is infinite, too. */
static inline C pivot_quotient_C(C x, C y)
{
    if (pivot_size_C(y) >= (R)0x1p-100) {
        return divide_C(x, y);
    }
    const R scale = (R)0x1p60;
    return divide_C(make_complex_R(real_C(x) * scale, imag_C(x) * scale),
                    make_complex_R(real_C(y) * scale, imag_C(y) * scale));
}

/* The factors of (m, n) in place, and the row that each of the first was exchanged with. A column
   of zeros has no quotients. Method: Gaussian elimination with partial pivoting, row by row. */
static inline void eliminate_T(int64_t m, int64_t n, T *a, int64_t *pivots)
{
    for (int64_t k = 0; k < m && k < n; k++) {
        int64_t pivot = k;
        R largest = pivot_size_T(a[k * n + k]);
        for (int64_t i = k + 1; i < m; i++) {
            const R size = pivot_size_T(a[i * n + k]);
            pivot = size > largest ? i : pivot;
            largest = size > largest ? size : largest;
        }
        pivots[k] = pivot;
        for (int64_t j = 0; j < n && pivot != k; j++) {
            const T moved = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = moved;
        }
        const T divisor = a[k * n + k];
        for (int64_t i = k + 1; i < m; i++) {
            const T factor =
                largest == 0 ? a[i * n + k] : pivot_quotient_T(a[i * n + k], divisor);
            a[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++) {
                a[i * n + j] = eliminated_T(a[i * n + j], factor, a[k * n + j]);
            }
        }
    }
}

/* The coefficient of a triangular system: of the matrix, its transpose (form 1), or its conjugate
   transpose. */
static inline F coefficient_F(int64_t n, int64_t form, const F *a, int64_t i, int64_t j)
{
    return form == 0 ? a[i * n + j] : a[j * n + i];
}

static inline C coefficient_C(int64_t n, int64_t form, const C *a, int64_t i, int64_t j)
{
    const C found = form == 0 ? a[i * n + j] : a[j * n + i];
    return form == 2 ? conjugate_C(found) : found;
}

/* x of (n, k) becomes the solution of a x = x, by substitution. */
static inline void substitute_T(int64_t n, int64_t k, int64_t lower, int64_t unit, int64_t form,
                                const T *a, T *x)
{
    const bool from_first = (lower != 0) == (form == 0);
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = from_first ? step : n - 1 - step;
        for (int64_t j = from_first ? 0 : i + 1; j < (from_first ? i : n); j++) {
            const T factor = coefficient_T(n, form, a, i, j);
            for (int64_t column = 0; column < k; column++) {
                x[i * k + column] = eliminated_T(x[i * k + column], factor, x[j * k + column]);
            }
        }
        const T divisor = coefficient_T(n, form, a, i, i);
        for (int64_t column = 0; unit == 0 && column < k; column++) {
            x[i * k + column] = pivot_quotient_T(x[i * k + column], divisor);
        }
    }
}
