/* softmax.py:9: e = np.exp(x - np.max(x, axis=1, keepdims=True))
   softmax.py:10: return e / np.sum(e, axis=1, keepdims=True)
   A warp for each i. */
static __global__ void softmax_kernel(const float *__restrict__ x, float *__restrict__ out)
{
    __shared__ float e_of_warps[8][100];
    float *const e = e_of_warps[threadIdx.x / 32];
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / 32;
         i < 64;
         i += gridDim.x * (int64_t)blockDim.x / 32) {
        float acc = -INFINITY;
        for (int64_t j = threadIdx.x % 32; j < 100; j += 32) {
            acc = maximum_f32(acc, x[100 * i + j]);
        }
        acc = warp_maximum_f32(acc);
        float acc2 = 0.0f;
        for (int64_t j = threadIdx.x % 32; j < 100; j += 32) {
            e[j] = exp_f32(x[100 * i + j] - acc);
            acc2 += e[j];
        }
        acc2 = warp_add_f32(acc2);
        for (int64_t j = threadIdx.x % 32; j < 100; j += 32) {
            out[100 * i + j] = e[j] / acc2;
        }
    }
}

/* Launches the kernels of softmax. Arrays are in the memory of the device, the workspace has
   0 bytes. Returns 0 when all kernels are in the stream, else the number of the launch that
   failed. */
extern "C" int softmax(const float *x, float *out, void *workspace, cudaStream_t stream)
{
    (void)workspace;
    LAUNCH(softmax_kernel, 8, 256, stream)(x, out);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    return 0;
}

extern "C" size_t softmax_workspace_size(void)
{
    return 0;
}
