/* Devices that are processes of an MPI program: their communicators.

   An exchange begins with a message from each member to each other one: what it is about to do, and
   its values, if they are few. So members that differ know it of each other, whatever groups they
   believe to be in, and short exchanges take one message. Long arrays follow, once all have said the
   same: by MPI's collectives, on a communicator of the members that is made once; by messages where
   a process has several devices. Sums are formed here, of parts in the order of the members: the
   bits are those of devices that are threads (devices.c).

   Nobody waits for ever in the first phase: it listens for notices of processes that have failed or
   ended. After a failure the processes exchange nothing more, and the end of one of them ends all. */

#define _GNU_SOURCE
#include "combine.h"
#include "communicator.h"
#include "mpi_devices.h"

#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mpi_messages.h"
#include "mpi_moves.h"

/* -- exchanges --------------------------------------------------------------------------------- */

static int64_t place_of(const device *d, const int64_t *members, int64_t size)
{
    for (int64_t k = 0; k < size; k++)
        if (members[k] == d->base.rank)
            return k;
    return 0;
}

static int ended_with(device *d, bool is_good)
{
    if (!is_good)
        tell(d->set->world);
    return is_good ? 0 : FAILED;
}

static bool combined(device *d, const char *name, char by, char kind, int64_t width, int64_t count,
                     int64_t size, char *out)
{
    if (combine_all(by, kind, width, count, size, d->parts, out))
        return true;
    fail(d->set->world, "%s of elements of kind '%c' and %lld bytes is not known", name, kind,
         (long long)width);
    return false;
}

/* Of a long array each device combines a part, of which the others get the result. */
static int reduce(const transpile_communicator *self, char by, char kind, int64_t width,
                  int64_t count, const void *x, void *out, const int64_t *members, int64_t size)
{
    const char *name = "a reduction";
    device *d = (device *)self;
    bool is_small = count * width <= SMALL;
    header own = {.by = by, .kind = kind, .width = width, .count = count, .size = size};
    payload sent = {.bytes = is_small ? count * width : 0};
    if (!meet(d, name, own, x, sent, members, size))
        return FAILED;
    if (is_small)
        return ended_with(d, combined(d, name, by, kind, width, count, size, out));
    for (int64_t k = 0; k <= size; k++)
        d->from[k] = count * k / size * width;
    int64_t place = place_of(d, members, size), length = d->from[place + 1] - d->from[place];
    char *part = (char *)out + d->from[place];
    return ended_with(d, spread(d, x, members, size, place, length)
                          && combined(d, name, by, kind, width, length / width, size, part)
                          && collect(d, out, members, size, place));
}

static int scatter(const transpile_communicator *self, char by, char kind, int64_t width,
                   int64_t count, const void *x, void *out, const int64_t *members, int64_t size)
{
    const char *name = "a scattered sum";
    device *d = (device *)self;
    int64_t bytes = count * width;
    bool is_small = bytes <= SMALL;
    header own = {.by = by, .kind = kind, .width = width, .count = count, .size = size};
    if (!meet(d, name, own, x, (payload){is_small ? bytes : 0, bytes, false}, members, size))
        return FAILED;
    for (int64_t k = 0; k <= size; k++)
        d->from[k] = k * bytes;
    return ended_with(d, (is_small
                          || spread(d, x, members, size, place_of(d, members, size), bytes))
                          && combined(d, name, by, kind, width, count, size, out));
}

/* The values of the members, or the blocks that they have for this device, one after the other. */
static int side_by_side(device *d, const char *name, int64_t bytes, int64_t stride, const char *x,
                        char *out, const int64_t *members, int64_t size)
{
    bool is_small = bytes <= SMALL;
    header own = {.width = 1, .count = bytes, .size = size};
    if (!meet(d, name, own, x, (payload){is_small ? bytes : 0, stride, false}, members, size))
        return FAILED;
    int64_t place = place_of(d, members, size);
    for (int64_t k = 0; k < size; k++)
        if (is_small || k == place)
            memcpy(out + k * bytes, d->parts[k], (size_t)bytes);
    for (int64_t k = 0; k <= size; k++)
        d->from[k] = k * bytes;
    return ended_with(d, is_small
                          || (stride ? swap_blocks(d, x, out, bytes, members, size)
                                     : collect(d, out, members, size, place)));
}

static int gather(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                  const int64_t *members, int64_t size)
{
    return side_by_side((device *)self, "a gather", bytes, 0, x, out, members, size);
}

static int exchange(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                    const int64_t *members, int64_t size)
{
    return side_by_side((device *)self, "an exchange of all", bytes, bytes, x, out, members, size);
}

static int broadcast(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                     const int64_t *members, int64_t size)
{
    device *d = (device *)self;
    bool is_small = bytes <= SMALL;
    header own = {.width = 1, .count = bytes, .size = size};
    if (!meet(d, "a broadcast", own, x, (payload){is_small ? bytes : 0, 0, true}, members, size))
        return FAILED;
    if (is_small || members[0] == d->base.rank)
        memcpy(out, d->parts[0], (size_t)bytes);
    return ended_with(d, is_small || from_first(d, out, bytes, members, size));
}

static int permute(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                   int64_t target, int64_t source)
{
    device *d = (device *)self;
    bool is_small = bytes <= SMALL;
    const int64_t partners[] = {target, source == target ? -1 : source};
    header own = {.width = 1, .count = bytes};
    if (!meet(d, "a permutation", own, x, (payload){is_small ? bytes : 0, 0, false}, partners, 2))
        return FAILED;
    if (source < 0)
        memset(out, 0, (size_t)bytes);
    else if (is_small || source == d->base.rank)
        memcpy(out, source == d->base.rank ? x : d->parts[source == target ? 0 : 1], (size_t)bytes);
    return ended_with(d, is_small || pass_on(d, x, out, bytes, target, source));
}

static int begin_program(const transpile_communicator *self, const char *program, int64_t devices)
{
    device *d = (device *)self;
    if (devices != self->count)
        return fail(d->set->world, "%s is for %lld devices, and there are %lld", program,
                    (long long)devices, (long long)self->count);
    snprintf(d->program, sizeof d->program, "%s", program);
    d->runs++;
    return 0;
}

/* -- the processes, and their devices ---------------------------------------------------------- */

static void release(world *w)
{
    free(w->runs);
    free((void *)w->has_ended);
    free(w->reasons);
    free(w->memories);
    free(w);
}

void *transpile_mpi_open(int communicator, int64_t threads)
{
    world *w = calloc(1, sizeof *w);
    MPI_Comm comm = MPI_Comm_f2c(communicator);
    if (w == NULL || MPI_Comm_dup(comm, &w->comm) != MPI_SUCCESS
        || MPI_Comm_dup(comm, &w->bulk) != MPI_SUCCESS) {
        free(w);
        return NULL;
    }
    MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(w->bulk, MPI_ERRORS_RETURN);
    MPI_Comm_rank(w->comm, &w->rank);
    MPI_Comm_size(w->comm, &w->size);
    pthread_mutex_init(&w->lock, NULL);
    w->runs = calloc((size_t)w->size, sizeof *w->runs);
    w->has_ended = calloc((size_t)w->size, sizeof *w->has_ended);
    w->reasons = calloc((size_t)w->size, sizeof *w->reasons);
    w->threads = threads;
    w->memories = calloc((size_t)threads, sizeof *w->memories);
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (w->runs == NULL || w->has_ended == NULL || w->reasons == NULL
        || w->memories == NULL) {
        release(w);
        return NULL;
    }
    if (threads > SLOTS)
        fail(w, "a process has at most %d devices, not %lld", SLOTS, (long long)threads);
    else if (threads > 1 && provided < MPI_THREAD_MULTIPLE)
        fail(w, "MPI was initialised without MPI_THREAD_MULTIPLE: a process can have one device");
    return w;
}

int transpile_mpi_is_initialized(void)
{
    int is_initialised = 0;
    MPI_Initialized(&is_initialised);
    return is_initialised;
}

void transpile_mpi_devices_free(void *devices)
{
    set *s = devices;
    if (s == NULL)
        return;
    for (int64_t k = 0; s->devices != NULL && k < s->count; k++) {
        device *d = &s->devices[k];
        free((void *)d->parts);
        free(d->from);
        free(d->numbers);
    }
    free(s->devices);
    free(s->runs);
    free(s);
}

/* What a device of this process needs for its exchanges; false where there is no memory. */
static bool furnish(device *d)
{
    size_t count = (size_t)d->set->count;
    d->memory = &d->set->world->memories[d->slot];
    d->parts = calloc(count, sizeof *d->parts);
    d->from = calloc(count + 1, sizeof *d->from);
    d->numbers = calloc(4 * count, sizeof *d->numbers);
    return d->parts != NULL && d->from != NULL && d->numbers != NULL;
}

void *transpile_mpi_devices_new(void *world_, int64_t count, const int64_t *processes)
{
    world *w = world_;
    set *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->world = w;
    s->count = processes == NULL ? w->size : count;
    s->devices = calloc((size_t)s->count, sizeof *s->devices);
    s->runs = calloc((size_t)w->size, sizeof *s->runs);
    int64_t *slots = calloc((size_t)w->size, sizeof *slots);
    bool is_good = s->devices != NULL && s->runs != NULL && slots != NULL;
    s->is_one_each = true;
    for (int64_t k = 0; is_good && k < s->count; k++) {
        device *d = &s->devices[k];
        d->process = processes == NULL ? k : processes[k];
        d->slot = slots[d->process]++;
        d->set = s;
        d->base = (transpile_communicator){
            k, s->count, begin_program, reduce, scatter, gather, exchange, broadcast, permute};
        s->is_one_each = s->is_one_each && d->slot == 0;
        if (d->slot == 0)
            s->runs[d->process] = w->runs[d->process]++;
        is_good = d->process != w->rank || (d->slot < w->threads && furnish(d));
    }
    free(slots);
    if (is_good)
        return s;
    transpile_mpi_devices_free(s);
    return NULL;
}

const void *transpile_mpi_devices_of(void *devices, int64_t rank)
{
    return &((set *)devices)->devices[rank].base;
}

void transpile_mpi_devices_end(void *devices, int64_t rank)
{
    set *s = devices;
    atomic_store(&s->devices[rank].has_ended, true);
    tell(s->world);
}

int transpile_mpi_gather(void *devices, int64_t rank, const char *what, int64_t bytes, const void *x,
                         void *out)
{
    set *s = devices;
    device *d = &s->devices[rank];
    int64_t *members = malloc((size_t)s->count * sizeof *members);
    if (members == NULL)
        return fail(s->world, "there is no memory for a gather");
    for (int64_t k = 0; k < s->count; k++)
        members[k] = k;
    begin_program(&d->base, what, s->count);
    int code = gather(&d->base, bytes, x, out, members, s->count);
    free(members);
    return code;
}

void transpile_mpi_fail(void *world_, const char *message)
{
    fail(world_, "%s", message);
}

const char *transpile_mpi_message(void *world_)
{
    return ((world *)world_)->message;
}

/* True when all other processes have said that they end. */
static bool all_have_ended(const world *w)
{
    for (int p = 0; p < w->size; p++)
        if (p != w->rank && !atomic_load(&w->has_ended[p]))
            return false;
    return true;
}

void transpile_mpi_close(void *world_, const char *reason, double seconds)
{
    world *w = world_;
    listen(w);
    tell(w);
    bool has_failed = atomic_load(&w->has_failed);
    snprintf(w->ended.message, sizeof w->ended.message, "%s", reason);
    send_notices(w, &w->ended);
    if (!has_failed)
        return;
    double end = MPI_Wtime() + seconds;
    while (!all_have_ended(w) && MPI_Wtime() < end) {
        listen(w);
        rest(5000);
    }
    MPI_Abort(w->comm, 1);
}
