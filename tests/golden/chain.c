/* chain.py:9: return np.exp(-x * x) * np.sin(y) + 0.5 * x */
static void chain_kernel(const double x[restrict 1000], const double y[restrict 1000],
                         double out[restrict 1000])
{
    int64_t far = 0;
    #pragma omp simd reduction(|:far)
    for (int64_t i = 0; i < 1000; i++) {
        far |= fabs(y[i]) > 1099511627776.0;
        out[i] = exp_f64(-x[i] * x[i]) * sin_near_f64(y[i]) + 0.5 * x[i];
    }
    if (far != 0) {
        #pragma omp simd
        for (int64_t i = 0; i < 1000; i++)
            out[i] = exp_f64(-x[i] * x[i]) * sin_in_lanes_f64(y[i]) + 0.5 * x[i];
    }
}

size_t chain_workspace_size(void)
{
    return 0;
}

const char *chain_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int chain(const double *x, const double *y, double *out, void *workspace)
{
    (void)workspace;
    chain_kernel(x, y, out);
    return 0;
}
