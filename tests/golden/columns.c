/* golden_functions.py:51: return np.mean(x, axis=0), np.std(x, axis=0) */
static void columns_kernel(const double x[restrict 2000][300], double out_0[restrict 300],
                           double out_1[restrict 300])
{
    #pragma omp parallel for
    for (int64_t strip = 0; strip < 4; strip++) {
        const int64_t first = 80 * strip;
        const int64_t last = minimum_i64(80 * strip + 80, 300);
        double acc[80];
        #pragma omp simd
        for (int64_t i = first; i < last; i++)
            acc[i - first] = 0.0;
        for (int64_t j = 0; j < 2000; j++) {
            #pragma omp simd
            for (int64_t i = first; i < last; i++)
                acc[i - first] += x[j][i];
        }
        double t[80];
        double acc2[80];
        #pragma omp simd
        for (int64_t i = first; i < last; i++) {
            t[i - first] = acc[i - first] / 2000.0;
            out_0[i] = t[i - first];
            acc2[i - first] = 0.0;
        }
        for (int64_t j = 0; j < 2000; j++) {
            #pragma omp simd
            for (int64_t i = first; i < last; i++) {
                const double t2 = x[j][i] - t[i - first];
                acc2[i - first] += t2 * t2;
            }
        }
        #pragma omp simd
        for (int64_t i = first; i < last; i++)
            out_1[i] = sqrt(acc2[i - first] / 2000.0);
    }
}

size_t columns_workspace_size(void)
{
    return 0;
}

const char *columns_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int columns(const double *x, double *out_0, double *out_1, void *workspace)
{
    (void)workspace;
    columns_kernel((const double (*)[300])x, out_0, out_1);
    return 0;
}
