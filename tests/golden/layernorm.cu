/* layernorm.py:9: mean = np.mean(x, axis=1, keepdims=True)
   layernorm.py:10: centred = x - mean
   layernorm.py:11: variance = np.mean(centred * centred, axis=1, keepdims=True)
   layernorm.py:12: return centred / np.sqrt(variance + 1e-5) * gain + bias
   A warp for each i. */
static __global__ void __launch_bounds__(256)
layernorm_kernel(const double *__restrict__ x, const double *__restrict__ gain,
                 const double *__restrict__ bias, double *out)
{
    const int i = blockIdx.x * 8 + threadIdx.x / 32;
    double acc = 0.0;
    double x_row[4][2];
    #pragma unroll
    for (int turn = 0; turn < 4; turn++) {
        const int j_pack = threadIdx.x % 32 + 32 * turn;
        load_pack(x_row[turn], x, 256 * i + 2 * j_pack);
        #pragma unroll
        for (int lane = 0; lane < 2; lane++) {
            acc += x_row[turn][lane];
        }
    }
    acc = warp_add_f64(acc);
    const double mean = acc * 0.00390625;
    double acc2 = 0.0;
    #pragma unroll
    for (int turn2 = 0; turn2 < 4; turn2++) {
        #pragma unroll
        for (int lane2 = 0; lane2 < 2; lane2++) {
            const double t2 = x_row[turn2][lane2] - mean;
            acc2 += t2 * t2;
        }
    }
    acc2 = warp_add_f64(acc2);
    const double t = sqrt(acc2 * 0.00390625 + 1e-05);
    #pragma unroll
    for (int turn3 = 0; turn3 < 4; turn3++) {
        const int j_pack3 = threadIdx.x % 32 + 32 * turn3;
        double gain_pack[2];
        double bias_pack[2];
        double out_pack[2];
        load_pack(gain_pack, gain, 2 * j_pack3);
        load_pack(bias_pack, bias, 2 * j_pack3);
        #pragma unroll
        for (int lane3 = 0; lane3 < 2; lane3++) {
            out_pack[lane3] = (x_row[turn3][lane3] - mean) / t * gain_pack[lane3]
                    + bias_pack[lane3];
        }
        store_pack(out, 256 * i + 2 * j_pack3, out_pack);
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
