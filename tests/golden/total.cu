/* total.py:9: return np.sum(x)
   A block for each block. */
static __global__ void __launch_bounds__(512)
total_1(const double *__restrict__ x, double *acc_parts)
{
    const int block = blockIdx.x;
    double acc_part = 0.0;
    #pragma unroll
    for (int turn = 0; turn < 8; turn++) {
        if (const int i = 4096 * block + threadIdx.x + 512 * turn; i
                < minimum_i32(4096 * block + 4096, 10000000)) {
            acc_part += x[i];
        }
    }
    acc_part = block_add_f64(acc_part);
    if (threadIdx.x == 0) {
        acc_parts[block] = acc_part;
    }
}

/* total.py:9: return np.sum(x)
   One block. */
static __global__ void __launch_bounds__(512)
total_2(double *out, const double *__restrict__ acc_parts)
{
    double acc = 0.0;
    #pragma unroll
    for (int turn = 0; turn < 3; turn++) {
        if (const int block_pack = threadIdx.x + 512 * turn; turn < 2 || block_pack < 1221) {
            double acc_parts_pack[2];
            load_pack(acc_parts_pack, acc_parts, 2 * block_pack);
            #pragma unroll
            for (int lane = 0; lane < 2; lane++) {
                acc += acc_parts_pack[lane];
            }
        }
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
    LAUNCH(total_1, 2442, 512, stream)(x, acc_parts);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 1;
    }
    LAUNCH(total_2, 1, 512, stream)(out, acc_parts);
    if (cudaPeekAtLastError() != cudaSuccess) {
        return 2;
    }
    return 0;
}

extern "C" size_t total_workspace_size(void)
{
    return 19584;
}
