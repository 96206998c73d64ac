/* transposed.py:7: return x + y.T */
static void transposed_kernel(const double x[restrict 200][300], const double y[restrict 300][200],
                              double out[restrict 200][300])
{
    for (int64_t i_tile = 0; i_tile < 7; i_tile++) {
        for (int64_t j_tile = 0; j_tile < 10; j_tile++) {
            double y_tile[32][32];
            transpose_tile_u64(32, 300 - 32 * j_tile, 200 - 32 * i_tile,
                    &y[32 * j_tile][32 * i_tile], 200, y_tile[0]);
            for (int64_t i = 32 * i_tile; i < minimum_i64(32 * i_tile + 32, 200); i++) {
                #pragma omp simd
                for (int64_t j = 32 * j_tile; j < minimum_i64(32 * j_tile + 32, 300); j++)
                    out[i][j] = x[i][j] + y_tile[i - 32 * i_tile][j - 32 * j_tile];
            }
        }
    }
}

size_t transposed_workspace_size(void)
{
    return 0;
}

const char *transposed_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int transposed(const double *x, const double *y, double *out, void *workspace)
{
    (void)workspace;
    transposed_kernel((const double (*)[300])x, (const double (*)[200])y, (double (*)[300])out);
    return 0;
}
