/* argmax.py:9: return np.argmax(x, axis=1) */
static void argmax_kernel(const double x[restrict 100][50], int64_t out[restrict 100])
{
    for (int64_t i = 0; i < 100; i++) {
        double acc = -INFINITY;
        int64_t is_nan = 0;
        #pragma omp simd reduction(larger_f64:acc) reduction(|:is_nan)
        for (int64_t j = 0; j < 48; j++) {
            acc = x[i][j] > acc ? x[i][j] : acc;
            is_nan |= isnan_f64(x[i][j]);
        }
        #pragma omp simd reduction(larger_f64:acc) reduction(|:is_nan)
        for (int64_t j = 42; j < 50; j++) {
            acc = x[i][j] > acc ? x[i][j] : acc;
            is_nan |= isnan_f64(x[i][j]);
        }
        acc = is_nan != 0 ? NAN : acc;
        int64_t acc2 = INT64_MAX;
        #pragma omp simd reduction(min:acc2)
        for (int64_t j = 0; j < 48; j++)
            acc2 = minimum_i64(acc2, ((x[i][j] == acc) | isnan_f64(x[i][j])) ? j : INT64_MAX);
        #pragma omp simd reduction(min:acc2)
        for (int64_t j = 42; j < 50; j++)
            acc2 = minimum_i64(acc2, ((x[i][j] == acc) | isnan_f64(x[i][j])) ? j : INT64_MAX);
        out[i] = acc2;
    }
}

size_t argmax_workspace_size(void)
{
    return 0;
}

const char *argmax_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int argmax(const double *x, int64_t *out, void *workspace)
{
    (void)workspace;
    argmax_kernel((const double (*)[50])x, out);
    return 0;
}
