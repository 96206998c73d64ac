/* integers.py:9: return (a + b) // 3, (a * b) % 7, (a << 2) ^ (b >> 1), np.abs(a) & 255 */
static void integers_kernel(const int32_t a[restrict 1000], const int32_t b[restrict 1000],
                            int32_t out_0[restrict 1000], int32_t out_1[restrict 1000],
                            int32_t out_2[restrict 1000], int32_t out_3[restrict 1000])
{
    #pragma omp simd
    for (int64_t i = 0; i < 1000; i++) {
        out_0[i] = floor_divide_in_lanes_i32(add_i32(a[i], b[i]), 3);
        out_1[i] = remainder_in_lanes_i32(multiply_i32(a[i], b[i]), 7);
        out_2[i] = left_shift_i32(a[i], 2) ^ right_shift_i32(b[i], 1);
        out_3[i] = absolute_i32(a[i]) & 255;
    }
}

size_t integers_workspace_size(void)
{
    return 0;
}

const char *integers_error(int code)
{
    return code == 0 ? "success" : code == 1 ? "the workspace is NULL" : "unknown error code";
}

int integers(const int32_t *a, const int32_t *b, int32_t *out_0, int32_t *out_1, int32_t *out_2,
             int32_t *out_3, void *workspace)
{
    (void)workspace;
    integers_kernel(a, b, out_0, out_1, out_2, out_3);
    return 0;
}
