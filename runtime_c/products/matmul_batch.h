/* numpy.matmul(a, b) for two stacks of small matrices: `count` products by matmul. The strides of
   the stacks are a_step, b_step and c_step elements. Threads share the products, each of `places`
   ranges of them with its own part of `workspace`. */
static inline void matmul_batch_F(int64_t count, int64_t m, int64_t n, int64_t k,
                                  const F *a, int64_t a_step, int64_t a_row, int64_t a_col,
                                  const F *b, int64_t b_step, int64_t b_row, int64_t b_col,
                                  F *c, int64_t c_step, int64_t c_row,
                                  int64_t places, void *workspace)
{
    int64_t room = (matmul_workspace_F(m, n, k) + 63) / 64 * 64;
    #pragma omp parallel for NUM_THREADS schedule(static)
    for (int64_t place = 0; place < places; place++) {
        for (int64_t i = count * place / places; i < count * (place + 1) / places; i++) {
            matmul_F(m, n, k, a + i * a_step, a_row, a_col, b + i * b_step, b_row, b_col,
                     c + i * c_step, c_row, (char *)workspace + place * room);
        }
    }
}
