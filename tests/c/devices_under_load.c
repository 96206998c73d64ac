/* Devices that are threads, under load: exchanges of all kinds, in groups that overlap, whose
   results are checked; then one ends early, for which nobody may wait. */
#include "../../runtime_c/python/devices.c"

enum { DEVICES = 5, ROUNDS = 300, LENGTH = 6000 };

static void *devices;
static const int64_t ALL[] = {0, 1, 2, 3, 4}, EVEN[] = {0, 2, 4}, ODD[] = {3, 1};
static _Atomic int wrong, failures;
static pthread_barrier_t done;

static void check(bool is_right)
{
    if (!is_right)
        atomic_fetch_add(&wrong, 1);
}

static void *run(void *argument)
{
    int64_t rank = (int64_t)(intptr_t)argument;
    const transpile_communicator *c = transpile_devices_of(devices, rank);
    const bool is_odd = rank % 2;
    const int64_t *own = is_odd ? ODD : EVEN;
    const int64_t size = is_odd ? 2 : 3, total = is_odd ? 4 : 6;
    int64_t *x = malloc(LENGTH * sizeof *x), *out = malloc(DEVICES * LENGTH * sizeof *out);
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t n = round % 3 ? 7 : LENGTH;
        for (int64_t k = 0; k < n; k++)
            x[k] = rank + round * k;
        check(c->reduce(c, '+', 'i', 8, n, x, out, ALL, DEVICES) == 0);
        check(out[n - 1] == 10 + DEVICES * round * (n - 1));
        for (int k = 0; k < (is_odd ? 5 : 2); k++) { /* groups make as many exchanges as they like */
            check(c->reduce(c, '>', 'i', 8, n, x, out, own, size) == 0);
            check(out[0] == (is_odd ? 3 : 4));
        }
        check(c->gather(c, 8, x, out, own, size) == 0);
        int64_t sum = 0;
        for (int64_t k = 0; k < size; k++)
            sum += out[k];
        check(sum == total);
        int64_t target = rank < DEVICES - 1 ? rank + 1 : -1;
        check(c->permute(c, 8, x, out, target, rank - 1) == 0);
        check(out[0] == (rank ? rank - 1 : 0));
        check(c->exchange(c, 8, x, out, ALL, DEVICES) == 0);
        check(out[2] == 2 + round * rank);
        check(c->scatter(c, '+', 'i', 8, 1, x, out, ALL, DEVICES) == 0);
        check(out[0] == 10 + DEVICES * round * rank);
        check(c->broadcast(c, 8, x, out, own, size) == 0);
        check(out[0] == own[0]);
    }
    pthread_barrier_wait(&done); /* a failure ends all exchanges that are under way */
    if (rank != 2 && c->reduce(c, '+', 'i', 8, 7, x, out, ALL, DEVICES) != 0)
        atomic_fetch_add(&failures, 1);
    transpile_devices_end(devices, rank);
    free(x);
    free(out);
    return NULL;
}

int main(void)
{
    devices = transpile_devices_new(DEVICES);
    pthread_barrier_init(&done, NULL, DEVICES);
    pthread_t threads[DEVICES];
    for (int64_t k = 0; k < DEVICES; k++)
        pthread_create(&threads[k], NULL, run, (void *)(intptr_t)k);
    for (int k = 0; k < DEVICES; k++)
        pthread_join(threads[k], NULL);
    printf("%d wrong, %d failed: %s\n", wrong, failures, transpile_devices_message(devices));
    transpile_devices_free(devices);
    return wrong || failures != DEVICES - 1;
}
