/* numpy.matmul(a, b) for two stacks of matrices by a BLAS, one product after another: a BLAS has
   threads of its own. */
static inline void blas_matmul_batch_F(int64_t count, int64_t m, int64_t n, int64_t k,
                                       const F *a, int64_t a_step, int64_t a_row, int64_t a_col,
                                       const F *b, int64_t b_step, int64_t b_row, int64_t b_col,
                                       F *c, int64_t c_step, int64_t c_row,
                                       int64_t places, void *workspace)
{
    (void)places;
    for (int64_t i = 0; i < count; i++) {
        blas_matmul_F(m, n, k, a + i * a_step, a_row, a_col, b + i * b_step, b_row, b_col,
                      c + i * c_step, c_row, workspace);
    }
}
