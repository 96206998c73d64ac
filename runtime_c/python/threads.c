/* The OpenMP functions that gcc's code for parallel loops calls, for programs that Python loads.

   They implement the part of libgomp ("The libgomp ABI", in its manual) that the constructs in
   runtime_c/ and in programs compile to: `parallel`, `for` with all schedules, `single`, `barrier`
   and `atomic`, without tasks. A nested region has one thread.

   Programs are linked with --wrap for each of them, and so call them by names of their own: another
   OpenMP library of the process, even one that was loaded first, is not taken for the pool. */

#define _GNU_SOURCE
#include "pool.h"

/* What a program that calls `name` is linked to. */
#define ENTRY(name) __wrap_##name

void ENTRY(GOMP_parallel)(body_function *body, void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    struct region region = {.body = body, .data = data};
    run(&region, threads);
}

void ENTRY(GOMP_barrier)(void)
{
    struct region *region = current->region;
    if (region->shares == 1) {
        return;
    }
    int passed = atomic_load(&region->barriers) & ~ASLEEP;
    if (atomic_fetch_add(&region->arrived, 1) + 1 < region->shares) {
        wait_until_past(&region->barriers, passed);
        return;
    }
    atomic_store(&region->arrived, 0);
    if (atomic_exchange(&region->barriers, (passed + 1) & ~ASLEEP) & ASLEEP) {
        wake_sleepers();
    }
}

/* True for the first thread that reaches a block. */
bool ENTRY(GOMP_single_start)(void)
{
    int mine = current->singles++;
    return atomic_compare_exchange_strong(&current->region->singles, &mine, mine + 1);
}

/* Around atomic updates for which the hardware has no instruction. */
void ENTRY(GOMP_atomic_start)(void)
{
    pthread_mutex_lock(&atomic_lock);
}

void ENTRY(GOMP_atomic_end)(void)
{
    pthread_mutex_unlock(&atomic_lock);
}

/* -- loops ------------------------------------------------------------------------------------- */

/* The next chunk of the region's loop, from `start` to `end`; false where there is none. */
static bool next_chunk(long *start, long *end)
{
    struct loop *loop = &current->region->loop;
    long from = atomic_load(&loop->next), size, left;
    if (current->region->shares == 1) { /* nobody else takes chunks: one of all iterations */
        *start = from;
        *end = loop->end;
        atomic_store_explicit(&loop->next, loop->end, memory_order_relaxed);
        return loop->step > 0 ? from < loop->end : from > loop->end;
    }
    do {
        left = (loop->end - from + loop->step - (loop->step > 0 ? 1 : -1)) / loop->step;
        if (left <= 0) {
            return false;
        }
        size = loop->is_guided ? left / current->region->shares : loop->chunk;
        size = size < loop->chunk ? loop->chunk : size;
        size = size < left ? size : left;
    } while (!atomic_compare_exchange_weak(&loop->next, &from, from + size * loop->step));
    *start = from;
    *end = from + size * loop->step;
    return true;
}

static void set_loop(struct loop *loop, long start, long end, long step, long chunk, bool is_guided)
{
    atomic_init(&loop->next, start);
    loop->end = end;
    loop->step = step;
    loop->chunk = chunk < 1 ? 1 : chunk;
    loop->is_guided = is_guided;
}

/* The first thread sets up the loop. A loop ends with a barrier, so that there is one at a time. */
static void enter_loop(long start, long end, long step, long chunk, bool is_guided)
{
    if (current->region->shares == 1) {
        set_loop(&current->region->loop, start, end, step, chunk, is_guided);
        current->loops++;
        return;
    }
    pthread_mutex_lock(&lock);
    if (current->region->loops == current->loops) {
        set_loop(&current->region->loop, start, end, step, chunk, is_guided);
        current->region->loops++;
    }
    current->loops++;
    pthread_mutex_unlock(&lock);
}

bool ENTRY(GOMP_loop_nonmonotonic_dynamic_start)(long begin, long stop, long step, long chunk,
                                                 long *start, long *end)
{
    enter_loop(begin, stop, step, chunk, false);
    return next_chunk(start, end);
}

bool ENTRY(GOMP_loop_nonmonotonic_dynamic_next)(long *start, long *end)
{
    return next_chunk(start, end);
}

bool ENTRY(GOMP_loop_nonmonotonic_guided_start)(long begin, long stop, long step, long chunk,
                                                long *start, long *end)
{
    enter_loop(begin, stop, step, chunk, true);
    return next_chunk(start, end);
}

bool ENTRY(GOMP_loop_nonmonotonic_guided_next)(long *start, long *end)
{
    return next_chunk(start, end);
}

void ENTRY(GOMP_loop_end)(void)
{
    ENTRY(GOMP_barrier)();
}

void ENTRY(GOMP_loop_end_nowait)(void)
{
    if (current->loops > 0) { /* not for `parallel for`, where the end of the region waits */
        ENTRY(GOMP_barrier)();
    }
}

static void run_loop(body_function *body, void *data, unsigned threads, long start, long end,
                     long step, long chunk, bool is_guided)
{
    struct region region = {.body = body, .data = data};
    set_loop(&region.loop, start, end, step, chunk, is_guided);
    run(&region, threads);
}

void ENTRY(GOMP_parallel_loop_nonmonotonic_dynamic)(body_function *body, void *data,
                                                    unsigned threads, long start, long end,
                                                    long step, long chunk, unsigned flags)
{
    (void)flags;
    run_loop(body, data, threads, start, end, step, chunk, false);
}

void ENTRY(GOMP_parallel_loop_nonmonotonic_guided)(body_function *body, void *data,
                                                   unsigned threads, long start, long end,
                                                   long step, long chunk, unsigned flags)
{
    (void)flags;
    run_loop(body, data, threads, start, end, step, chunk, true);
}

/* -- numbers of threads ------------------------------------------------------------------------ */

int ENTRY(omp_get_num_threads)(void)
{
    return current == NULL ? 1 : current->region->shares;
}

int ENTRY(omp_get_thread_num)(void)
{
    return current == NULL ? 0 : current->number;
}

int ENTRY(omp_get_max_threads)(void)
{
    return team_of(0);
}
