/* softmax.py:9: e = np.exp(x - np.max(x, axis=1, keepdims=True))
   softmax.py:10: return e / np.sum(e, axis=1, keepdims=True) */
static void softmax_kernel(const float x[restrict 64][100], float out[restrict 64][100])
{
    for (int64_t i = 0; i < 64; i++) {
        float e[100];
        float acc = -INFINITY;
        int32_t is_nan = 0;
        #pragma omp simd reduction(larger_f32:acc) reduction(|:is_nan)
        for (int64_t j = 0; j < 96; j++) {
            acc = x[i][j] > acc ? x[i][j] : acc;
            is_nan |= isnan_f32(x[i][j]);
        }
        #pragma omp simd reduction(larger_f32:acc) reduction(|:is_nan)
        for (int64_t j = 84; j < 100; j++) {
            acc = x[i][j] > acc ? x[i][j] : acc;
            is_nan |= isnan_f32(x[i][j]);
        }
        acc = is_nan != 0 ? NAN : acc;
        float acc2 = 0.0f;
        #pragma omp simd reduction(+:acc2)
        for (int64_t j = 0; j < 100; j++) {
            e[j] = exp_f32(x[i][j] - acc);
            acc2 += e[j];
        }
        #pragma omp simd
        for (int64_t j = 0; j < 100; j++)
            out[i][j] = e[j] / acc2;
    }
}

size_t softmax_workspace_size(void)
{
    return 0;
}

const char *softmax_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int softmax(const float *x, float *out, void *workspace)
{
    (void)workspace;
    softmax_kernel((const float (*)[100])x, (float (*)[100])out);
    return 0;
}
