/* cumsum.py:9: return np.cumsum(x, axis=1) */
static void cumsum_kernel(const double x[restrict 100][50], double out[restrict 100][50])
{
    for (int64_t i = 0; i < 100; i++) {
        double acc = -0.0;
        for (int64_t j = 0; j < 50; j++) {
            acc += x[i][j];
            out[i][j] = acc;
        }
    }
}

size_t cumsum_workspace_size(void)
{
    return 0;
}

const char *cumsum_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int cumsum(const double *x, double *out, void *workspace)
{
    (void)workspace;
    cumsum_kernel((const double (*)[50])x, (double (*)[50])out);
    return 0;
}
