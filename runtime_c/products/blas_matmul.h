/* numpy.matmul(a, b) by the gemm of a BLAS, for operands with contiguous rows or columns; by matmul
   for others. 101 is CblasRowMajor, 111 and 112 are CblasNoTrans and CblasTrans. */
static inline void blas_matmul_F(int64_t m, int64_t n, int64_t k,
                                 const F *a, int64_t a_row, int64_t a_col,
                                 const F *b, int64_t b_row, int64_t b_col,
                                 F *c, int64_t c_row, void *workspace)
{
    bool a_plain = a_col == 1 && a_row >= k, a_trans = a_row == 1 && a_col >= m;
    bool b_plain = b_col == 1 && b_row >= n, b_trans = b_row == 1 && b_col >= k;
    if ((a_plain || a_trans) && (b_plain || b_trans)) {
        cblas_gemm_F(101, a_plain ? 111 : 112, b_plain ? 111 : 112, m, n, k, 1,
                     a, a_plain ? a_row : a_col, b, b_plain ? b_row : b_col, 0, c, c_row);
    } else {
        matmul_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, workspace);
    }
}
