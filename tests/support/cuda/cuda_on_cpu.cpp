/* What `cuda_on_cpu.h` declares: fibers, barriers, and the memory that knows who has accessed it. */
#include "cuda_on_cpu.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <link.h>
#include <memory>
#include <ucontext.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;
extern char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));

namespace {

constexpr size_t STACK = 256 << 10;
constexpr size_t HOST = 16 << 10;
constexpr unsigned WARP = 32;

enum class State { ready, waits_for_block, waits_for_lanes, done };

struct Copy {
    char *to;
    const char *from;
};

struct Fiber {
    std::vector<std::vector<Copy>> copies; /* a group each */
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    State state;
    int line;
    unsigned lanes;         /* of the warp, for which it waits */
    unsigned ordered_lanes; /* those of the last barrier that it has passed */
    bool orders;
};

struct Access {
    uint32_t launch = 0;
    uint32_t block, thread, block_epoch, lane_epoch;
    bool is_atomic;
};

struct Cell {
    Access write, read, other_read;
};

struct Region {
    const char *begin;
    size_t size;
    bool filled, shared;
    std::vector<Cell> cells; /* one for each byte */
    bool by_bytes = false;   /* else an access concerns every other one */
};

std::vector<Fiber> fibers;
std::vector<Region> regions;
ucontext_t scheduler;
void (*running)(void *);
void *arguments_of_running;
unsigned current;
bool inside;       /* a thread of the device runs */
uint32_t launches;
uint32_t block_epoch;
std::vector<uint32_t> lane_epochs; /* of each thread: barriers of lanes that it has passed */
constexpr size_t LANE = 64;
alignas(16) char lanes[1024 * LANE];
char message[400];
const char *image_begin, *image_end;
const char *host_frame; /* of what launches a kernel, with the kernel's arguments above it */

void fail(const char *format, ...)
{
    if (message[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        int length = vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        snprintf(message + length, sizeof message - length, " (launch %u, block %u, thread %u)",
                 launches, blockIdx.x, threadIdx.x);
    }
    if (inside) { /* the thread goes no further */
        inside = false;
        fibers[current].state = State::done;
        setcontext(&scheduler);
    }
}

void body()
{
    running(arguments_of_running);
    inside = false;
    fibers[current].state = State::done;
}

/* Whether what a thread has done comes before what the running one does now. */
bool ordered(const Access &before, bool shared)
{
    if (before.launch != launches)
        return true;
    if (before.block != blockIdx.x)
        return shared;
    if (before.thread == threadIdx.x || before.block_epoch != block_epoch)
        return true;
    return before.thread / WARP == threadIdx.x / WARP
           && before.lane_epoch != lane_epochs[before.thread]
           && (fibers[before.thread].ordered_lanes >> threadIdx.x % WARP & 1);
}

void look(Region &region, size_t offset, bool writes, bool is_atomic)
{
    Cell &cell = region.cells[offset];
    const Access now = {launches, blockIdx.x, threadIdx.x, block_epoch, lane_epochs[threadIdx.x],
                        is_atomic};
    const char *kind = region.shared ? "shared" : "global";
    const bool is_new = region.shared ? cell.write.launch != launches || cell.write.block != blockIdx.x
                                      : cell.write.launch == 0;
    if (!writes && !region.filled && is_new)
        return fail("reads %s memory that nobody has written", kind);
    const bool are_atomic = is_atomic && cell.write.is_atomic;
    if (!are_atomic && !ordered(cell.write, region.shared))
        return fail("%s %s memory that thread %u of block %u has written", writes ? "writes" : "reads",
                    kind, cell.write.thread, cell.write.block);
    if (!writes) {
        /* What an atomic access reads it writes, too: that is remembered. */
        if (is_atomic)
            return;
        if (cell.read.thread != now.thread || cell.read.block != now.block)
            cell.other_read = cell.read;
        cell.read = now;
        return;
    }
    for (const Access &read : {cell.read, cell.other_read})
        if (!ordered(read, region.shared))
            return fail("writes %s memory that thread %u of block %u has read", kind, read.thread,
                        read.block);
    cell.write = now;
}

/* Some accesses are of single bytes: what was known of two is known of each. */
void divide(Region &region)
{
    region.by_bytes = true;
    for (size_t k = 0; k < region.size; k++)
        region.cells[k] = region.cells[k / 2 * 2];
}

void access(const void *address, size_t size, bool writes, bool is_atomic = false)
{
    if (!inside || regions.empty()) /* nobody has said what there is */
        return;
    const char *at = (const char *)address;
    const char *stack = fibers[current].stack.get();
    if (at >= stack && at < stack + STACK)
        return;
    if (at >= host_frame && at < host_frame + HOST)
        return;
    for (Region &region : regions)
        if (at >= region.begin && at + size <= region.begin + region.size) {
            if (size == 1 && !region.by_bytes)
                divide(region);
            for (size_t k = 0; k < size; k += region.by_bytes ? 1 : 2)
                look(region, at + k - region.begin, writes, is_atomic);
            return;
        }
    if (at >= image_begin && at < image_end) /* constants, and what is declared here */
        return;
    fail("%s %zu bytes outside of all arrays", writes ? "writes" : "reads", size);
}

int find_image(dl_phdr_info *info, size_t, void *)
{
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const auto &part = info->dlpi_phdr[k];
        const char *begin = (const char *)info->dlpi_addr + part.p_vaddr;
        const char *own = (const char *)&launches;
        if (part.p_type == PT_LOAD && own >= begin && own < begin + part.p_memsz) {
            image_begin = (const char *)info->dlpi_addr;
            image_end = begin + part.p_memsz;
        }
    }
    return 0;
}

/* Lets the lanes go on for which a thread waits, if all of them wait for the same. */
bool release_lanes(unsigned thread, unsigned threads)
{
    const Fiber &own = fibers[thread];
    const unsigned first = thread / WARP * WARP, count = std::min(WARP, threads - first);
    const auto is_meant = [&](unsigned lane) { return own.lanes >> lane & 1; };
    for (unsigned lane = 0; lane < count; lane++) {
        const Fiber &f = fibers[first + lane];
        if (is_meant(lane)
            && (f.state != State::waits_for_lanes || f.line != own.line || f.lanes != own.lanes))
            return false;
    }
    for (unsigned lane = 0; lane < count; lane++)
        if (is_meant(lane)) {
            Fiber &f = fibers[first + lane];
            f.state = State::ready;
            if (f.orders) {
                lane_epochs[first + lane]++;
                f.ordered_lanes = f.lanes;
            }
        }
    return true;
}

/* Lets waiting threads go on; false if there are none that may. */
bool release(unsigned threads)
{
    bool went_on = false;
    for (unsigned t = 0; t < threads; t++)
        if (fibers[t].state == State::waits_for_lanes && release_lanes(t, threads))
            went_on = true;
    const auto begin = fibers.begin(), end = begin + threads;
    if (std::all_of(begin, end, [&](const Fiber &f) {
            return f.state == State::waits_for_block && f.line == begin->line;
        })) {
        block_epoch++;
        std::for_each(begin, end, [](Fiber &f) { f.state = State::ready; });
        went_on = true;
    }
    return went_on;
}

void run_block(unsigned threads)
{
    for (Fiber &fiber : fibers)
        fiber.copies.assign(1, {});
    for (unsigned t = 0; t < threads; t++) {
        Fiber &fiber = fibers[t];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = &scheduler;
        fiber.state = State::ready;
        fiber.ordered_lanes = 0;
        makecontext(&fiber.context, body, 0);
    }
    do {
        for (unsigned k = 0; k < threads && message[0] == '\0'; k++) {
            /* Every other time backwards: no thread may count on those before it. */
            const unsigned t = block_epoch % 2 ? threads - 1 - k : k;
            if (fibers[t].state != State::ready)
                continue;
            current = t;
            threadIdx = {t, 0, 0};
            inside = true;
            swapcontext(&scheduler, &fibers[t].context);
        }
    } while (message[0] == '\0' && release(threads));
    for (unsigned t = 0; t < threads && message[0] == '\0'; t++)
        if (fibers[t].state != State::done) {
            threadIdx = {t, 0, 0};
            fail("waits for ever at line %d: a barrier that not all threads reach", fibers[t].line);
        }
}

} // namespace

void cuda_on_cpu_launch(void (*kernel)(void *), void *arguments, unsigned blocks, unsigned threads)
{
    launches++;
    host_frame = (const char *)__builtin_frame_address(0);
    if (blocks == 0 || threads == 0 || threads > 1024)
        fail("launches %u blocks of %u threads", blocks, threads);
    while (fibers.size() < threads) {
        fibers.emplace_back();
        fibers.back().stack.reset(new char[STACK]);
    }
    running = kernel;
    arguments_of_running = arguments;
    lane_epochs.assign(threads, 0);
    gridDim = {blocks, 1, 1};
    blockDim = {threads, 1, 1};
    for (unsigned k = 0; k < blocks && message[0] == '\0'; k++) {
        /* Backwards every other launch: nor may a block. */
        const unsigned block = launches % 2 ? k : blocks - 1 - k;
        blockIdx = {block, 0, 0};
        block_epoch = 0;
        run_block(threads);
    }
}

void cuda_on_cpu_wait(unsigned lanes, bool orders, int line)
{
    Fiber &fiber = fibers[current];
    if (lanes && !(lanes >> threadIdx.x % WARP & 1))
        fail("waits for lanes %#x of the warp, and is none of them", lanes);
    fiber.state = lanes ? State::waits_for_lanes : State::waits_for_block;
    fiber.line = line;
    fiber.lanes = lanes;
    fiber.orders = orders;
    inside = false;
    swapcontext(&fiber.context, &scheduler);
}

void cuda_on_cpu_copy(void *to, const void *from)
{
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16)
        fail("copies 16 bytes that are not aligned");
    fibers[current].copies.back().push_back({(char *)to, (const char *)from});
}

void cuda_on_cpu_end_copies(void)
{
    fibers[current].copies.emplace_back();
}

void cuda_on_cpu_wait_for_copies(unsigned groups_left)
{
    auto &groups = fibers[current].copies;
    while (groups.size() > groups_left + 1) {
        for (const Copy &copy : groups.front()) {
            access(copy.from, 16, false);
            access(copy.to, 16, true);
            memcpy(copy.to, copy.from, 16);
        }
        groups.erase(groups.begin());
    }
}

void cuda_on_cpu_atomic(const void *number, size_t size)
{
    access(number, size, false, true);
    access(number, size, true, true);
}

void *cuda_on_cpu_lane(unsigned lane)
{
    return &lanes[(threadIdx.x / WARP * WARP + lane) * LANE];
}

cudaError_t cudaPeekAtLastError(void)
{
    return message[0] != '\0';
}

extern "C" int cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

/* The host writes what no launch has written, and reads what one has. */
void look_of_host(const char *at, size_t size, bool writes)
{
    for (Region &region : regions)
        if (at >= region.begin && at + size <= region.begin + region.size) {
            for (size_t k = 0; k < size; k += region.by_bytes ? 1 : 2) {
                Cell &cell = region.cells[at + k - region.begin];
                if (writes)
                    cell.write.launch = UINT32_MAX;
                else if (!region.filled && cell.write.launch == 0)
                    fail("copies memory to the host that nobody has written");
            }
            return;
        }
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t)
{
    memcpy(to, from, size);
    const bool writes = kind == cudaMemcpyHostToDevice;
    look_of_host((const char *)(writes ? to : from), size, writes);
    return cudaPeekAtLastError();
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaPeekAtLastError();
}

extern "C" const char *cuda_on_cpu_error(void)
{
    return message;
}

extern "C" void cuda_on_cpu_begin(int count, void *const *arrays, const int64_t *sizes,
                                  const int *filled)
{
    dl_iterate_phdr(find_image, nullptr);
    message[0] = '\0';
    launches = 0;
    regions.clear();
    for (int k = 0; k < count; k++)
        regions.push_back({(const char *)arrays[k], (size_t)sizes[k], filled[k] != 0, false,
                           std::vector<Cell>(sizes[k])});
    const size_t shared = __stop_cuda_shared - __start_cuda_shared;
    if (shared)
        regions.push_back({__start_cuda_shared, shared, false, true, std::vector<Cell>(shared)});
}

/* What g++ calls before each access. */
#define SIZED(n) \
    extern "C" void __tsan_read##n(void *at) { access(at, n, false); } \
    extern "C" void __tsan_write##n(void *at) { access(at, n, true); } \
    extern "C" void __tsan_unaligned_read##n(void *at) { access(at, n, false); } \
    extern "C" void __tsan_unaligned_write##n(void *at) { access(at, n, true); }
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
extern "C" void __tsan_read_range(void *at, size_t size) { access(at, size, false); }
extern "C" void __tsan_write_range(void *at, size_t size) { access(at, size, true); }
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit(void) {}
extern "C" void __tsan_init(void) {}
/* What guards the first use of a static variable. */
extern "C" char __tsan_atomic8_load(const volatile char *at, int) { return *at; }
/* What the part of the host keeps for all threads. */
extern "C" int64_t __tsan_atomic64_load(const volatile int64_t *at, int)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
extern "C" int __tsan_atomic64_compare_exchange_strong(volatile int64_t *at, int64_t *known,
                                                       int64_t value, int, int)
{
    return __atomic_compare_exchange_n(at, known, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
