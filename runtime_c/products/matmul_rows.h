/* numpy.matmul(a, b), some rows of C at a time by one thread, for what is done with these rows while
   they are in its cache. The numbers are those of matmul, bit for bit.

   B is either in rows of whole vectors, and read where it is, or in panels that matmul_panels has
   made: for each of the parts into which matmul cuts k, MATMUL_COLUMNS columns side by side. */

/* B[k][n] as panels, by all threads; they are n, made a multiple of 32, times k numbers. */
static inline void matmul_panels_F(int64_t n, int64_t k, const F *b, int64_t b_row, int64_t b_col,
                                   F *panels)
{
    const int64_t wide = MATMUL_COLUMNS_F, depth = matmul_part(k, MATMUL_DEPTH);
    int64_t across = (n + wide - 1) / wide;
    #pragma omp parallel for schedule(static) collapse(2) if (n * k > MATMUL_SMALL)
    for (int64_t p = 0; p < k; p += depth) {
        for (int64_t panel = 0; panel < across; panel++) {
            int64_t j = panel * wide, count = matmul_smaller(depth, k - p);
            matmul_pack_F(wide, matmul_smaller(wide, n - j), count, b + p * b_row + j * b_col,
                          b_col, b_row, panels + p * across * wide + j * count);
        }
    }
}

/* C[m][n] = A[m][k] @ B[k][n]: element (i, p) of A is a[i * a_row + p * a_col]; rows of C are
   c_row apart, and those of B b_row; b_row is 0 for panels. */
static inline void matmul_rows_F(int64_t m, int64_t n, int64_t k,
                                 const F *a, int64_t a_row, int64_t a_col,
                                 const F *b, int64_t b_row, F *c, int64_t c_row)
{
    const int64_t wide = MATMUL_COLUMNS_F, part = matmul_part(k, MATMUL_DEPTH);
    int64_t whole = (n + wide - 1) / wide * wide;
    for (int64_t p = 0; p < k; p += part) {
        int64_t depth = matmul_smaller(part, k - p);
        for (int64_t group = 0; group < n; group += MATMUL_GROUP * wide) {
            int64_t end = matmul_smaller(n, group + MATMUL_GROUP * wide);
            for (int64_t i = 0; i < m; i += MATMUL_ROWS) {
                for (int64_t j = group; j < end; j += wide) {
                    matmul_tile_F(matmul_smaller(MATMUL_ROWS, m - i), matmul_smaller(wide, n - j),
                                  depth, a + i * a_row + p * a_col, a_row, a_col,
                                  b_row == 0 ? b + p * whole + j * depth : b + p * b_row + j,
                                  b_row == 0 ? wide : b_row, c + i * c_row + j, c_row, p > 0);
                }
            }
        }
    }
}
