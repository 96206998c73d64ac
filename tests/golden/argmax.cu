/* argmax.py:9: return np.argmax(x, axis=1)
   A warp for each i. */
static __global__ void argmax_kernel(const double *__restrict__ x, int64_t *__restrict__ out)
{
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
         i < 100;
         i += gridDim.x * (int64_t)blockDim.x / 32) {
        double acc = -INFINITY;
        for (int64_t j = threadIdx.x % 32; j < 50; j += 32) {
            acc = maximum_f64(acc, x[50 * i + j]);
        }
        acc = warp_maximum_f64(acc);
        int64_t acc2 = INT64_MAX;
        for (int64_t j = threadIdx.x % 32; j < 50; j += 32) {
            acc2 = minimum_i64(acc2,
                    ((x[50 * i + j] == acc) | isnan_f64(x[50 * i + j])) ? j : INT64_MAX);
        }
        acc2 = warp_minimum_i64(acc2);
        if (threadIdx.x % 32 == 0) {
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
    LAUNCH(argmax_kernel, 13, 256, stream)(x, out);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    return 0;
}

extern "C" size_t argmax_workspace_size(void)
{
    return 0;
}
