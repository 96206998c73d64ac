/* joined.py:9: return np.concatenate([x, 2 * y, x + y]) */
static void joined_kernel(const double x[restrict 100], const double y[restrict 100],
                          double out[restrict 300])
{
    #pragma omp simd
    for (int64_t i = 0; i < 100; i++)
        out[i] = x[i];
    #pragma omp simd
    for (int64_t i = 100; i < 200; i++)
        out[i] = 2.0 * y[i - 100];
    #pragma omp simd
    for (int64_t i = 200; i < 300; i++)
        out[i] = x[i - 200] + y[i - 200];
}

size_t joined_workspace_size(void)
{
    return 0;
}

const char *joined_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int joined(const double *x, const double *y, double *out, void *workspace)
{
    (void)workspace;
    joined_kernel(x, y, out);
    return 0;
}
