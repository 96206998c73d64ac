/* heat.py:9: p = np.pad(u, 1)
   heat.py:10: around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
   heat.py:11: return u + 0.1 * (around - 4 * u) */
static void heat_kernel(const double u[restrict 128][128], double out[restrict 128][128])
{
    out[0][0] = u[0][0] + 0.1 * (0.0 + u[1][0] + 0.0 + u[0][1] - 4.0 * u[0][0]);
    #pragma omp simd
    for (int64_t j = 1; j < 127; j++)
        out[0][j] = u[0][j] + 0.1 * (0.0 + u[1][j] + u[0][j - 1] + u[0][j + 1] - 4.0 * u[0][j]);
    out[0][127] = u[0][127] + 0.1 * (0.0 + u[1][127] + u[0][126] + 0.0 - 4.0 * u[0][127]);
    for (int64_t i = 1; i < 127; i++) {
        out[i][0] = u[i][0] + 0.1 * (u[i - 1][0] + u[i + 1][0] + 0.0 + u[i][1] - 4.0 * u[i][0]);
        #pragma omp simd
        for (int64_t j = 1; j < 127; j++)
            out[i][j] = u[i][j]
                    + 0.1 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * u[i][j]);
        out[i][127] = u[i][127]
                + 0.1 * (u[i - 1][127] + u[i + 1][127] + u[i][126] + 0.0 - 4.0 * u[i][127]);
    }
    out[127][0] = u[127][0] + 0.1 * (u[126][0] + 0.0 + 0.0 + u[127][1] - 4.0 * u[127][0]);
    #pragma omp simd
    for (int64_t j = 1; j < 127; j++)
        out[127][j] = u[127][j]
                + 0.1 * (u[126][j] + 0.0 + u[127][j - 1] + u[127][j + 1] - 4.0 * u[127][j]);
    out[127][127] = u[127][127] + 0.1 * (u[126][127] + 0.0 + u[127][126] + 0.0 - 4.0 * u[127][127]);
}

size_t heat_workspace_size(void)
{
    return 0;
}

const char *heat_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int heat(const double *u, double *out, void *workspace)
{
    (void)workspace;
    heat_kernel((const double (*)[128])u, (double (*)[128])out);
    return 0;
}
