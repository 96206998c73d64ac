/* Heat in a plate on the processes of an MPI program, one strip each: see heat_in_c.py, which saves
   the program of a strip and compiles this beside it. */
#include "heat.h"
#include "mpi_devices.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 128 };

int main(int argc, char **argv)
{
    static double strip[ROWS][COLUMNS], warm[ROWS][COLUMNS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *world = transpile_mpi_open(MPI_Comm_c2f(MPI_COMM_WORLD), 1);
    void *devices = transpile_mpi_devices_new(world, 0, NULL);
    void *workspace = aligned_alloc(64, (heat_workspace_size() / 64 + 1) * 64);

    /* Hot at the border between the strips of processes 0 and 1. */
    for (int j = 0; j < COLUMNS; j++)
        strip[rank == 0 ? ROWS - 1 : 0][j] = rank < 2 ? 100.0 * j / COLUMNS : 0.0;
    int code = heat(&strip[0][0], &warm[0][0], transpile_mpi_devices_of(devices, rank), workspace);
    if (code != 0) {
        transpile_mpi_fail(world, heat_error(code));
        fprintf(stderr, "process %d: %s\n", rank, transpile_mpi_message(world));
    }
    double sum = 0.0, total;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += warm[i][j];
    if (code == 0) {
        MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%.12f %.12f %.12f\n", total, warm[ROWS - 1][COLUMNS - 1], warm[ROWS - 40][100]);
    }
    free(workspace);
    transpile_mpi_devices_free(devices);
    transpile_mpi_close(world, "", 5.0);
    MPI_Finalize();
    return code != 0;
}
