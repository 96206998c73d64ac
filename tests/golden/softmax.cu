/* softmax.py:9: e = np.exp(x - np.max(x, axis=1, keepdims=True))
   softmax.py:10: return e / np.sum(e, axis=1, keepdims=True)
   A warp for each i. */
static __global__ void __launch_bounds__(256)
softmax_kernel(const float *__restrict__ x, float *out)
{
    const int i = blockIdx.x * 8 + threadIdx.x / 32;
    float e[4];
    float acc = -INFINITY;
    float x_row[4];
    #pragma unroll
    for (int turn = 0; turn < 4; turn++) {
        if (const int j = threadIdx.x % 32 + 32 * turn; turn < 3 || j < 100) {
            x_row[turn] = x[100 * i + j];
            acc = maximum_f32(acc, x_row[turn]);
        }
    }
    acc = warp_maximum_f32(acc);
    float acc2 = 0.0f;
    #pragma unroll
    for (int turn2 = 0; turn2 < 4; turn2++) {
        if (const int j = threadIdx.x % 32 + 32 * turn2; turn2 < 3 || j < 100) {
            e[turn2] = exp_f32(x_row[turn2] - acc);
            acc2 += e[turn2];
        }
    }
    acc2 = warp_add_f32(acc2);
    #pragma unroll
    for (int turn3 = 0; turn3 < 4; turn3++) {
        if (const int j = threadIdx.x % 32 + 32 * turn3; turn3 < 3 || j < 100) {
            out[100 * i + j] = e[turn3] / acc2;
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
