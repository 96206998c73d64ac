/* dense.py:9: return np.maximum(x @ w + b, 0)
   A block for each tile of the product. */
static __global__ void __launch_bounds__(256)
dense_1(const double *__restrict__ x, const double *__restrict__ w, double *t)
{
    block_matmul_f64(blockIdx.x, gridDim.x, 1, 64, 32, 128, x, 0, 128, 1, w, 0, 32, 1, t, 0, 32);
}

/* dense.py:9: return np.maximum(x @ w + b, 0)
   A thread for each i and j. */
static __global__ void __launch_bounds__(256)
dense_2(const double *__restrict__ b, double *__restrict__ out, const double *__restrict__ t)
{
    const int item = blockIdx.x * 256 + threadIdx.x;
    const int i = item / 32;
    const int j = item % 32;
    out[32 * i + j] = maximum_f64(t[32 * i + j] + b[j], 0.0);
}

/* Launches the kernels of dense. Arrays are in the memory of the device, the workspace has
   16384 bytes. Returns 0 when all kernels are in the stream, else the number of the launch that
   failed. */
extern "C" int dense(const double *x, const double *w, const double *b, double *out,
                     void *workspace, cudaStream_t stream)
{
    double *t = (double *)workspace;
    LAUNCH(dense_1, 1, 256, stream)(x, w, t);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    LAUNCH(dense_2, 8, 256, stream)(b, out, t);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 2;
    }
    return 0;
}

extern "C" size_t dense_workspace_size(void)
{
    return 16384;
}
