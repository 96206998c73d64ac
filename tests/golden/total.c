/* total.py:9: return np.sum(x) */
static void total_kernel(const double x[restrict 10000000], double *restrict out,
                         double acc_parts[restrict 2442])
{
    double acc = 0.0;
    #pragma omp parallel for
    for (int64_t block = 0; block < 2442; block++) {
        double acc_part = 0.0;
        #pragma omp simd reduction(+:acc_part)
        for (int64_t i = 4096 * block; i < minimum_i64(4096 * block + 4096, 10000000); i++)
            acc_part += x[i];
        acc_parts[block] = acc_part;
    }
    #pragma omp simd reduction(+:acc)
    for (int64_t block = 0; block < 2442; block++)
        acc += acc_parts[block];
    *out = acc;
}

size_t total_workspace_size(void)
{
    return 19584;
}

const char *total_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int total(const double *x, double *out, void *workspace)
{
    if (workspace == NULL) {
        return 1;
    }
    double *acc_parts = workspace;
    total_kernel(x, out, acc_parts);
    return 0;
}
