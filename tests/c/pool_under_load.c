/* The pool of threads under load, for the thread sanitizer: many threads that come to regions of
   all kinds, teams larger than the pool, regions in regions, threads that end, and forks meanwhile.

   `pool_under_load THREADS SECONDS` prints what failed, and how many regions there were. */

#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
static long regions;
static double end;

static void expect(int holds, const char *what)
{
    if (!holds) {
        printf("%s\n", what);
        __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Every share writes numbers of its own, which the thread that came to the region reads. */
static void region(unsigned *seed)
{
    enum { LONGEST = 300 };
    long numbers[LONGEST], sum = 0, length = 1 + rand_r(seed) % LONGEST;
    int threads = 1 + rand_r(seed) % 9, inner = 0, team = 0, once = 0;
    switch (rand_r(seed) % 5) {
    case 0:
        #pragma omp parallel for num_threads(threads) schedule(static)
        for (long i = 0; i < length; i++) {
            numbers[i] = i;
        }
        break;
    case 1:
        #pragma omp parallel for num_threads(threads) schedule(guided)
        for (long i = 0; i < length; i++) {
            numbers[i] = i;
        }
        break;
    case 2:
        #pragma omp parallel for num_threads(threads) schedule(dynamic, 7)
        for (long i = 0; i < length; i++) {
            numbers[i] = i;
        }
        break;
    case 3:
        #pragma omp parallel num_threads(threads)
        {
            #pragma omp single
            {
                team = omp_get_num_threads();
                once++;
            }
            #pragma omp for schedule(dynamic, 3)
            for (long i = 0; i < length; i++) {
                numbers[i] = team;
            }
            #pragma omp for schedule(static)
            for (long i = 0; i < length; i++) {
                numbers[length - 1 - i] += length - 1 - i - team;
            }
        }
        expect(once == 1 && team >= 1 && team <= threads, "a block was run by several threads");
        break;
    default:
        #pragma omp parallel for num_threads(threads)
        for (long i = 0; i < length; i++) {
            #pragma omp parallel num_threads(3)
            {
                #pragma omp atomic
                inner += omp_get_num_threads();
            }
            numbers[i] = i;
        }
        expect(inner == length, "a region in a region had several threads");
    }
    for (long i = 0; i < length; i++) {
        sum += numbers[i];
    }
    expect(sum == length * (length - 1) / 2, "an iteration is missing");
    __atomic_add_fetch(&regions, 1, __ATOMIC_RELAXED);
}

static void *caller(void *number)
{
    unsigned seed = (unsigned)(size_t)number * 7919 + 1;
    for (int round = 0; seconds() < end; round++) {
        region(&seed);
        if (rand_r(&seed) % 50 == 0) {
            usleep(500); /* long enough for workers to fall asleep */
        }
    }
    return NULL;
}

static void *one_region(void *seed)
{
    region(seed);
    return NULL;
}

/* Threads that end make room for others. */
static void *passing(void *number)
{
    unsigned seed = (unsigned)(size_t)number, of_other = seed + 1;
    while (seconds() < end) {
        pthread_t other;
        int is_there = pthread_create(&other, NULL, one_region, &of_other) == 0;
        region(&seed);
        if (is_there) {
            pthread_join(other, NULL);
        }
    }
    return NULL;
}

static void forks(void)
{
    unsigned seed = 12345;
    (void)seed;
    while (seconds() < end) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(20); /* a child that hangs is killed, and counted */
            long sum = 0;
#ifdef __SANITIZE_THREAD__ /* it knows no threads that are started after a fork */
            #pragma omp parallel for num_threads(1) reduction(+ : sum)
#else
            for (int round = 0; round < 20; round++) {
                region(&seed);
            }
            #pragma omp parallel for num_threads(4) reduction(+ : sum)
#endif
            for (long i = 0; i < 100; i++) {
                sum += i;
            }
            _exit(failures != 0 || sum != 4950);
        }
        int status;
        waitpid(child, &status, 0);
        expect(status == 0, "a forked child failed");
        usleep(20000);
    }
}

int main(int count, char **words)
{
    enum { MOST = 256 };
    pthread_t callers[MOST];
    size_t threads = count > 1 ? (size_t)atoi(words[1]) : 16;
    threads = threads < MOST ? threads : MOST;
    end = seconds() + (count > 2 ? atof(words[2]) : 2);
    for (size_t i = 0; i < threads; i++) {
        pthread_create(&callers[i], NULL, i % 8 == 7 ? passing : caller, (void *)i);
    }
    forks();
    for (size_t i = 0; i < threads; i++) {
        pthread_join(callers[i], NULL);
    }
    fprintf(stderr, "%ld regions\n", regions);
    return failures != 0;
}
