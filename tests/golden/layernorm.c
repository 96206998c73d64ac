/* layernorm.py:9: mean = np.mean(x, axis=1, keepdims=True)
   layernorm.py:10: centred = x - mean
   layernorm.py:11: variance = np.mean(centred * centred, axis=1, keepdims=True)
   layernorm.py:12: return centred / np.sqrt(variance + 1e-5) * gain + bias */
static void layernorm_kernel(const double x[restrict 64][256], const double gain[restrict 256],
                             const double bias[restrict 256], double out[restrict 64][256])
{
    for (int64_t i = 0; i < 64; i++) {
        double acc = 0.0;
        #pragma omp simd reduction(+:acc)
        for (int64_t j = 0; j < 256; j++)
            acc += x[i][j];
        const double mean = acc * 0.00390625;
        double acc2 = 0.0;
        #pragma omp simd reduction(+:acc2)
        for (int64_t j = 0; j < 256; j++) {
            const double t2 = x[i][j] - mean;
            acc2 += t2 * t2;
        }
        const double t = sqrt(acc2 * 0.00390625 + 1e-05);
        #pragma omp simd
        for (int64_t j = 0; j < 256; j++)
            out[i][j] = (x[i][j] - mean) / t * gain[j] + bias[j];
    }
}

size_t layernorm_workspace_size(void)
{
    return 0;
}

const char *layernorm_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int layernorm(const double *x, const double *gain, const double *bias, double *out, void *workspace)
{
    (void)workspace;
    layernorm_kernel((const double (*)[256])x, gain, bias, (double (*)[256])out);
    return 0;
}
