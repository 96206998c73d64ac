/* CUDA's words with a meaning on the CPU: the threads of a block are fibers, which run one after the
   other up to the next barrier. Included before a file of CUDA C++ that g++ compiles.

   What `cuda_on_cpu.cpp` finds: barriers that not all threads of a team reach, or at different
   places; races for elements in shared memory, and in global memory within a launch; reads of what
   has never been written; accesses outside of all arrays. It sees each access by the calls that
   `g++ -fsanitize=thread` puts before it. */
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static __attribute__((section("cuda_shared")))

struct dim3 {
    unsigned x, y, z;
};
typedef void *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0 };

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* The first error of the last program, "" without one. */
extern "C" const char *cuda_on_cpu_error(void);
/* Says which arrays a program is given: addresses, sizes in bytes, and whether they have values. */
extern "C" void cuda_on_cpu_begin(int count, void *const *arrays, const int64_t *sizes,
                                  const int *filled);

void cuda_on_cpu_launch(void (*kernel)(void *), void *arguments, unsigned blocks, unsigned threads);
/* Waits for the other threads of the block, or of the warp; `orders` if what they have written is
   read behind it. */
void cuda_on_cpu_wait(bool of_warp, bool orders, int line);
/* Where the value of a lane of the warp is put for others. */
void *cuda_on_cpu_lane(unsigned lane);
cudaError_t cudaPeekAtLastError(void);

#define __syncthreads() cuda_on_cpu_wait(false, true, __LINE__)
#define __syncwarp() cuda_on_cpu_wait(true, true, __LINE__)

template <typename T> static T cuda_on_cpu_shuffle(T value, unsigned from, int line)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "CUDA shuffles values of 4 or 8 bytes");
    memcpy(cuda_on_cpu_lane(threadIdx.x % 32), &value, sizeof(T));
    cuda_on_cpu_wait(true, false, line);
    T found;
    memcpy(&found, cuda_on_cpu_lane(from), sizeof(T));
    cuda_on_cpu_wait(true, false, line);
    return found;
}

#define cuda_on_cpu_below(lane) ((lane) < 32 ? (lane) : threadIdx.x % 32)
#define __shfl_sync(mask, value, lane) cuda_on_cpu_shuffle(value, (lane) % 32, __LINE__)
#define __shfl_down_sync(mask, value, offset) \
    cuda_on_cpu_shuffle(value, cuda_on_cpu_below(threadIdx.x % 32 + (offset)), __LINE__)

/* What the macro LAUNCH of a file is on the CPU: a function that takes the kernel's arguments. */
template <typename... Parameters> struct cuda_on_cpu_launcher {
    void (*kernel)(Parameters...);
    unsigned blocks, threads;
    void operator()(Parameters... arguments) const
    {
        auto call = [&] { kernel(arguments...); };
        cuda_on_cpu_launch([](void *it) { (*(decltype(call) *)it)(); }, &call, blocks, threads);
    }
};

template <typename... Parameters>
static cuda_on_cpu_launcher<Parameters...> cuda_on_cpu_launching(void (*kernel)(Parameters...),
                                                                 unsigned blocks, unsigned threads)
{
    return {kernel, blocks, threads};
}

#define LAUNCH(kernel, blocks, threads, stream) \
    ((void)(stream), cuda_on_cpu_launching(kernel, blocks, threads))
