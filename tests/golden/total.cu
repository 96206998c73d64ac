/* total.py:9: return np.sum(x)
   A block for each block. */
static __global__ void total_1(const double *__restrict__ x, double *__restrict__ acc_parts)
{
    for (int64_t block = blockIdx.x; block < 2442; block += gridDim.x) {
        double acc_part = 0.0;
        for (int64_t i = 4096 * block + threadIdx.x;
             i < minimum_i64(4096 * block + 4096, 10000000);
             i += blockDim.x) {
            acc_part += x[i];
        }
        acc_part = block_add_f64(acc_part);
        if (threadIdx.x == 0) {
            acc_parts[block] = acc_part;
        }
    }
}

/* total.py:9: return np.sum(x)
   One block. */
static __global__ void total_2(double *__restrict__ out, const double *__restrict__ acc_parts)
{
    double acc = 0.0;
    for (int64_t block = threadIdx.x; block < 2442; block += blockDim.x) {
        acc += acc_parts[block];
    }
    acc = block_add_f64(acc);
    if (threadIdx.x == 0) {
        *out = acc;
    }
}

/* Launches the kernels of total. Arrays are in the memory of the device, the workspace has
   19584 bytes. Returns 0 when all kernels are in the stream, else the number of the launch that
   failed. */
extern "C" int total(const double *x, double *out, void *workspace, cudaStream_t stream)
{
    double *acc_parts = (double *)workspace;
    LAUNCH(total_1, 1024, 256, stream)(x, acc_parts);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    LAUNCH(total_2, 1, 256, stream)(out, acc_parts);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 2;
    }
    return 0;
}

extern "C" size_t total_workspace_size(void)
{
    return 19584;
}
