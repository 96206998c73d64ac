/* A pool of threads that serves all threads that run programs.

   A parallel region is split into as many shares as its team has threads. The thread that comes to
   the region offers it to the pool, does the first share, and then every share that nobody has
   begun: it waits for the threads that are at work, never for one that has yet to wake up. A worker
   takes shares from the oldest region on offer, looks for the next one for a while, and then
   sleeps. It is woken for any processor but that of the thread that wakes it: the system likes to
   put the two together, where one would wait for the other while the next processor is idle. The
   thread that comes to a region wakes two workers, and each of them two more, until enough are
   awake.

   The oldest first, because shares may wait for each other at barriers: a region has all its
   threads before the next one has any, so that no two regions hold what the other one needs. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <strings.h>
#include <time.h>

#include "processors.h"

typedef void body_function(void *data);

/* A worksharing loop, from which the shares of a region take chunks. */
struct loop {
    atomic_long next;
    long end, step, chunk;
    bool is_guided; /* chunks become smaller, down to `chunk` */
};

struct region {
    body_function *body;
    void *data;
    int shares;
    int begun;             /* number of shares taken; guarded by `lock` */
    struct region *after;  /* the region offered next; guarded by `lock` */
    atomic_int unfinished; /* number of shares not finished, and ASLEEP */
    atomic_int arrived;    /* number of shares that wait at the barrier */
    atomic_int barriers;   /* number of barriers that all have passed, and ASLEEP */
    atomic_int singles;    /* number of `single` blocks that a share has begun */
    int loops;             /* number of loops that a share has begun; guarded by `lock` */
    struct loop loop;
};

/* One thread's part of a region. */
struct share {
    struct region *region;
    int number;
    int singles, loops; /* number of them that it has reached */
};

struct worker {
    pthread_t thread;
    pthread_cond_t woken;
    bool is_asleep;       /* guarded by `lock` */
    struct worker *below; /* in the stack of sleepers; guarded by `lock` */
#ifdef __linux__
    cpu_set_t allowed; /* its affinity */
    int number;
#endif
};

/* A flag in a number that threads wait for: one of them may be asleep and must be woken. */
enum { ASLEEP = 1 << 30 };

/* A larger number in the environment is taken for a mistake. */
enum { MOST_THREADS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reached = PTHREAD_COND_INITIALIZER;
static struct region *oldest; /* of those on offer, with shares not begun; guarded by `lock` */
static struct worker *sleeper; /* the stack of sleepers; guarded by `lock` */
static int unwoken;            /* number of sleepers to be woken; guarded by `lock` */
#ifdef __linux__
static cpu_set_t offered; /* the affinity of the thread that offered the last region; likewise */
#endif
static atomic_int workers, looking; /* number of workers; of those that spin for a region */
/* The number of regions offered so far. Workers spin on it: it has a cache line of its own. */
static _Alignas(64) atomic_int offers;

/* Settings of the environment and the system, read when this file is loaded and when it is first
   used after a fork. */
static atomic_bool is_settled;
static int processors, default_threads, most_threads;
static long patience; /* nanoseconds that a thread spins before it sleeps */
static enum { ELSEWHERE, ANYWHERE, BOUND } binding; /* where workers run: OMP_PROC_BIND */

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

/* Spin until a number is no longer `value`; false where that takes too long. */
static bool spin_until_past(atomic_int *number, int value)
{
    if (workers >= processors) { /* the thread that changes it may need this processor */
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
    if (is_past(number, value) || spin_until_past(number, value)) {
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

/* Take a share of a region, or of the oldest one (NULL); false where there is none. */
static bool take_share(struct region *region, struct share *share)
{
    pthread_mutex_lock(&lock);
    region = region == NULL ? oldest : region;
    bool is_there = region != NULL && region->begun < region->shares;
    if (is_there) {
        *share = (struct share){.region = region, .number = region->begun++};
        if (region->begun == region->shares) {
            struct region **link = &oldest;
            while (*link != region) {
                link = &(*link)->after;
            }
            *link = region->after;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

static void run_share(struct share *share)
{
    struct share *outer = current;
    current = share;
    share->region->body(share->region->data);
    current = outer;
}

/* The region may be freed once its last share is finished, so it is not read after that. */
static void finish_share(struct share *share)
{
    if (atomic_fetch_sub(&share->region->unfinished, 1) == (ASLEEP | 1)) {
        wake_sleepers();
    }
}

/* Set a worker's affinity: that of the thread that offered the region, without the processors of
   this thread and of the one that wakes the worker; or with OMP_PROC_BIND one processor. */
static void set_affinity(struct worker *worker)
{
#ifdef __linux__
    cpu_set_t allowed = offered;
    int here = sched_getcpu(), count = CPU_COUNT(&allowed);
    if (binding == ANYWHERE || count == 0
        || (binding == BOUND && CPU_COUNT(&worker->allowed) > 0)) {
        return;
    }
    if (binding == BOUND) {
        int left = (worker->number + 1) % count, processor = 0;
        while (!CPU_ISSET((size_t)processor, &allowed) || left-- > 0) {
            processor++;
        }
        CPU_ZERO(&allowed);
        CPU_SET((size_t)processor, &allowed);
    } else if (here >= 0 && count > CPU_ISSET((size_t)here, &allowed)) {
        CPU_CLR((size_t)here, &allowed);
    }
    if (!CPU_EQUAL(&allowed, &worker->allowed)) {
        worker->allowed = allowed;
        pthread_setaffinity_np(worker->thread, sizeof allowed, &allowed);
    }
#else
    (void)worker;
#endif
}

/* Store the affinity of the calling thread, without the processor that it runs on. */
static void note_allowed_processors(void)
{
#ifdef __linux__
    int here = sched_getcpu();
    if (here < 0 || pthread_getaffinity_np(pthread_self(), sizeof offered, &offered) != 0) {
        CPU_ZERO(&offered);
    } else if (binding == ELSEWHERE) {
        CPU_CLR((size_t)here, &offered);
    }
#endif
}

/* Wake two workers, each of which will wake two more, until enough are awake. */
static void wake_some(void)
{
    for (int count = 0; count < 2; count++) {
        pthread_mutex_lock(&lock);
        struct worker *worker = oldest != NULL && unwoken > 0 ? sleeper : NULL;
        if (worker != NULL) {
            sleeper = worker->below;
            unwoken--;
            set_affinity(worker);
            worker->is_asleep = false;
        } else {
            unwoken = 0; /* workers that are awake look for shares before they sleep */
        }
        pthread_mutex_unlock(&lock);
        if (worker == NULL) {
            return;
        }
        pthread_cond_signal(&worker->woken);
    }
}

static void sleep_until_woken(struct worker *self)
{
    pthread_mutex_lock(&lock);
    bool is_woken = oldest == NULL;
    if (is_woken) {
        self->is_asleep = true;
        self->below = sleeper;
        sleeper = self;
    }
    while (self->is_asleep) {
        pthread_cond_wait(&self->woken, &lock);
    }
    pthread_mutex_unlock(&lock);
    if (is_woken) {
        wake_some();
    }
}

static void *work(void *self)
{
    for (;;) {
        int seen = atomic_load(&offers);
        struct share share;
        if (take_share(NULL, &share)) {
            run_share(&share);
            finish_share(&share);
            continue;
        }
        atomic_fetch_add(&looking, 1);
        bool is_found = spin_until_past(&offers, seen);
        atomic_fetch_sub(&looking, 1);
        if (!is_found) {
            sleep_until_woken(self);
        }
    }
    return NULL;
}

/* The stack that programs need, and room for the C library's thread-local storage. */
enum { SMALLEST_STACK = 256 << 10 };

static bool start_worker(void)
{
    pthread_attr_t attributes;
    size_t stack;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        return false;
    }
    pthread_cond_init(&worker->woken, NULL);
#ifdef __linux__
    worker->number = atomic_load(&workers);
#endif
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < SMALLEST_STACK) {
        pthread_attr_setstacksize(&attributes, SMALLEST_STACK); /* the default follows ulimit -s */
    }
    bool is_there = pthread_create(&worker->thread, &attributes, work, worker) == 0;
    pthread_attr_destroy(&attributes);
    if (!is_there) {
        free(worker);
        return false;
    }
    set_affinity(worker);
    return true;
}

/* Start workers until there are `wanted`, or the system has no more threads. They block signals. */
static void start_workers(int wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_mutex_lock(&lock);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    note_allowed_processors();
    while (workers < wanted && start_worker()) {
        atomic_fetch_add(&workers, 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&lock);
}

/* -- settings, and forks ----------------------------------------------------------------------- */

/* Read OpenMP's environment variables; the default is a thread for each usable processor. */
static void read_settings(void)
{
    const char *waiting = getenv("OMP_WAIT_POLICY"), *bind = getenv("OMP_PROC_BIND");
    const char *dynamic = getenv("OMP_DYNAMIC");
    pthread_mutex_lock(&lock);
    processors = processors_usable("");
    most_threads = setting("OMP_THREAD_LIMIT", MOST_THREADS, MOST_THREADS);
    if (dynamic != NULL && strcasecmp(dynamic, "true") == 0 && processors < most_threads) {
        most_threads = processors;
    }
    default_threads = setting("OMP_NUM_THREADS", MOST_THREADS, processors);
    default_threads = default_threads < most_threads ? default_threads : most_threads;
    patience = 100 * 1000L;
    if (waiting != NULL) {
        patience = strcasecmp(waiting, "passive") == 0 ? 0 : 1000 * 1000 * 1000L;
    }
    binding = bind == NULL ? ELSEWHERE : BOUND;
    if (bind != NULL && (strcasecmp(bind, "false") == 0 || strcasecmp(bind, "master") == 0
                         || strcasecmp(bind, "primary") == 0)) {
        binding = ANYWHERE;
    }
    atomic_store(&is_settled, true);
    pthread_mutex_unlock(&lock);
}

/* In a forked child only the forking thread is left, and the others' data as they were. */
static void forget_workers(void)
{
    oldest = NULL;
    sleeper = NULL;
    unwoken = 0;
    atomic_store(&workers, 0);
    atomic_store(&looking, 0);
    atomic_store(&is_settled, false);
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t waiting = PTHREAD_COND_INITIALIZER;
    lock = atomic_lock = fresh;
    reached = waiting;
}

__attribute__((constructor)) static void begin(void)
{
    read_settings();
    pthread_atfork(NULL, NULL, forget_workers);
}

/* -- regions ----------------------------------------------------------------------------------- */

static void offer(struct region *region)
{
    pthread_mutex_lock(&lock);
    struct region **link = &oldest;
    while (*link != NULL) {
        link = &(*link)->after;
    }
    *link = region;
    atomic_store(&offers, (atomic_load(&offers) + 1) & ~ASLEEP);
    int idle = atomic_load(&looking), needed = region->shares - 1 - idle;
    unwoken += needed > 0 ? needed : 0;
    bool wakes = needed > 0 && sleeper != NULL;
    if (wakes) {
        note_allowed_processors();
    }
    pthread_mutex_unlock(&lock);
    if (wakes) {
        wake_some();
    }
}

/* The number of threads of a team that asks for so many, or for the default (0). */
static int team_of(unsigned asked)
{
    if (!atomic_load_explicit(&is_settled, memory_order_acquire)) {
        read_settings();
    }
    if (current != NULL) {
        return 1;
    }
    if (asked == 0) {
        return default_threads;
    }
    return asked < (unsigned)most_threads ? (int)asked : most_threads;
}

static void run(struct region *region, unsigned threads)
{
    int wanted = team_of(threads);
    if (wanted == 1) { /* nobody takes a share, or waits for its end */
        region->shares = region->begun = 1;
        run_share(&(struct share){.region = region});
        return;
    }
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
        run_share(&share);
        finish_share(&share);
    } while (region->shares > 1 && take_share(region, &share));
    for (int left; (left = atomic_load(&region->unfinished) & ~ASLEEP) != 0;) {
        wait_until_past(&region->unfinished, left);
    }
}
