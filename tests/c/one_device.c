/* Runs the program `step` on one device, whose communicator is this file's: then once more with one
   that fails. */
#include <stdio.h>
#include <string.h>
#include "step.h"

static int fails;

static int reduce(const transpile_communicator *self, char by, char kind, int64_t width,
                  int64_t count, const void *x, void *out, const int64_t *members, int64_t size)
{
    if (fails || by != '+' || kind != 'f' || size != 1 || members[0] != self->rank) {
        return 7;
    }
    memcpy(out, x, (size_t)(width * count));
    return 0;
}

static int begin(const transpile_communicator *self, const char *program, int64_t devices)
{
    puts(program);
    return devices != self->count;
}

int main(void)
{
    const transpile_communicator communicator = {.rank = 0, .count = 1, .begin = begin, .reduce = reduce};
    const double x[3] = {1, 2, 3};
    double out[3];
    _Alignas(64) char workspace[4096];
    if (sizeof workspace < step_workspace_size() || step(x, out, &communicator, workspace) != 0) {
        return 1;
    }
    printf("[%g, %g, %g]\n", out[0], out[1], out[2]);
    fails = 1;
    int code = step(x, out, &communicator, workspace);
    printf("%d\n%s\n", code, step_error(code));
    return 0;
}
