/* The size in bytes of complex_matmul's workspace; `copies` tells whether the rows of A are copied. */
static inline int64_t complex_matmul_workspace_C(int64_t m, int64_t n, int64_t k, bool copies)
{
    int64_t columns = 2 * matmul_min(n, MATMUL_BLOCK / 2);
    int64_t numbers = 2 * k * (columns + (copies ? m : 0)) + 16;
    return numbers * (int64_t)sizeof(R) + matmul_workspace_R(m, columns, 2 * k);
}

/* numpy.matmul(a, b) for two complex matrices, strides as those of matmul, as one real product.
   A number x + iy in a row of A is x, y in memory, and the same of C: the real matrix C[m][2n] is
   A[m][2k] @ B[2k][2n], where B has for each number x + iy the rows x, y and -y, x. Of B a block of
   columns is made at a time; a row of A with other strides is copied. */
static inline void complex_matmul_C(int64_t m, int64_t n, int64_t k,
                                    const C *a, int64_t a_row, int64_t a_col,
                                    const C *b, int64_t b_row, int64_t b_col,
                                    C *c, int64_t c_row, void *workspace)
{
    int64_t block = matmul_min(n, MATMUL_BLOCK / 2);
    R *pairs = (R *)((char *)workspace + (-(uintptr_t)workspace & 63)), *rest = pairs + 4 * k * block;
    const R *left = (const R *)a;
    if (a_col != 1) {
        R *rows = rest;
        #pragma omp parallel for NUM_THREADS schedule(static) if (m * k > MATMUL_COPY)
        for (int64_t i = 0; i < m; i++) {
            for (int64_t p = 0; p < k; p++) {
                rows[2 * (i * k + p)] = real_C(a[i * a_row + p * a_col]);
                rows[2 * (i * k + p) + 1] = imag_C(a[i * a_row + p * a_col]);
            }
        }
        left = rows;
        a_row = k;
        rest += 2 * m * k;
    }
    for (int64_t j = 0; j < n; j += block) {
        int64_t columns = matmul_min(block, n - j);
        #pragma omp parallel for NUM_THREADS schedule(static) if (columns * k > MATMUL_COPY)
        for (int64_t p = 0; p < k; p++) {
            const C *from = b + p * b_row + j * b_col;
            R *one = pairs + 4 * p * columns, *other = one + 2 * columns;
            for (int64_t i = 0; i < columns; i++) {
                R real = real_C(from[i * b_col]), imag = imag_C(from[i * b_col]);
                one[2 * i] = real;
                one[2 * i + 1] = imag;
                other[2 * i] = -imag;
                other[2 * i + 1] = real;
            }
        }
        matmul_R(m, 2 * columns, 2 * k, left, 2 * a_row, 1, pairs, 2 * columns, 1,
                 (R *)c + 2 * j, 2 * c_row, rest);
    }
}
