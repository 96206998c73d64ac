/* layernorm.py:9: mean = np.mean(x, axis=1, keepdims=True)
   layernorm.py:10: centred = x - mean
   layernorm.py:11: variance = np.mean(centred * centred, axis=1, keepdims=True)
   layernorm.py:12: return centred / np.sqrt(variance + 1e-5) * gain + bias
   A warp for each i. */
static __global__ void layernorm_kernel(const double *__restrict__ x,
                                        const double *__restrict__ gain,
                                        const double *__restrict__ bias, double *__restrict__ out)
{
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
         i < 64;
         i += gridDim.x * (int64_t)blockDim.x / 32) {
        double acc = 0.0;
        for (int64_t j = threadIdx.x % 32; j < 256; j += 32) {
            acc += x[256 * i + j];
        }
        acc = warp_add_f64(acc);
        const double mean = acc * 0.00390625;
        double acc2 = 0.0;
        for (int64_t j = threadIdx.x % 32; j < 256; j += 32) {
            const double t2 = x[256 * i + j] - mean;
            acc2 += t2 * t2;
        }
        acc2 = warp_add_f64(acc2);
        const double t = sqrt(acc2 * 0.00390625 + 1e-05);
        for (int64_t j = threadIdx.x % 32; j < 256; j += 32) {
            out[256 * i + j] = (x[256 * i + j] - mean) / t * gain[j] + bias[j];
        }
    }
}

/* Launches the kernels of layernorm. Arrays are in the memory of the device, the workspace has
   0 bytes. Returns 0 when all kernels are in the stream, else the number of the launch that
   failed. */
extern "C" int layernorm(const double *x, const double *gain, const double *bias, double *out,
                         void *workspace, cudaStream_t stream)
{
    (void)workspace;
    LAUNCH(layernorm_kernel, 8, 256, stream)(x, gain, bias, out);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    return 0;
}

extern "C" size_t layernorm_workspace_size(void)
{
    return 0;
}
