/* argmax.py:9: return np.argmax(x, axis=1)
   16 lanes of a warp for each i. */
static __global__ void __launch_bounds__(256)
argmax_kernel(const double *__restrict__ x, int64_t *out)
{
    if (const int i = blockIdx.x * 16 + threadIdx.x / 16; i < 100) {
        int64_t acc = INT64_MIN;
        double x_row[4];
        #pragma unroll
        for (int turn = 0; turn < 4; turn++) {
            if (const int j = threadIdx.x % 16 + 16 * turn; turn < 3 || j < 50) {
                x_row[turn] = x[50 * i + j];
                acc = maximum_i64(acc, order_key_f64(x_row[turn]));
            }
        }
        acc = lanes16_maximum_i64(acc);
        int64_t acc2 = INT64_MAX;
        #pragma unroll
        for (int turn2 = 0; turn2 < 4; turn2++) {
            if (const int j = threadIdx.x % 16 + 16 * turn2; turn2 < 3 || j < 50) {
                acc2 = minimum_i64(acc2,
                        order_key_f64(x_row[turn2]) == acc ? (int64_t)j : INT64_MAX);
            }
        }
        acc2 = lanes16_minimum_i64(acc2);
        if (threadIdx.x % 16 == 0) {
            out[i] = acc2;
        }
    }
}

/* Launches the kernels of argmax. Arrays are in the memory of the device, the workspace has
   0 bytes. Returns 0 when all kernels are in the stream, else the number of the launch that
   failed. */
extern "C" int argmax(const double *x, int64_t *out, void *workspace, cudaStream_t stream)
{
    (void)workspace;
    LAUNCH(argmax_kernel, 7, 256, stream)(x, out);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    return 0;
}

extern "C" size_t argmax_workspace_size(void)
{
    return 0;
}
