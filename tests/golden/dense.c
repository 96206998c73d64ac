/* dense.py:9: return np.maximum(x @ w + b, 0) */
static void dense_1(const double x[restrict 64][128], const double w[restrict 128][32],
                    uint8_t scratch[restrict 163968], double t[restrict 64][32])
{
    matmul_f64(64, 32, 128, x[0], 128, 1, w[0], 32, 1, t[0], 32, scratch);
}

/* dense.py:9: return np.maximum(x @ w + b, 0) */
static void dense_2(const double b[restrict 32], double out[restrict 64][32],
                    const double t[restrict 64][32])
{
    for (int64_t i = 0; i < 64; i++) {
        #pragma omp simd
        for (int64_t j = 0; j < 32; j++)
            out[i][j] = maximum_f64(t[i][j] + b[j], 0.0);
    }
}

size_t dense_workspace_size(void)
{
    return 180352;
}

const char *dense_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int dense(const double *x, const double *w, const double *b, double *out, void *workspace)
{
    if (workspace == NULL) {
        return 1;
    }
    uint8_t *scratch = workspace;
    double *t = (double *)((char *)workspace + 163968);
    dense_1((const double (*)[128])x, (const double (*)[32])w, scratch, (double (*)[32])t);
    dense_2(b, (double (*)[32])out, (const double (*)[32])t);
    return 0;
}
