/* Devices that are processes of an MPI program: exchanges of all kinds and lengths, in groups that
   overlap, whose results are checked. Prints how many were wrong. */
#include "../../runtime_c/python/mpi_devices.c"

enum { DEVICES = 3, ROUNDS = 60, MOST = 300000 };

static const int64_t ALL[] = {0, 1, 2}, PAIR[] = {2, 0};
static int wrong;

static void check(int is_right)
{
    wrong += !is_right;
}

static void run(const transpile_communicator *c, int64_t rank)
{
    int64_t *x = malloc(MOST * sizeof *x), *out = malloc(DEVICES * MOST * sizeof *out);
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t n = round % 3 == 0 ? 7 : round % 3 == 1 ? 6000 : MOST;
        for (int64_t k = 0; k < n; k++)
            x[k] = rank + round * k;
        check(c->reduce(c, '+', 'i', 8, n, x, out, ALL, DEVICES) == 0);
        check(out[n - 1] == 3 + DEVICES * round * (n - 1));
        check(out[n / 2] == 3 + DEVICES * round * (n / 2));
        if (rank != 1) {
            check(c->reduce(c, '>', 'i', 8, n, x, out, PAIR, 2) == 0);
            check(out[0] == 2 && out[n - 1] == 2 + round * (n - 1));
            check(c->broadcast(c, 8 * n, x, out, PAIR, 2) == 0);
            check(out[n - 1] == 2 + round * (n - 1));
        }
        check(c->gather(c, 8 * n, x, out, ALL, DEVICES) == 0);
        check(out[0] == 0 && out[n] == 1 && out[3 * n - 1] == 2 + round * (n - 1));
        int64_t next = (rank + 1) % DEVICES, before = (rank + 2) % DEVICES;
        check(c->permute(c, 8 * n, x, out, next, before) == 0);
        check(out[n - 1] == before + round * (n - 1));
        check(c->permute(c, 8 * n, x, out, rank < 2 ? rank + 1 : -1, rank - 1) == 0);
        check(out[n - 1] == (rank ? rank - 1 + round * (n - 1) : 0));
        check(c->exchange(c, 8 * (n / DEVICES), x, out, ALL, DEVICES) == 0);
        check(out[n / DEVICES] == 1 + round * rank * (n / DEVICES));
        check(c->scatter(c, '+', 'i', 8, n / DEVICES, x, out, ALL, DEVICES) == 0);
        check(out[0] == 3 + DEVICES * round * rank * (n / DEVICES));
    }
    free(x);
    free(out);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *world = transpile_mpi_open(MPI_Comm_c2f(MPI_COMM_WORLD), 1);
    void *devices = transpile_mpi_devices_new(world, 0, NULL);
    run(transpile_mpi_devices_of(devices, rank), rank);
    printf("process %d: %d wrong %s\n", rank, wrong, transpile_mpi_message(world));
    transpile_mpi_devices_end(devices, rank);
    transpile_mpi_devices_free(devices);
    transpile_mpi_close(world, "", 5.0);
    MPI_Finalize();
    return wrong != 0;
}
