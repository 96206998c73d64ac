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
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("cuda_shared")))

struct dim3 {
    unsigned x, y, z;
};
typedef struct CUstream_st *cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_C_32F = 4, CUDA_C_64F = 5, CUDA_R_16BF = 14 };

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* The first error of the last program, "" without one. */
extern "C" const char *cuda_on_cpu_error(void);
/* Says which arrays a program is given: addresses, sizes in bytes, and whether they have values. */
extern "C" void cuda_on_cpu_begin(int count, void *const *arrays, const int64_t *sizes,
                                  const int *filled);

void cuda_on_cpu_launch(void (*kernel)(void *), void *arguments, unsigned blocks, unsigned threads);
/* Waits for the other threads of the block, or for those lanes of the warp that are set in a mask;
   `orders` if what they have written is read behind it. */
void cuda_on_cpu_wait(unsigned lanes, bool orders, int line);
/* Where the value of a lane of the warp is put for others. */
void *cuda_on_cpu_lane(unsigned lane);
cudaError_t cudaPeekAtLastError(void);
extern "C" int cudaGetDevice(int *device);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

#define __syncthreads() cuda_on_cpu_wait(0, true, __LINE__)
static inline unsigned cuda_on_cpu_mask(unsigned lanes = 0xffffffff)
{
    return lanes;
}
#define __syncwarp(...) cuda_on_cpu_wait(cuda_on_cpu_mask(__VA_ARGS__), true, __LINE__)

template <typename T> static T cuda_on_cpu_shuffle(unsigned mask, T value, unsigned from, int line)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "CUDA shuffles values of 4 or 8 bytes");
    memcpy(cuda_on_cpu_lane(threadIdx.x % 32), &value, sizeof(T));
    cuda_on_cpu_wait(mask, false, line);
    T found;
    memcpy(&found, cuda_on_cpu_lane(from), sizeof(T));
    cuda_on_cpu_wait(mask, false, line);
    return found;
}

/* A bit for each lane of the warp. */
static inline unsigned cuda_on_cpu_ballot(bool value, int line)
{
    memcpy(cuda_on_cpu_lane(threadIdx.x % 32), &value, sizeof value);
    cuda_on_cpu_wait(0xffffffff, false, line);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        bool other;
        memcpy(&other, cuda_on_cpu_lane(lane), sizeof other);
        bits |= (unsigned)other << lane;
    }
    cuda_on_cpu_wait(0xffffffff, false, line);
    return bits;
}

#define __ballot_sync(mask, value) cuda_on_cpu_ballot(value, __LINE__)
#define __popc(bits) __builtin_popcount(bits)
#define __ffsll(bits) __builtin_ffsll(bits)

/* Says that other threads may update the same number, too. */
void cuda_on_cpu_atomic(const void *number, size_t size);

/* What an update gives, and what was before, for the types that CUDA has: any of these, whose bits
   are copied, as a program has other names for them. */
template <typename T> struct cuda_on_cpu_same {
    typedef T type;
};
template <typename Allowed, typename T, typename Function>
__attribute__((no_sanitize("thread"))) static T cuda_on_cpu_update(T *number, T value, Function function)
{
    static_assert(Allowed::template has<T>(), "CUDA has no such update of this type");
    cuda_on_cpu_atomic(number, sizeof *number);
    T before, after;
    memcpy(&before, number, sizeof before);
    after = function(before, value);
    memcpy(number, &after, sizeof after);
    return before;
}
template <typename... Types> struct cuda_on_cpu_any {
    template <typename T> static constexpr bool has()
    {
        return (std::is_same<T, Types>::value || ...);
    }
};
typedef cuda_on_cpu_any<int, unsigned, unsigned long long, float, double> cuda_on_cpu_addends;
typedef cuda_on_cpu_any<int, unsigned, unsigned long long, long long> cuda_on_cpu_integers;
typedef cuda_on_cpu_any<int, unsigned, unsigned long long> cuda_on_cpu_bits;
#define CUDA_ON_CPU_UPDATE(name, types, expression) \
    template <typename T> static inline T name(T *number, typename cuda_on_cpu_same<T>::type given) \
    { \
        return cuda_on_cpu_update<types>(number, given, [](T x, T y) { return (T)(expression); }); \
    }
static inline int cuda_on_cpu_sum(int x, int y)
{
    return (int)((unsigned)x + (unsigned)y);
}
template <typename T> static inline T cuda_on_cpu_sum(T x, T y)
{
    return x + y;
}
CUDA_ON_CPU_UPDATE(atomicAdd, cuda_on_cpu_addends, cuda_on_cpu_sum(x, y))
CUDA_ON_CPU_UPDATE(atomicMax, cuda_on_cpu_integers, x > y ? x : y)
CUDA_ON_CPU_UPDATE(atomicMin, cuda_on_cpu_integers, x < y ? x : y)
CUDA_ON_CPU_UPDATE(atomicAnd, cuda_on_cpu_bits, x & y)
CUDA_ON_CPU_UPDATE(atomicOr, cuda_on_cpu_bits, x | y)
CUDA_ON_CPU_UPDATE(atomicXor, cuda_on_cpu_bits, x ^ y)


/* Stores a value in place of one that is compared with; what was there before. */
template <typename T>
__attribute__((no_sanitize("thread"))) static T atomicCAS(T *number, T compared, T value)
{
    static_assert(cuda_on_cpu_any<int, unsigned, unsigned long long>::has<T>(), "CUDA compares no such type");
    cuda_on_cpu_atomic(number, sizeof *number);
    T before;
    memcpy(&before, number, sizeof before);
    if (before == compared)
        memcpy(number, &value, sizeof value);
    return before;
}

/* The lane of a segment of so many lanes, and the one that is so many lanes further in it, or the
   thread's own. */
static inline unsigned cuda_on_cpu_in_segment(unsigned lane, unsigned width = 32)
{
    return threadIdx.x % 32 / width * width + lane % width;
}
static inline unsigned cuda_on_cpu_further(unsigned offset, unsigned width = 32)
{
    const unsigned lane = threadIdx.x % 32;
    return lane % width + offset < width ? lane + offset : lane;
}
#define __shfl_sync(mask, value, ...) \
    cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_in_segment(__VA_ARGS__), __LINE__)
#define __shfl_down_sync(mask, value, ...) \
    cuda_on_cpu_shuffle(mask, value, cuda_on_cpu_further(__VA_ARGS__), __LINE__)
#define __shfl_up_sync(mask, value, offset) \
    cuda_on_cpu_shuffle(mask, value, threadIdx.x % 32 - (threadIdx.x % 32 < (offset) ? 0 : (offset)), __LINE__)

/* What tensor cores compute of the elements that the lanes of a warp have, in the layout of PTX. */
static inline void cuda_on_cpu_mma_f64(double (&d)[4], const double (&a)[4], const double (&b)[2], int line)
{
    const unsigned lane = threadIdx.x % 32;
    double *const own = (double *)cuda_on_cpu_lane(lane);
    memcpy(own, a, sizeof a);
    memcpy(own + 4, b, sizeof b);
    cuda_on_cpu_wait(0xffffffff, false, line);
    for (unsigned e = 0; e < 4; e++)
        for (unsigned k = 0; k < 8; k++) {
            double left, right;
            memcpy(&left, (double *)cuda_on_cpu_lane(lane / 4 * 4 + k % 4) + k / 4 * 2 + e / 2, 8);
            memcpy(&right, (double *)cuda_on_cpu_lane((lane % 4 * 2 + e % 2) * 4 + k % 4) + 4 + k / 4, 8);
            d[e] = __builtin_fma(left, right, d[e]);
        }
    cuda_on_cpu_wait(0xffffffff, false, line);
}

/* The float with ten bits of mantissa that is nearest, ties away from zero. */
static inline float cuda_on_cpu_tensor_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = x == x ? (bits + 0x1000) & 0xffffe000 : 0x7fffffff;
    memcpy(&x, &bits, 4);
    return x;
}

/* The same of floats, of which tensor cores read ten bits of mantissa and forget the others. */
static inline void cuda_on_cpu_mma_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2], int line)
{
    const unsigned lane = threadIdx.x % 32;
    char *const own = (char *)cuda_on_cpu_lane(lane);
    memcpy(own, a, sizeof a);
    memcpy(own + sizeof a, b, sizeof b);
    cuda_on_cpu_wait(0xffffffff, false, line);
    const auto read = [](unsigned from, unsigned place) {
        uint32_t bits;
        memcpy(&bits, (char *)cuda_on_cpu_lane(from) + 4 * place, 4);
        bits &= 0xffffe000;
        float value;
        memcpy(&value, &bits, 4);
        return value;
    };
    for (unsigned e = 0; e < 4; e++)
        for (unsigned k = 0; k < 8; k++)
            d[e] += read(lane / 4 * 4 + k % 4, k / 4 * 2 + e / 2)
                    * read((lane % 4 * 2 + e % 2) * 4 + k % 4, 4 + k / 4);
    cuda_on_cpu_wait(0xffffffff, false, line);
}

#define as_tensor_float(x) cuda_on_cpu_tensor_float(x)
#define mma_tf32_f32(d, a, b) cuda_on_cpu_mma_tf32(d, a, b, __LINE__)

/* The same of halves, whose bits `widen` makes floats of. */
template <typename Widen>
static inline void cuda_on_cpu_mma(float (&d)[4], const uint32_t *a, const uint32_t *b, Widen widen, int line)
{
    const unsigned lane = threadIdx.x % 32;
    char *const own = (char *)cuda_on_cpu_lane(lane);
    memcpy(own, a, 16);
    memcpy(own + 16, b, 8);
    cuda_on_cpu_wait(0xffffffff, false, line);
    const auto half = [&](unsigned from, unsigned place) {
        uint16_t bits;
        memcpy(&bits, (char *)cuda_on_cpu_lane(from) + 2 * place, 2);
        return widen(bits);
    };
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        for (unsigned k = 0; k < 16; k++) {
            const unsigned of_a = row / 8 + k / 8 * 2, of_b = k / 8;
            d[e] += half(row % 8 * 4 + k % 8 / 2, 2 * of_a + k % 2)
                    * half(column * 4 + k % 8 / 2, 8 + 2 * of_b + k % 2);
        }
    }
    cuda_on_cpu_wait(0xffffffff, false, line);
}

static inline float cuda_on_cpu_f16(uint16_t bits)
{
    _Float16 value;
    memcpy(&value, &bits, 2);
    return (float)value;
}

static inline float cuda_on_cpu_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

#define mma_f16(d, a, b) cuda_on_cpu_mma(d, a, b, cuda_on_cpu_f16, __LINE__)
#define mma_bf16(d, a, b) cuda_on_cpu_mma(d, a, b, cuda_on_cpu_bf16, __LINE__)

/* The rows of four matrices, as PTX's ldmatrix reads them: each lane points to one row. */
static inline void cuda_on_cpu_fragments(uint32_t *words, const uint16_t *row, bool across, int line)
{
    const unsigned lane = threadIdx.x % 32;
    memcpy(cuda_on_cpu_lane(lane), &row, sizeof row);
    cuda_on_cpu_wait(0xffffffff, false, line);
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        uint32_t word = 0;
        for (unsigned e = 0; e < 2; e++) {
            const unsigned i = across ? lane % 4 * 2 + e : lane / 4, j = across ? lane / 4 : lane % 4 * 2 + e;
            const uint16_t *from;
            memcpy(&from, cuda_on_cpu_lane(8 * matrix + i), sizeof from);
            word |= (uint32_t)from[j] << 16 * e;
        }
        words[matrix] = word;
    }
    cuda_on_cpu_wait(0xffffffff, false, line);
}

#define load_fragments(words, row, across) cuda_on_cpu_fragments(words, row, across, __LINE__)

/* Copies of 16 bytes that are done where a thread waits for them, in groups. */
void cuda_on_cpu_copy(void *to, const void *from);
void cuda_on_cpu_end_copies(void);
void cuda_on_cpu_wait_for_copies(unsigned groups_left);

#define copy_async(to, from) cuda_on_cpu_copy(to, from)
#define end_copies() cuda_on_cpu_end_copies()
#define wait_for_copies_before_last() cuda_on_cpu_wait_for_copies(1)

struct float2 {
    float x, y;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

#define mma_f64(d, a, b) cuda_on_cpu_mma_f64(d, a, b, __LINE__)

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
