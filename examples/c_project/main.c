/* Cools a plate and prints its mean temperature: `./cool 200 300` for its size. */
#include "cooling.h"
#include <stdio.h>
#include <stdlib.h>

static void *memory(size_t bytes)
{
    void *found = calloc(1, bytes + 1);
    if (found == NULL)
        exit(2);
    return found;
}

static void check(int code, const char *text)
{
    if (code != 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
}

int main(int count, char **words)
{
    const int64_t rows = count > 1 ? atoi(words[1]) : 40, columns = count > 2 ? atoi(words[2]) : 60;
    if (rows < 1 || columns < 1)
        return 2;
    const size_t bytes = (size_t)(rows * columns) * sizeof(double);
    const double rate = 0.2;
    double *now = memory(bytes), *next = memory(bytes), mean;
    void *step_workspace = memory(plate_step_workspace_size(rows, columns));
    void *heat_workspace = memory(plate_heat_workspace_size(rows, columns));
    int code;
    for (int64_t k = 0; k < columns; k++)
        now[k] = 100.0; /* one border is hot */
    for (int n = 0; n < 500; n++) {
        code = plate_step(rows, columns, now, &rate, next, step_workspace);
        check(code, plate_step_error(code));
        double *const last = now;
        now = next, next = last;
    }
    code = plate_heat(rows, columns, now, &mean, heat_workspace);
    check(code, plate_heat_error(code));
    printf("%.9f\n", mean);
    free(now), free(next), free(step_workspace), free(heat_workspace);
    return 0;
}
