/* columns.py:9: return np.mean(x, axis=0), np.std(x, axis=0) */
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
        for (int64_t group = 0; group < 500; group++) {
            #pragma omp simd
            for (int64_t i = first; i < last; i++) {
                double acc_own = acc[i - first];
                for (int64_t j = 0; j < 4; j++)
                    acc_own += x[4 * group + j][i];
                acc[i - first] = acc_own;
            }
        }
        double t[80];
        double acc2[80];
        #pragma omp simd
        for (int64_t i = first; i < last; i++) {
            t[i - first] = acc[i - first] / 2000.0;
            out_0[i] = t[i - first];
            acc2[i - first] = 0.0;
        }
        for (int64_t group = 0; group < 500; group++) {
            #pragma omp simd
            for (int64_t i = first; i < last; i++) {
                double acc2_own = acc2[i - first];
                for (int64_t j = 0; j < 4; j++) {
                    const double t2 = x[4 * group + j][i] - t[i - first];
                    acc2_own += t2 * t2;
                }
                acc2[i - first] = acc2_own;
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
