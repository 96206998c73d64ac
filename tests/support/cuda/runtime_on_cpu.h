/* For programs that run by the runtime on the CPU: a launch goes into its stream, and runs when
   somebody waits for that. Included before a CUDA file, in the place of `cuda_on_cpu.h`. */
#pragma once
#include "cuda_on_cpu.h"
#include <utility>

/* What is put into a stream. */
struct cudart_on_cpu_work {
    virtual void run() = 0;
    virtual ~cudart_on_cpu_work() = default;
};

template <typename Function> struct runtime_on_cpu_work : cudart_on_cpu_work {
    Function function;
    explicit runtime_on_cpu_work(Function given) : function(given) {}
    void run() override { function(); }
};

/* Of the library in the place of libcudart, `cudart_on_cpu.cpp`. */
extern "C" int cudart_on_cpu_launch(cudaStream_t stream, cudart_on_cpu_work *work);
extern "C" int cudart_on_cpu_peek(void);
extern "C" int cudart_on_cpu_copy(void *to, const void *from, size_t size, int kind,
                                  cudaStream_t stream);
extern "C" int cudart_on_cpu_wait(cudaStream_t stream);
#define cudaPeekAtLastError cudart_on_cpu_peek
#define cudaMemcpyAsync cudart_on_cpu_copy
#define cudaStreamSynchronize cudart_on_cpu_wait

template <typename Function> static void runtime_on_cpu_put(cudaStream_t stream, Function function)
{
    cudart_on_cpu_launch(stream, new runtime_on_cpu_work<Function>(function));
}

template <typename... Parameters> struct runtime_on_cpu_launcher {
    cuda_on_cpu_launcher<Parameters...> launcher;
    cudaStream_t stream;
    void operator()(Parameters... arguments) const
    {
        const auto launched = launcher;
        runtime_on_cpu_put(stream, [=] { launched(arguments...); });
    }
};

template <typename... Parameters>
static runtime_on_cpu_launcher<Parameters...>
runtime_on_cpu_launching(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                         cudaStream_t stream)
{
    return {{kernel, blocks, threads}, stream};
}

#undef LAUNCH
#define LAUNCH(kernel, blocks, threads, stream) \
    runtime_on_cpu_launching(kernel, blocks, threads, stream)

/* A kernel of a file without a part for the host, launched with the addresses of its arguments. */
template <typename... Parameters, size_t... Numbers>
static void runtime_on_cpu_by_addresses(void (*kernel)(Parameters...), unsigned blocks,
                                        unsigned threads, cudaStream_t stream, void **arguments,
                                        std::index_sequence<Numbers...>)
{
    (void)arguments;
    runtime_on_cpu_launching(kernel, blocks, threads, stream)(*(Parameters *)arguments[Numbers]...);
}

template <typename... Parameters>
static void runtime_on_cpu_launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                                  cudaStream_t stream, void **arguments)
{
    runtime_on_cpu_by_addresses(kernel, blocks, threads, stream, arguments,
                                std::index_sequence_for<Parameters...>());
}

#define KERNEL_OF_DEVICE(kernel) \
    extern "C" void kernel##_by_addresses(unsigned blocks, unsigned threads, cudaStream_t stream, \
                                          void **arguments) \
    { \
        runtime_on_cpu_launch(kernel, blocks, threads, stream, arguments); \
    }
