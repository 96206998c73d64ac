/* What docs/c_contract.md promises, of the library that tests/artifact/test_contract.py builds: C11 and
   C++17. It prints the names of what does not hold, and ends with their number. */
#define TRANSPILE_NEW_WORKSPACE
#include "kit.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 64
#define BIG 400000
#define EXPECT(fact) ((fact) ? (void)0 : (void)(printf("line %d: %s\n", __LINE__, #fact), failed++))

static int failed;
static double x[2 * N], y[N], out[2 * N], slope[2 * N];

static double *doubles(size_t count, double value)
{
    double *found = (double *)malloc(count * sizeof(double));
    for (size_t k = 0; found != NULL && k < count; k++)
        found[k] = value;
    return found;
}

/* A library and a header go together. */
static void versions(void)
{
    EXPECT(kit_step_abi_version() == kit_step_ABI_VERSION);
    EXPECT(kit_step_ABI_VERSION != kit_update_ABI_VERSION);
}

/* Each of so many list entries has a name; the next has none. */
static void descriptions(void)
{
    const transpile_array *a = kit_step_arguments(), *r = kit_step_results();
    const transpile_size *s = kit_step_sizes();
    EXPECT(strcmp(a[0].name, "x") == 0 && strcmp(a[0].dtype, "float64") == 0);
    EXPECT(a[0].itemsize == sizeof(double) && a[0].rank == 1);
    EXPECT(strcmp(a[0].shape[0], "2*n") == 0);
    EXPECT(strcmp(a[1].name, "y") == 0 && strcmp(a[1].shape[0], "n") == 0 && a[2].name == NULL);
    EXPECT(strcmp(r[0].dtype, "float64") == 0 && r[0].rank == 0 && r[0].shape == NULL);
    EXPECT(r[1].rank == 1 && r[2].name == NULL);
    EXPECT(strcmp(s[0].name, "n") == 0 && s[0].least == 4 && s[0].multiple_of == 4);
    EXPECT(s[0].most == 400000 && s[1].name == NULL);
    EXPECT(strcmp(kit_spectrum_arguments()[0].dtype, "complex64") == 0);
    EXPECT(kit_spectrum_sizes()[0].name == NULL);
    EXPECT(kit_update_sizes()[0].most == INT64_MAX);
}

/* A process that writes to what is read-only is killed. */
static void read_only(const void *place)
{
    const pid_t child = fork();
    if (child == 0) {
        volatile char *target = (volatile char *)(size_t)place;
        *target = *target;
        _exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void constants(void)
{
    read_only(kit_step_arguments());
    read_only(kit_step_arguments()[0].shape);
    read_only(kit_step_results()[0].dtype);
    read_only(kit_step_sizes());
    read_only(kit_step_error(1));
}

/* Sizes that are refused have a code and a text, and nothing is written. */
static void errors(void)
{
    const int64_t wrong[] = {0, -4, 3, 6, 400004, INT64_MAX, INT64_MIN};
    double loss = 7.0;
    slope[0] = 7.0;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        EXPECT(kit_step_workspace_size(wrong[k]) == 0);
        const int code = kit_step(wrong[k], x, y, &loss, slope, NULL);
        EXPECT(code < 0 && strcmp(kit_step_error(code), "n is not a multiple of 4 from 4 to 400000") == 0);
    }
    EXPECT(kit_step(N, x, y, &loss, slope, NULL) == 1);
    EXPECT(strcmp(kit_step_error(1), "the workspace is NULL") == 0);
    EXPECT(strcmp(kit_step_error(0), "success") == 0);
    EXPECT(strcmp(kit_step_error(99), "unknown error code") == 0);
    EXPECT(loss == 7.0 && slope[0] == 7.0);
}

/* The workspace has as many bytes as the function says, begins anyhow, and keeps nothing. */
static void workspaces(void)
{
    double loss[2];
    const size_t bytes = kit_step_workspace_size(N);
    char *memory = (char *)malloc(bytes + 64), *given = (char *)kit_step_new_workspace(N);
    EXPECT(bytes > 0 && bytes < kit_step_workspace_size(2 * N));
    EXPECT(memory != NULL && given != NULL && (size_t)given % 64 == 0);
    memset(memory, 0x55, bytes + 64);
    EXPECT(kit_step(N, x, y, loss, slope, memory + 16) == 0);
    for (size_t k = 0; k < 64; k++)
        EXPECT(memory[k < 16 ? k : bytes + k] == 0x55);
    EXPECT(kit_step(N, x, y, loss + 1, out, given) == 0);
    EXPECT(loss[0] == loss[1] && memcmp(out, slope, sizeof slope) == 0);
    static char enough[kit_spectrum_WORKSPACE_BYTES + 1]; /* C has no arrays of no elements */
    EXPECT(kit_spectrum_workspace_size() == sizeof enough - 1);
    EXPECT(kit_step_WORKSPACE_BYTES >= kit_step_workspace_size(400000));
    const int64_t places[2] = {3, 4999};
    EXPECT(kit_look_up_workspace_size(2) == 0 && kit_look_up(2, places, loss, NULL) == 0);
    EXPECT(loss[0] == 3.25 && loss[1] == 4999.25);
    free(memory), free(given);
}

/* An argument that the function assigns to and its new value may be one array; inputs may overlap. */
static void aliases(void)
{
    double u[5] = {1, 2, 3, 4, 5}, separate[5];
    const bool mask[5] = {true, false, true, false, true};
    bool flipped[5];
    char work[256];
    EXPECT(kit_update_workspace_size(5) <= sizeof work);
    EXPECT(kit_update(5, u, mask, flipped, separate, work) == 0 && u[4] == 5.0);
    EXPECT(kit_update(5, u, mask, flipped, u, work) == 0);
    EXPECT(memcmp(u, separate, sizeof u) == 0 && u[4] == 8.0 && !flipped[0] && flipped[1]);
    double w[3] = {1, -2, 3}, b = 0.5, v[3] = {3, 1, 2}, apart[3], shift, size[2];
    EXPECT(kit_descend_workspace_size(1) <= sizeof work);
    EXPECT(kit_descend(1, w, &b, v, size, apart, &shift, work) == 0 && w[0] == 1.0 && b == 0.5);
    EXPECT(kit_descend(1, w, &b, v, size + 1, w, &b, work) == 0 && size[0] == size[1]);
    EXPECT(memcmp(w, apart, sizeof w) == 0 && b == shift && size[0] == 56.25 && b == -0.25);
    double loss, together[2 * N];
    char *memory = (char *)kit_step_new_workspace(N);
    memcpy(y, x, sizeof y);
    EXPECT(kit_step(N, x, y, &loss, slope, memory) == 0);
    EXPECT(kit_step(N, x, x, together, out, memory) == 0 && together[0] == loss);
    free(memory);
}

#ifdef __cplusplus
typedef std::complex<float> number;
static float real(number z) { return z.real(); }
#else
typedef float complex number;
static float real(number z) { return crealf(z); }
#endif

static void complex_numbers(void)
{
    number z[8], found[8];
    for (int k = 0; k < 8; k++)
        z[k] = (number)(float)k;
    void *memory = malloc(kit_spectrum_workspace_size() + 1);
    EXPECT(kit_spectrum(z, found, memory) == 0);
    free(memory);
    EXPECT(real(found[0]) == 28.0F && real(found[4]) == -4.0F);
}

static int calls;
static int refuse(void *context, int place, const void *const *values, void *const *results)
{
    (void)place, (void)values, (void)results;
    return *(int *)context;
}
static int twice(void *context, int place, const void *const *values, void *const *results)
{
    calls += place == 0 ? *(int *)context : 100;
    for (int k = 0; k < 3; k++)
        ((double *)results[0])[k] = 2.0 * ((const double *)values[0])[k];
    return 0;
}

static void callbacks(void)
{
    int context = 5;
    double found[3];
    void *memory = malloc(kit_ask_workspace_size() + 1);
    EXPECT(kit_ask(x, found, memory) == 2 && strstr(kit_ask_error(2), "kit_ask_with_callback"));
    EXPECT(kit_ask_with_callback(x, found, memory, twice, &context) == 0 && calls == 5);
    EXPECT(found[1] == 2.0 * x[1] + 1.0);
    EXPECT(kit_ask_with_callback(x, found, memory, refuse, &context) == 5);
    EXPECT(kit_ask(x, found, memory) == 2);
    free(memory);
    double spread[6] = {0};
    const int64_t second[1] = {2}, back[1] = {-1};
    memory = malloc(kit_ask_strided_workspace_size());
    EXPECT(kit_ask_strided(x + 2, back, spread, second, memory) == 2);
    EXPECT(kit_ask_strided_with_callback(x + 2, back, spread, second, memory, twice, &context) == 0);
    EXPECT(spread[0] == 2.0 * x[2] + 1.0 && spread[4] == 1.0 && spread[1] == 0.0);
    EXPECT(kit_ask_strided_with_callback(x, NULL, spread, NULL, memory, refuse, &context) == 5);
    free(memory);
}

/* Calls at the same time need a workspace and results of their own, and nothing else. */
static void *one_of_many(void *place)
{
    double loss = 0.0, *mine = doubles(2 * N, 0.0);
    void *memory = kit_step_new_workspace(N);
    for (int k = 0; k < 300; k++)
        if (kit_step(N, x, y, &loss, mine, memory) != 0)
            loss = -1.0;
    *(double *)place = loss + mine[3];
    free(memory), free(mine);
    return NULL;
}

static void at_once(void)
{
    pthread_t threads[4];
    double found[4];
    for (int k = 0; k < 4; k++)
        EXPECT(pthread_create(&threads[k], NULL, one_of_many, &found[k]) == 0);
    for (int k = 0; k < 4; k++)
        EXPECT(pthread_join(threads[k], NULL) == 0 && found[k] == found[0] && found[0] > 0.0);
}

/* The threads of this process. */
static int thread_count(void)
{
    char line[200];
    int found = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "Threads:", 8) == 0)
            found = atoi(line + 8);
    if (status != NULL)
        fclose(status);
    return found;
}

/* Each call may say on how many threads it runs; it is forgotten afterwards. */
static void on_threads(void)
{
    double *a = doubles(2 * BIG, 0.5), *b = doubles(BIG, 0.25), *c = doubles(2 * BIG, 0.0), loss[3];
    void *memory = kit_step_new_workspace(BIG);
    EXPECT(kit_step_on_threads(1, BIG, a, b, loss, c, memory) == 0 && thread_count() == 1);
    EXPECT(kit_step_on_threads(2, BIG, a, b, loss + 1, c, memory) == 0 && thread_count() == 2);
    EXPECT(kit_step_on_threads(0, BIG, a, b, loss + 2, c, memory) == 0 && thread_count() == 3);
    EXPECT(loss[0] == loss[1] && loss[0] == loss[2]);
    free(a), free(b), free(c), free(memory);
}

/* Arrays of any strides; memory between their elements, and behind the workspace, is left alone. */
static void strides(void)
{
    double u[12], found[12] = {0};
    bool mask[4] = {true, true, false, false}, flipped[4];
    const int64_t third[1] = {3}, back[1] = {-1};
    const size_t bytes = kit_update_strided_workspace_size(4);
    char *memory = (char *)malloc(bytes + 8);
    EXPECT(memory != NULL && bytes > kit_update_workspace_size(4));
    memset(memory, 0x55, bytes + 8);
    for (int k = 0; k < 12; k++)
        u[k] = k;
    EXPECT(kit_update_strided(4, u, third, mask + 3, back, flipped, NULL, found, third, memory) == 0);
    for (int k = 0; k < 12; k++)
        EXPECT(u[k] == k && found[k] == (k % 3 == 0 ? k + 2.0 : 0.0));
    for (size_t k = 0; k < 8; k++)
        EXPECT(memory[bytes + k] == 0x55);
    EXPECT(flipped[0] && flipped[1] && !flipped[2] && !flipped[3]);
    EXPECT(kit_update_strided(4, u, third, mask, NULL, flipped, NULL, u, third, memory) == 0);
    EXPECT(u[3] == 5.0 && u[4] == 4.0);
    EXPECT(kit_update_strided(0, u, third, mask, NULL, flipped, NULL, u, third, memory) < 0);
    EXPECT(kit_update_strided(4, u, third, mask, NULL, flipped, NULL, u, third, NULL) == 1);
    free(memory);
}

int main(void)
{
    for (int k = 0; k < 2 * N; k++)
        x[k] = 0.01 * k;
    on_threads(); /* first: with OMP_NUM_THREADS=3, no threads yet */
    versions();
    descriptions();
    constants();
    errors();
    workspaces();
    aliases();
    complex_numbers();
    callbacks();
    at_once();
    strides();
    return failed;
}
