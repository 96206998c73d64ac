/* argmax.py:9: return np.argmax(x, axis=1) */
static void argmax_kernel(const double x[restrict 100][50], int64_t out[restrict 100])
{
    for (int64_t group = 0; group < 25; group++) {
        int64_t acc = INT64_MIN;
        int64_t acc3 = INT64_MIN;
        int64_t acc4 = INT64_MIN;
        int64_t acc5 = INT64_MIN;
        #pragma omp simd reduction(max:acc, acc3, acc4, acc5)
        for (int64_t j = 0; j < 48; j++) {
            acc = maximum_i64(acc, order_key_f64(x[4 * group][j]));
            acc3 = maximum_i64(acc3, order_key_f64(x[4 * group + 1][j]));
            acc4 = maximum_i64(acc4, order_key_f64(x[4 * group + 2][j]));
            acc5 = maximum_i64(acc5, order_key_f64(x[4 * group + 3][j]));
        }
        #pragma omp simd reduction(max:acc, acc3, acc4, acc5)
        for (int64_t j = 42; j < 50; j++) {
            acc = maximum_i64(acc, order_key_f64(x[4 * group][j]));
            acc3 = maximum_i64(acc3, order_key_f64(x[4 * group + 1][j]));
            acc4 = maximum_i64(acc4, order_key_f64(x[4 * group + 2][j]));
            acc5 = maximum_i64(acc5, order_key_f64(x[4 * group + 3][j]));
        }
        int64_t acc2 = INT64_MAX;
        int64_t acc2_2 = INT64_MAX;
        int64_t acc2_3 = INT64_MAX;
        int64_t acc2_4 = INT64_MAX;
        #pragma omp simd reduction(min:acc2, acc2_2, acc2_3, acc2_4)
        for (int64_t j = 0; j < 48; j++) {
            acc2 = minimum_i64(acc2, order_key_f64(x[4 * group][j]) == acc ? j : INT64_MAX);
            acc2_2 = minimum_i64(acc2_2,
                    order_key_f64(x[4 * group + 1][j]) == acc3 ? j : INT64_MAX);
            acc2_3 = minimum_i64(acc2_3,
                    order_key_f64(x[4 * group + 2][j]) == acc4 ? j : INT64_MAX);
            acc2_4 = minimum_i64(acc2_4,
                    order_key_f64(x[4 * group + 3][j]) == acc5 ? j : INT64_MAX);
        }
        #pragma omp simd reduction(min:acc2, acc2_2, acc2_3, acc2_4)
        for (int64_t j = 42; j < 50; j++) {
            acc2 = minimum_i64(acc2, order_key_f64(x[4 * group][j]) == acc ? j : INT64_MAX);
            acc2_2 = minimum_i64(acc2_2,
                    order_key_f64(x[4 * group + 1][j]) == acc3 ? j : INT64_MAX);
            acc2_3 = minimum_i64(acc2_3,
                    order_key_f64(x[4 * group + 2][j]) == acc4 ? j : INT64_MAX);
            acc2_4 = minimum_i64(acc2_4,
                    order_key_f64(x[4 * group + 3][j]) == acc5 ? j : INT64_MAX);
        }
        out[4 * group] = acc2;
        out[4 * group + 1] = acc2_2;
        out[4 * group + 2] = acc2_3;
        out[4 * group + 3] = acc2_4;
    }
}

size_t argmax_workspace_size(void)
{
    return 0;
}

const char *argmax_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int argmax(const double *x, int64_t *out, void *workspace)
{
    (void)workspace;
    argmax_kernel((const double (*)[50])x, out);
    return 0;
}
