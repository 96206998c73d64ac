/* clipped.py:9: return np.where(x < low, 0, np.clip(x, -1, 1)) */
static void clipped_kernel(const double x[restrict 1000], const double low[restrict 1000],
                           double out[restrict 1000])
{
    #pragma omp simd
    for (int64_t i = 0; i < 1000; i++)
        out[i] = x[i] < low[i] ? 0.0 : minimum_f64(maximum_f64(x[i], -1.0), 1.0);
}

size_t clipped_workspace_size(void)
{
    return 0;
}

const char *clipped_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int clipped(const double *x, const double *low, double *out, void *workspace)
{
    (void)workspace;
    clipped_kernel(x, low, out);
    return 0;
}
