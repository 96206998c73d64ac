/* The functions of CUDA's library for the host that the runtime calls, for cffi. Handles, and addresses
   of the device, are numbers. */
typedef char *host_memory;
int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaGetDeviceProperties(char *properties, int device);
int cudaMemGetInfo(size_t *available, size_t *total);
int cudaMalloc(uintptr_t *pointer, size_t size);
int cudaFree(uintptr_t pointer);
int cudaHostAlloc(uintptr_t *pointer, size_t size, unsigned flags);
int cudaFreeHost(uintptr_t pointer);
int cudaMemcpyAsync(uintptr_t to, uintptr_t from, size_t size, int kind, uintptr_t stream);
int cudaPointerGetAttributes(int *attributes, uintptr_t pointer);
int cudaStreamCreateWithFlags(uintptr_t *stream, unsigned flags);
int cudaStreamDestroy(uintptr_t stream);
int cudaStreamSynchronize(uintptr_t stream);
int cudaStreamQuery(uintptr_t stream);
int cudaStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags);
int cudaEventCreateWithFlags(uintptr_t *event, unsigned flags);
int cudaEventDestroy(uintptr_t event);
int cudaEventRecord(uintptr_t event, uintptr_t stream);
int cudaEventQuery(uintptr_t event);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
const char *cudaGetErrorName(int code);
const char *cudaGetErrorString(int code);
int cudaLibraryLoadData(uintptr_t *library, const void *code, uintptr_t, uintptr_t, unsigned,
                        uintptr_t, uintptr_t, unsigned);
int cudaLibraryGetKernel(uintptr_t *kernel, uintptr_t library, const char *name);
