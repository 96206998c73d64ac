/* CUDA's library for the host with a meaning on the CPU: memory comes from malloc, poisoned, and what
   is put into a stream runs in its order, as late as can be: when somebody waits for it. So a use
   of memory that does not wait shows as poison, or as an old value. */
#include "runtime_on_cpu.h"
#undef cudaMemcpyAsync
#undef cudaStreamSynchronize
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

enum { success = 0, invalid_value = 1, out_of_memory = 2, invalid_handle = 400, not_ready = 600 };
enum { to_device = 1, to_host = 2, on_device = 3 };
constexpr size_t MARGIN = 256;
constexpr int POISON = 0xCD, FREED = 0xDD, GUARD = 0xA5;

struct Stream {
    std::deque<std::function<void()>> waiting;
    uint64_t added = 0, done = 0;

    void add(std::function<void()> work)
    {
        waiting.push_back(std::move(work));
        added++;
    }
    void run(uint64_t until)
    {
        while (done < until && !waiting.empty()) {
            std::function<void()> work = std::move(waiting.front());
            waiting.pop_front();
            work();
            done++;
        }
    }
};

struct Event {
    Stream *stream = nullptr;
    uint64_t position = 0;
};

std::recursive_mutex mutex;
Stream first;
std::map<Stream *, std::unique_ptr<Stream>> streams;
std::map<uintptr_t, size_t> on_gpu, locked;
size_t used, limit = (size_t)1 << 30;
int current, last, refused, launched;

using Lock = std::lock_guard<std::recursive_mutex>;

int fail(int code)
{
    last = code;
    return code;
}

Stream *stream_of(uintptr_t handle)
{
    return handle <= 1 ? &first : (Stream *)handle;
}

void run_all()
{
    first.run(first.added);
    for (auto &each : streams)
        each.first->run(each.first->added);
}

bool within(const std::map<uintptr_t, size_t> &regions, uintptr_t at, size_t size)
{
    auto next = regions.upper_bound(at);
    if (next == regions.begin())
        return false;
    --next;
    return at + size <= next->first + next->second;
}

} // namespace

extern "C" {

/* For tests: the code of the next launch that is refused, or 0; the bytes of the device; how many
   launches there have been; and whether some memory has been written outside of its bounds. */
void cudart_on_cpu_refuse(int code) { refused = code; }
void cudart_on_cpu_limit(size_t size) { limit = size; }
int cudart_on_cpu_launches(void) { return launched; }

int cudart_on_cpu_launch(cudaStream_t stream, cudart_on_cpu_work *work)
{
    Lock lock(mutex);
    std::shared_ptr<cudart_on_cpu_work> shared(work);
    launched++;
    if (refused) {
        fail(refused);
        refused = 0;
        return last;
    }
    stream_of((uintptr_t)stream)->add([shared] { shared->run(); });
    return success;
}

int cudart_on_cpu_peek(void) { return last; }
int cudart_on_cpu_peek_in_c(void) __asm__("cudaPeekAtLastError");
int cudart_on_cpu_peek_in_c(void) { return last; }

/* The machine code of a GPU is a shared object here. */
int cudaLibraryLoadData(uintptr_t *library, const void *code, uintptr_t, uintptr_t, unsigned, uintptr_t,
                        uintptr_t, unsigned)
{
    Lock lock(mutex);
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)code;
    const size_t size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
    const int file = memfd_create("kernels", 0);
    if (write(file, code, size) != (ssize_t)size)
        return fail(invalid_value);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *library = (uintptr_t)dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return *library ? success : fail(invalid_value); /* the file stays open: its name is its number */
}

int cudaLibraryGetKernel(uintptr_t *kernel, uintptr_t library, const char *name)
{
    char symbol[256];
    snprintf(symbol, sizeof symbol, "%s_by_addresses", name);
    *kernel = (uintptr_t)dlsym((void *)library, symbol);
    return *kernel ? success : fail(invalid_handle);
}

int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t,
                     cudaStream_t stream)
{
    typedef void Launched(unsigned, unsigned, cudaStream_t, void **);
    ((Launched *)kernel)(grid.x, block.x, stream, arguments);
    return last;
}

int cudaGetLastError(void)
{
    const int code = last;
    last = success;
    return code;
}

int cudaGetDeviceCount(int *count)
{
    const char *text = getenv("CUDART_ON_CPU_DEVICES");
    *count = text ? atoi(text) : 1;
    return *count < 0 ? fail(35) : *count ? success : fail(100);
}

int cudaGetDevice(int *device) { return *device = current, success; }
int cudaSetDevice(int device) { return current = device, success; }

int cudaDeviceGetAttribute(int *value, int attribute, int)
{
    *value = attribute == 75 ? 9 : 0;
    return success;
}

int cudaGetDeviceProperties(char *properties, int)
{
    strcpy(properties, "a GPU on the CPU");
    return success;
}

int cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = limit - used;
    *total = limit;
    return success;
}

int cudaMalloc(uintptr_t *pointer, size_t size)
{
    Lock lock(mutex);
    if (used + size > limit)
        return fail(out_of_memory);
    char *memory = (char *)aligned_alloc(MARGIN, (size + 3 * MARGIN - 1) / MARGIN * MARGIN);
    memset(memory, GUARD, size + 2 * MARGIN);
    memset(memory + MARGIN, POISON, size);
    *pointer = (uintptr_t)(memory + MARGIN);
    on_gpu[*pointer] = size;
    used += size;
    return success;
}

int cudaFree(uintptr_t pointer)
{
    Lock lock(mutex);
    if (pointer == 0)
        return success;
    if (!on_gpu.count(pointer))
        return fail(invalid_value);
    run_all();
    const size_t size = on_gpu[pointer];
    char *memory = (char *)pointer - MARGIN;
    for (size_t k = 0; k < MARGIN; k++)
        if ((unsigned char)memory[k] != GUARD || (unsigned char)memory[MARGIN + size + k] != GUARD)
            abort(); /* written outside of its bounds */
    memset(memory, FREED, size + 2 * MARGIN);
    used -= size;
    on_gpu.erase(pointer);
    free(memory);
    return success;
}

int cudaHostAlloc(uintptr_t *pointer, size_t size, unsigned)
{
    Lock lock(mutex);
    *pointer = (uintptr_t)malloc(size);
    memset((void *)*pointer, POISON, size);
    locked[*pointer] = size;
    return success;
}

int cudaFreeHost(uintptr_t pointer)
{
    Lock lock(mutex);
    run_all();
    if (!locked.erase(pointer))
        return fail(invalid_value);
    free((void *)pointer);
    return success;
}

int cudaPointerGetAttributes(int *attributes, uintptr_t pointer)
{
    Lock lock(mutex);
    attributes[0] = within(locked, pointer, 1) ? 1 : within(on_gpu, pointer, 1) ? 2 : 0;
    return success;
}

int cudaMemcpyAsync(uintptr_t to, uintptr_t from, size_t size, int kind, uintptr_t handle)
{
    Lock lock(mutex);
    Stream *stream = stream_of(handle);
    const bool writes_gpu = kind != to_host, reads_gpu = kind != to_device;
    if (within(on_gpu, to, size) != writes_gpu || within(on_gpu, from, size) != reads_gpu)
        return fail(invalid_value);
    auto copy = [=] { memcpy((void *)to, (const void *)from, size); };
    if (kind == to_device && !within(locked, from, size)) { /* ordinary memory is read now */
        const char *start = (const char *)from;
        auto values = std::make_shared<std::vector<char>>(start, start + size);
        stream->add([=] { memcpy((void *)to, values->data(), size); });
        return success;
    }
    stream->add(copy);
    if (kind == to_host && !within(locked, to, size)) /* and is written before the call returns */
        stream->run(stream->added);
    return success;
}

int cudaStreamCreateWithFlags(uintptr_t *handle, unsigned)
{
    Lock lock(mutex);
    Stream *stream = new Stream;
    streams[stream].reset(stream);
    *handle = (uintptr_t)stream;
    return success;
}

int cudaStreamDestroy(uintptr_t handle)
{
    Lock lock(mutex);
    return streams.erase((Stream *)handle) ? success : fail(invalid_handle);
}

int cudaStreamSynchronize(uintptr_t handle)
{
    Lock lock(mutex);
    stream_of(handle)->run(stream_of(handle)->added);
    return success;
}

/* The same for programs with a part of the host, which include `runtime_on_cpu.h`. */
int cudart_on_cpu_copy(void *to, const void *from, size_t size, int kind, cudaStream_t stream)
{
    return cudaMemcpyAsync((uintptr_t)to, (uintptr_t)from, size, kind, (uintptr_t)stream);
}

int cudart_on_cpu_wait(cudaStream_t stream) { return cudaStreamSynchronize((uintptr_t)stream); }

int cudaStreamQuery(uintptr_t handle)
{
    Lock lock(mutex);
    return stream_of(handle)->waiting.empty() ? success : not_ready;
}

int cudaStreamWaitEvent(uintptr_t handle, uintptr_t event, unsigned)
{
    Lock lock(mutex);
    const Event now = *(Event *)event;
    stream_of(handle)->add([now] { now.stream->run(now.position); });
    return success;
}

int cudaEventCreateWithFlags(uintptr_t *event, unsigned)
{
    *event = (uintptr_t) new Event;
    return success;
}

int cudaEventDestroy(uintptr_t event)
{
    delete (Event *)event;
    return success;
}

int cudaEventRecord(uintptr_t event, uintptr_t handle)
{
    Lock lock(mutex);
    Stream *stream = stream_of(handle);
    *(Event *)event = {stream, stream->added};
    return success;
}

/* Each question lets the stream do a little more. */
int cudaEventQuery(uintptr_t event)
{
    Lock lock(mutex);
    Event *asked = (Event *)event;
    if (asked->stream == nullptr || asked->stream->done >= asked->position)
        return success;
    asked->stream->run(asked->stream->done + 1);
    return not_ready;
}

int cudaDeviceSynchronize(void)
{
    Lock lock(mutex);
    run_all();
    return success;
}

const char *cudaGetErrorName(int code) { return code == 2 ? "cudaErrorMemoryAllocation" : "cudaError"; }
const char *cudaGetErrorString(int code)
{
    return code == 2 ? "out of memory" : code == 35 ? "no driver" : code == 9 ? "invalid configuration" : "an error";
}
}
