/* Everything of OpenMP that programs use, on teams of several sizes, by several threads at once.

   `parallel_constructs` checks itself and prints what failed; with the argument `sizes` it prints
   omp_get_max_threads() and the size of a team that has not been asked for, with `deep` it uses 64
   KiB of stack in each of three threads. */

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define EXPECT(condition)                                        \
    do {                                                         \
        if (!(condition)) {                                      \
            printf("line %d: %s\n", __LINE__, #condition);       \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);  \
        }                                                        \
    } while (0)

/* Every number of `seen` is counted up 18 times. */
static void count(int threads, long n, int *seen)
{
    long sum = 0;
    double floats = 0;
    double _Complex turned = 0;
    int singles = 0, team = 0;
    #pragma omp parallel for num_threads(threads) reduction(+ : sum)
    for (long i = 0; i < n; i++) {
        seen[i]++;
        sum += i;
    }
    EXPECT(sum == n * (n - 1) / 2);
    #pragma omp parallel for num_threads(threads) schedule(guided) reduction(+ : floats)
    for (long i = n - 1; i >= 0; i--) {
        seen[i]++;
        floats += (double)i;
    }
    EXPECT(floats == (double)(n * (n - 1) / 2));
    #pragma omp parallel for num_threads(threads) schedule(dynamic, 3) reduction(+ : turned)
    for (long i = 0; i < n; i += 2) {
        seen[i]++;
        turned += i * 1.0i;
        if (i + 1 < n) {
            seen[i + 1]++;
            turned += (i + 1) * 1.0i;
        }
    }
    EXPECT(turned == n * (n - 1) / 2 * 1.0i);
    #pragma omp parallel num_threads(threads)
    {
        #pragma omp single
        {
            singles++;
            team = omp_get_num_threads();
        }
        EXPECT(team == threads && omp_get_max_threads() == 1);
        EXPECT(0 <= omp_get_thread_num() && omp_get_thread_num() < threads);
        for (int round = 0; round < 5; round++) {
            #pragma omp for schedule(dynamic, 2)
            for (long i = 0; i < n; i++) {
                seen[i]++;
            }
            #pragma omp for schedule(static)
            for (long i = 0; i < n; i++) {
                seen[n - 1 - i]++;
            }
            #pragma omp single nowait
            singles++;
            #pragma omp for schedule(guided, 2) nowait
            for (long i = 0; i < n; i++) {
                #pragma omp atomic
                seen[i]++;
            }
            #pragma omp barrier
        }
    }
    EXPECT(singles == 6);
}

static void constructs(int threads, long n)
{
    int *seen = calloc((size_t)n + 1, sizeof *seen);
    count(threads, n, seen);
    for (long i = 0; i < n; i++) {
        EXPECT(seen[i] == 18);
    }
    free(seen);
}

/* A region in a region has one thread. */
static void nested(void)
{
    int bodies = 0, largest = 0;
    #pragma omp parallel num_threads(3)
    {
        #pragma omp parallel num_threads(4)
        {
            #pragma omp atomic
            bodies++;
            #pragma omp atomic
            largest |= omp_get_num_threads();
        }
    }
    EXPECT(bodies == 3 && largest == 1 && omp_get_thread_num() == 0);
}

static void *rounds(void *number)
{
    unsigned seed = (unsigned)(size_t)number;
    for (int round = 0; round < 100; round++) {
        constructs(1 + rand_r(&seed) % 5, rand_r(&seed) % 200);
        if (rand_r(&seed) % 20 == 0) {
            usleep(1000); /* long enough for the others to fall asleep */
        }
        nested();
    }
    return NULL;
}

static void forks(void)
{
    for (int generation = 0; generation < 3; generation++) {
        pid_t child = fork();
        if (child == 0) {
            constructs(4, 100);
            if (fork() == 0) {
                constructs(3, 100);
                _exit(failures);
            }
            int status;
            wait(&status);
            _exit(failures || status);
        }
        int status;
        waitpid(child, &status, 0);
        EXPECT(status == 0);
        constructs(3, 50);
    }
}

static void *deep(void *unused)
{
    long sum = 0;
    #pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        volatile char room[64 << 10];
        for (size_t i = 0; i < sizeof room; i += 64) {
            room[i] = 1;
            sum += room[i];
        }
        #pragma omp barrier
    }
    printf("%ld\n", sum);
    return unused;
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "deep") == 0) {
        pthread_attr_t attributes;
        pthread_t caller;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 512 << 10);
        pthread_create(&caller, &attributes, deep, NULL);
        return pthread_join(caller, NULL);
    }
    if (count > 1) {
        int team = 0;
        #pragma omp parallel
        {
            #pragma omp single
            team = omp_get_num_threads();
        }
        printf("%d %d\n", omp_get_max_threads(), team);
        return 0;
    }
    pthread_t hosts[4];
    for (size_t i = 0; i < 4; i++) {
        pthread_create(&hosts[i], NULL, rounds, (void *)i);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(hosts[i], NULL);
    }
#ifndef __SANITIZE_THREAD__ /* it allows no threads after a fork */
    forks();
#endif
    return failures != 0;
}
