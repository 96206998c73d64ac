/* A program of C that calls a saved function, `scaling` of test_cuda_runtime.py: it copies the arguments
   to the device, launches in a stream of its own, and prints what comes back. CUDA's functions are
   declared here, as there may be no headers. */
#include "scaling.h"
#include <stdio.h>

enum { TO_DEVICE = 1, TO_HOST = 2, COUNT = 12 };

int cudaMalloc(void **pointer, size_t size);
int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, struct CUstream_st *stream);
int cudaStreamCreateWithFlags(struct CUstream_st **stream, unsigned flags);
int cudaStreamSynchronize(struct CUstream_st *stream);

int main(void)
{
    double x[COUNT], y = 2.0, result[COUNT];
    void *given, *factor, *out, *workspace = NULL;
    struct CUstream_st *stream;
    for (int k = 0; k < COUNT; k++) {
        x[k] = k;
    }
    int failed = cudaStreamCreateWithFlags(&stream, 1);
    failed |= cudaMalloc(&given, sizeof x) | cudaMalloc(&factor, sizeof y);
    failed |= cudaMalloc(&out, sizeof result);
    if (scaling_workspace_size()) {
        failed |= cudaMalloc(&workspace, scaling_workspace_size());
    }
    failed |= cudaMemcpyAsync(given, x, sizeof x, TO_DEVICE, stream);
    failed |= cudaMemcpyAsync(factor, &y, sizeof y, TO_DEVICE, stream);
    const int code = scaling(given, factor, out, workspace, stream);
    failed |= cudaMemcpyAsync(result, out, sizeof result, TO_HOST, stream);
    failed |= cudaStreamSynchronize(stream);
    printf("%s\n", scaling_error(code));
    for (int k = 0; k < COUNT; k++) {
        printf("%.17g\n", result[k]);
    }
    return failed | code;
}
