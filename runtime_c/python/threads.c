/* The threads of parallel loops: what gcc's OpenMP code calls, for programs that Python loads.

   One pool serves all threads that run programs. A parallel region is split into as many shares
   as its team has threads. The thread that comes to the region offers it to the pool, does the
   first share, and then every share that nobody has begun: it waits for the threads that are at
   work, never for one that has yet to wake up. A worker takes shares from the oldest region on
   offer, looks for the next one for a while, and then sleeps. It is woken for any processor but
   that of the thread that wakes it: the system likes to put the two together, where one would wait
   for the other while the next processor is idle.

   The oldest first, because shares may wait for each other at barriers: a region has all its
   threads before the next one has any, so that no two regions hold what the other one needs.

   The functions are those of the GNU OpenMP library ("The libgomp ABI", in its manual) that the
   constructs in runtime_c/ and in the programs come to: `parallel`, `for` with all schedules,
   `single`, `barrier` and `atomic`, without tasks. A region in a region has one thread. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void body_function(void *data);

/* A loop that the shares of a region take pieces of. */
struct loop {
    atomic_long next;
    long end, step, chunk;
    bool is_guided; /* pieces become smaller, down to `chunk` */
};

struct region {
    body_function *body;
    void *data;
    int shares;
    int begun;             /* so many shares; guarded by `lock` */
    struct region *after;  /* the region offered next; guarded by `lock` */
    atomic_int unfinished; /* so many shares, and ASLEEP */
    atomic_int arrived;    /* so many shares wait at the barrier */
    atomic_int barriers;   /* that all have passed, and ASLEEP */
    atomic_int singles;    /* blocks marked `single` that somebody has begun */
    int loops;             /* that somebody has begun; guarded by `lock` */
    struct loop loop;
};

/* What one thread does of a region. */
struct share {
    struct region *region;
    int number;
    int singles, loops; /* that it came to */
};

struct worker {
    pthread_t thread;
    pthread_cond_t woken;
    bool is_asleep;       /* guarded by `lock`, as is the next one */
    struct worker *below; /* who fell asleep before it */
#ifdef __linux__
    cpu_set_t allowed; /* the processors it has been given */
#endif
};

/* In a number that threads wait for: one of them may be asleep, and has to be woken. */
enum { ASLEEP = 1 << 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reached = PTHREAD_COND_INITIALIZER;
static struct region *oldest; /* of those on offer: with shares that nobody has begun */
static struct worker *sleeper; /* who fell asleep last */
static atomic_int workers, looking; /* so many there are; so many look for a region on offer */
/* So many regions have been offered. Workers look at it all the time, and at nothing beside it. */
static _Alignas(64) atomic_int offers;

/* Settings, of the environment when this file is loaded. */
static int processors, default_threads;
static long patience; /* so many nanoseconds a thread looks before it sleeps */

static _Thread_local struct share *current;

/* -- waiting ----------------------------------------------------------------------------------- */

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static inline bool is_past(atomic_int *number, int value)
{
    return (atomic_load_explicit(number, memory_order_acquire) & ~ASLEEP) != value;
}

/* Look at a number until it is no longer `value`; false where that took too long. */
static bool look_until_past(atomic_int *number, int value)
{
    if (workers >= processors) { /* the thread that will change it may want this processor */
        return is_past(number, value);
    }
    for (long end = nanoseconds() + patience; nanoseconds() < end;) {
        for (int look = 0; look < 16; look++) {
            if (is_past(number, value)) {
                return true;
            }
            pause_briefly();
        }
    }
    return false;
}

static void wait_until_past(atomic_int *number, int value)
{
    if (is_past(number, value) || look_until_past(number, value)) {
        return;
    }
    pthread_mutex_lock(&lock);
    while ((atomic_fetch_or(number, ASLEEP) & ~ASLEEP) == value) {
        pthread_cond_wait(&reached, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void wake_sleepers(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&reached);
    pthread_mutex_unlock(&lock);
}

/* -- shares ------------------------------------------------------------------------------------ */

/* Begin a share of a region, or of the oldest one (NULL); false where there is none. */
static bool begin_share(struct region *region, struct share *share)
{
    pthread_mutex_lock(&lock);
    region = region == NULL ? oldest : region;
    bool is_there = region != NULL && region->begun < region->shares;
    if (is_there) {
        *share = (struct share){.region = region, .number = region->begun++};
        if (region->begun == region->shares) {
            struct region **place = &oldest;
            while (*place != region) {
                place = &(*place)->after;
            }
            *place = region->after;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

static void do_share(struct share *share)
{
    struct share *outer = current;
    current = share;
    share->region->body(share->region->data);
    current = outer;
}

/* The region may be gone once its last share is finished: nothing of it is touched after that. */
static void finish_share(struct share *share)
{
    if (atomic_fetch_sub(&share->region->unfinished, 1) == (ASLEEP | 1)) {
        wake_sleepers();
    }
}

static void sleep_until_woken(struct worker *self)
{
    pthread_mutex_lock(&lock);
    if (oldest == NULL) {
        self->is_asleep = true;
        self->below = sleeper;
        sleeper = self;
    }
    while (self->is_asleep) {
        pthread_cond_wait(&self->woken, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *self)
{
    for (;;) {
        int seen = atomic_load(&offers);
        struct share share;
        if (begin_share(NULL, &share)) {
            do_share(&share);
            finish_share(&share);
            continue;
        }
        atomic_fetch_add(&looking, 1);
        bool is_found = look_until_past(&offers, seen);
        atomic_fetch_sub(&looking, 1);
        if (!is_found) {
            sleep_until_woken(self);
        }
    }
    return NULL;
}

/* Let a worker run where the calling thread may run, but not on the processor where it does. */
static void place_elsewhere(struct worker *worker)
{
#ifdef __linux__
    cpu_set_t allowed;
    int here = sched_getcpu();
    if (here < 0 || pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0) {
        return;
    }
    CPU_CLR((size_t)here, &allowed);
    if (CPU_COUNT(&allowed) > 0 && !CPU_EQUAL(&allowed, &worker->allowed)) {
        worker->allowed = allowed;
        pthread_setaffinity_np(worker->thread, sizeof allowed, &allowed);
    }
#else
    (void)worker;
#endif
}

static bool start_worker(void)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return false;
    }
    pthread_cond_init(&worker->woken, NULL);
    if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
        free(worker);
        return false;
    }
    pthread_detach(worker->thread);
    place_elsewhere(worker);
    return true;
}

/* Start workers until there are so many, or the system gives no more. Signals are for others. */
static void start_workers(int wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&lock);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (workers < wanted && start_worker()) {
        atomic_fetch_add(&workers, 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&lock);
}

/* Wake workers for so many shares, if there are too few that look for some. */
static void wake_workers(int shares)
{
    for (int wanted = shares - atomic_load(&looking); wanted > 0; wanted--) {
        pthread_mutex_lock(&lock);
        struct worker *worker = sleeper;
        if (worker != NULL) {
            sleeper = worker->below;
            place_elsewhere(worker);
            worker->is_asleep = false;
        }
        pthread_mutex_unlock(&lock);
        if (worker == NULL) {
            return;
        }
        pthread_cond_signal(&worker->woken);
    }
}

/* -- regions ----------------------------------------------------------------------------------- */

static void offer(struct region *region)
{
    pthread_mutex_lock(&lock);
    struct region **place = &oldest;
    while (*place != NULL) {
        place = &(*place)->after;
    }
    *place = region;
    atomic_store(&offers, (atomic_load(&offers) + 1) & ~ASLEEP);
    pthread_mutex_unlock(&lock);
    wake_workers(region->shares - 1);
}

static void run(struct region *region, unsigned threads)
{
    int wanted = current != NULL ? 1 : threads == 0 ? default_threads : (int)threads;
    if (workers < wanted - 1) {
        start_workers(wanted - 1);
    }
    int most = atomic_load(&workers) + 1;
    region->shares = wanted < most ? wanted : most;
    region->begun = 1;
    atomic_init(&region->unfinished, region->shares);
    struct share share = {.region = region};
    if (region->shares > 1) {
        offer(region);
    }
    do {
        do_share(&share);
        finish_share(&share);
    } while (region->shares > 1 && begin_share(region, &share));
    for (int left; (left = atomic_load(&region->unfinished) & ~ASLEEP) != 0;) {
        wait_until_past(&region->unfinished, left);
    }
}

void GOMP_parallel(body_function *body, void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    struct region region = {.body = body, .data = data};
    run(&region, threads);
}

void GOMP_barrier(void)
{
    struct region *region = current->region;
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

/* True for the first thread that comes to a block. */
bool GOMP_single_start(void)
{
    int mine = current->singles++;
    return atomic_compare_exchange_strong(&current->region->singles, &mine, mine + 1);
}

/* What the hardware has no instruction for. */
void GOMP_atomic_start(void)
{
    pthread_mutex_lock(&atomic_lock);
}

void GOMP_atomic_end(void)
{
    pthread_mutex_unlock(&atomic_lock);
}

/* -- loops ------------------------------------------------------------------------------------- */

/* The next piece of the region's loop, from `start` to `end`; false where there is none. */
static bool next_piece(long *start, long *end)
{
    struct loop *loop = &current->region->loop;
    long from = atomic_load(&loop->next), size, left;
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

/* Whoever comes first sets the loop up. A loop ends with a barrier: there is one at a time. */
static void come_to_loop(long start, long end, long step, long chunk, bool is_guided)
{
    pthread_mutex_lock(&lock);
    if (current->region->loops == current->loops) {
        set_loop(&current->region->loop, start, end, step, chunk, is_guided);
        current->region->loops++;
    }
    current->loops++;
    pthread_mutex_unlock(&lock);
}

bool GOMP_loop_nonmonotonic_dynamic_start(long begin, long stop, long step, long chunk, long *start,
                                          long *end)
{
    come_to_loop(begin, stop, step, chunk, false);
    return next_piece(start, end);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end)
{
    return next_piece(start, end);
}

bool GOMP_loop_nonmonotonic_guided_start(long begin, long stop, long step, long chunk, long *start,
                                         long *end)
{
    come_to_loop(begin, stop, step, chunk, true);
    return next_piece(start, end);
}

bool GOMP_loop_nonmonotonic_guided_next(long *start, long *end)
{
    return next_piece(start, end);
}

void GOMP_loop_end(void)
{
    GOMP_barrier();
}

void GOMP_loop_end_nowait(void)
{
    if (current->loops > 0) { /* not the loop of `parallel for`, at whose end the region waits */
        GOMP_barrier();
    }
}

static void run_loop(body_function *body, void *data, unsigned threads, long start, long end,
                     long step, long chunk, bool is_guided)
{
    struct region region = {.body = body, .data = data};
    set_loop(&region.loop, start, end, step, chunk, is_guided);
    run(&region, threads);
}

void GOMP_parallel_loop_nonmonotonic_dynamic(body_function *body, void *data, unsigned threads,
                                             long start, long end, long step, long chunk,
                                             unsigned flags)
{
    (void)flags;
    run_loop(body, data, threads, start, end, step, chunk, false);
}

void GOMP_parallel_loop_nonmonotonic_guided(body_function *body, void *data, unsigned threads,
                                            long start, long end, long step, long chunk,
                                            unsigned flags)
{
    (void)flags;
    run_loop(body, data, threads, start, end, step, chunk, true);
}

/* -- questions --------------------------------------------------------------------------------- */

int omp_get_num_threads(void)
{
    return current == NULL ? 1 : current->region->shares;
}

int omp_get_thread_num(void)
{
    return current == NULL ? 0 : current->number;
}

int omp_get_max_threads(void)
{
    return current == NULL ? default_threads : 1;
}

/* -- settings, and forks ----------------------------------------------------------------------- */

/* Of a process that forks only the thread that forked is left, and what others had begun. */
static void forget_workers(void)
{
    oldest = NULL;
    sleeper = NULL;
    atomic_store(&workers, 0);
    atomic_store(&looking, 0);
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t waiting = PTHREAD_COND_INITIALIZER;
    lock = atomic_lock = fresh;
    reached = waiting;
}

__attribute__((constructor)) static void read_settings(void)
{
    const char *threads = getenv("OMP_NUM_THREADS"), *waiting = getenv("OMP_WAIT_POLICY");
    processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        processors = CPU_COUNT(&allowed);
    }
#endif
    long asked = threads == NULL ? 0 : strtol(threads, NULL, 10);
    default_threads = asked > 0 && asked < 1024 ? (int)asked : processors;
    patience = 100 * 1000L;
    if (waiting != NULL) {
        patience = strcasecmp(waiting, "passive") == 0 ? 0 : 1000 * 1000 * 1000L;
    }
    pthread_atfork(NULL, NULL, forget_workers);
}
