/* Devices that are threads of one process: their communicators, over shared memory.

   A device that takes part in an exchange posts where its arrays are, and waits for the others; then
   each reads what it needs from the memory of the others, and waits until all have, before an array
   is the caller's again. Arrivals are counted for each pair of devices: both make the same exchanges
   with each other in the same order, whatever others do, so that groups need no objects.

   Waiting is a spin, then a wait on a condition, from which it takes as long to wake up as a short
   exchange takes ten times. The spin is long while that pays: where the others have no processor of
   their own it is short for many waits, the more the more often a long one was in vain. A device that
   fails, ends, or makes another exchange than its partners fails all, with a message: nobody waits for
   ever. */

#define _GNU_SOURCE
#include "combine.h"
#include "communicator.h"
#include "devices.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 2, MESSAGE = 512, SHARED = 4096 };
enum { SPINS = 1000, LONG_SPINS = 100000, FEWEST_SHORT = 16, MOST_SHORT = 4096 };

/* What a device shows to the others during an exchange. */
typedef struct {
    const char *name, *program;
    int64_t by, kind, width, count, size;
    const char *x;
    char *out;
} post;

typedef struct set set;

typedef struct {
    transpile_communicator base; /* first: a pointer to it is one to the device */
    set *set;
    post post;
    const char **parts; /* where the values of the members of a reduction are */
    _Atomic bool has_ended;
    int64_t short_waits, in_vain; /* waits to come with a short spin; how many a vain one makes short */
} device;

struct set {
    int64_t count;
    device *devices;
    const char **parts;        /* a row for each device */
    _Atomic int64_t *arrivals; /* [d * count + p]: exchanges of d with p that d has come to */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic int64_t sleepers;
    _Atomic bool has_failed;
    char message[MESSAGE];
};

static void wake(set *s)
{
    if (atomic_load(&s->sleepers)) {
        pthread_mutex_lock(&s->lock);
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
}

/* End all exchanges; the first message stays. */
static void fail(set *s, const char *format, ...)
{
    pthread_mutex_lock(&s->lock);
    if (!atomic_load(&s->has_failed)) {
        va_list values;
        va_start(values, format);
        vsnprintf(s->message, sizeof s->message, format, values);
        va_end(values);
        atomic_store(&s->has_failed, true);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool has_come(set *s, int64_t p, int64_t d, int64_t number)
{
    return atomic_load(&s->arrivals[p * s->count + d]) >= number;
}

/* Wait until p has come to its exchange with d of a number; false where it never will. */
static bool wait_for(device *d, int64_t p, int64_t number)
{
    set *s = d->set;
    const bool is_long = d->short_waits == 0;
    for (int k = 0; k < (is_long ? LONG_SPINS : SPINS); k++) {
        if (has_come(s, p, d->base.rank, number)) {
            if (is_long && k > SPINS)
                d->in_vain = FEWEST_SHORT;
            d->short_waits -= !is_long;
            return true;
        }
        if (atomic_load_explicit(&s->has_failed, memory_order_relaxed))
            return false;
    }
    d->short_waits -= !is_long;
    if (is_long) {
        d->short_waits = d->in_vain;
        d->in_vain = 2 * d->in_vain < MOST_SHORT ? 2 * d->in_vain : MOST_SHORT;
    }
    pthread_mutex_lock(&s->lock);
    atomic_fetch_add(&s->sleepers, 1);
    bool is_there, will_not = false;
    while (!(is_there = has_come(s, p, d->base.rank, number)) && !atomic_load(&s->has_failed)
           && !(will_not = atomic_load(&s->devices[p].has_ended)))
        pthread_cond_wait(&s->changed, &s->lock);
    atomic_fetch_sub(&s->sleepers, 1);
    pthread_mutex_unlock(&s->lock);
    if (is_there || !will_not)
        return is_there;
    if (has_come(s, p, d->base.rank, number)) /* it came, then ended */
        return true;
    fail(s, "device %lld has ended, and device %lld waits for it in %s", (long long)p,
         (long long)d->base.rank, d->post.name);
    return false;
}

/* Meet the members: what each has written before, the others may read afterwards. */
static bool meet(device *d, const int64_t *members, int64_t size)
{
    set *s = d->set;
    int64_t rank = d->base.rank;
    for (int64_t k = 0; k < size; k++)
        if (members[k] != rank && members[k] >= 0)
            atomic_fetch_add_explicit(&s->arrivals[rank * s->count + members[k]], 1,
                                      memory_order_seq_cst);
    wake(s);
    for (int64_t k = 0; k < size; k++) {
        int64_t p = members[k];
        if (p == rank || p < 0)
            continue;
        if (!wait_for(d, p, atomic_load_explicit(&s->arrivals[rank * s->count + p],
                                                 memory_order_relaxed)))
            return false;
    }
    return !atomic_load_explicit(&s->has_failed, memory_order_relaxed);
}

/* Show what this device exchanges, meet the others, and compare. */
static bool begin(device *d, post own, const int64_t *members, int64_t size)
{
    own.program = d->post.program;
    d->post = own;
    if (!meet(d, members, size))
        return false;
    for (int64_t k = 0; k < size; k++) {
        if (members[k] < 0)
            continue;
        const post *other = &d->set->devices[members[k]].post;
        if (strcmp(other->program, own.program) != 0) {
            fail(d->set, "devices differ: device %lld runs %s, device %lld %s",
                 (long long)d->base.rank, own.program, (long long)members[k], other->program);
            return false;
        }
        if (strcmp(other->name, own.name) != 0 || other->by != own.by || other->kind != own.kind
            || other->width != own.width || other->count != own.count || other->size != own.size) {
            fail(d->set,
                 "devices differ: device %lld is in %s of %lld bytes, device %lld in %s of %lld",
                 (long long)d->base.rank, own.name, (long long)(own.count * own.width),
                 (long long)members[k], other->name, (long long)(other->count * other->width));
            return false;
        }
    }
    return true;
}

static const post *posted(device *d, int64_t rank)
{
    return &d->set->devices[rank].post;
}

/* -- reductions -------------------------------------------------------------------------------- */

/* A part of the values of all members, combined in their order: the same bits on each device. */
static bool combined(device *d, const post *own, int64_t from, int64_t count, char *out,
                     const int64_t *members)
{
    for (int64_t k = 0; k < own->size; k++)
        d->parts[k] = posted(d, members[k])->x + from * own->width;
    if (combine_all((char)own->by, (char)own->kind, own->width, count, own->size, d->parts, out))
        return true;
    fail(d->set, "%s of elements of kind '%c' and %lld bytes is not known", own->name,
         (int)own->kind, (long long)own->width);
    return false;
}

static int64_t place_of(const device *d, const int64_t *members, int64_t size)
{
    for (int64_t k = 0; k < size; k++)
        if (members[k] == d->base.rank)
            return k;
    return 0;
}

/* Of a long array each device combines a part, for all: what has been combined is in the cache when it
   is written to the results of the others. */
static int reduce(const transpile_communicator *self, char by, char kind, int64_t width,
                  int64_t count, const void *x, void *out, const int64_t *members, int64_t size)
{
    enum { BLOCK = 2048 };
    device *d = (device *)self;
    post own = {"a reduction", NULL, by, kind, width, count, size, x, out};
    if (!begin(d, own, members, size))
        return FAILED;
    if (count < SHARED) {
        if (!combined(d, &own, 0, count, out, members))
            return FAILED;
        return meet(d, members, size) ? 0 : FAILED;
    }
    int64_t place = place_of(d, members, size), end = count * (place + 1) / size;
    for (int64_t first = count * place / size; first < end; first += BLOCK) {
        int64_t n = end - first < BLOCK ? end - first : BLOCK;
        char *block = own.out + first * width;
        if (!combined(d, &own, first, n, block, members))
            return FAILED;
        for (int64_t k = 0; k < size; k++)
            if (k != place)
                memcpy(posted(d, members[k])->out + first * width, block, (size_t)(n * width));
    }
    return meet(d, members, size) ? 0 : FAILED;
}

static int scatter(const transpile_communicator *self, char by, char kind, int64_t width,
                   int64_t count, const void *x, void *out, const int64_t *members, int64_t size)
{
    device *d = (device *)self;
    post own = {"a scattered sum", NULL, by, kind, width, count, size, x, out};
    int64_t place = place_of(d, members, size);
    bool done = begin(d, own, members, size) && combined(d, &own, place * count, count, out, members)
                && meet(d, members, size);
    return done ? 0 : FAILED;
}

/* -- moves ------------------------------------------------------------------------------------- */

static int gather(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                  const int64_t *members, int64_t size)
{
    device *d = (device *)self;
    post own = {"a gather", NULL, 0, 0, 1, bytes, size, x, out};
    if (!begin(d, own, members, size))
        return FAILED;
    for (int64_t k = 0; k < size; k++)
        memcpy(own.out + k * bytes, posted(d, members[k])->x, (size_t)bytes);
    return meet(d, members, size) ? 0 : FAILED;
}

static int exchange(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                    const int64_t *members, int64_t size)
{
    device *d = (device *)self;
    post own = {"an exchange of all", NULL, 0, 0, 1, bytes, size, x, out};
    if (!begin(d, own, members, size))
        return FAILED;
    int64_t place = place_of(d, members, size);
    for (int64_t k = 0; k < size; k++)
        memcpy(own.out + k * bytes, posted(d, members[k])->x + place * bytes, (size_t)bytes);
    return meet(d, members, size) ? 0 : FAILED;
}

static int broadcast(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                     const int64_t *members, int64_t size)
{
    device *d = (device *)self;
    post own = {"a broadcast", NULL, 0, 0, 1, bytes, size, x, out};
    if (!begin(d, own, members, size))
        return FAILED;
    memcpy(out, posted(d, members[0])->x, (size_t)bytes);
    return meet(d, members, size) ? 0 : FAILED;
}

static int permute(const transpile_communicator *self, int64_t bytes, const void *x, void *out,
                   int64_t target, int64_t source)
{
    device *d = (device *)self;
    post own = {"a permutation", NULL, 0, 0, 1, bytes, 0, x, out};
    const int64_t partners[] = {target, source == target ? -1 : source};
    if (!begin(d, own, partners, 2))
        return FAILED;
    if (source < 0)
        memset(out, 0, (size_t)bytes);
    else
        memcpy(out, posted(d, source)->x, (size_t)bytes);
    return meet(d, partners, 2) ? 0 : FAILED;
}

static int begin_program(const transpile_communicator *self, const char *program, int64_t devices)
{
    ((device *)self)->post.program = program;
    if (devices == self->count)
        return 0;
    fail(((device *)self)->set, "%s is for %lld devices, and there are %lld", program,
         (long long)devices, (long long)self->count);
    return FAILED;
}

/* -- the set of devices ------------------------------------------------------------------------ */

void transpile_devices_free(void *devices)
{
    set *s = devices;
    if (s == NULL)
        return;
    free(s->devices);
    free((void *)s->parts);
    free((void *)s->arrivals);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* So many devices, which have exchanged nothing yet; NULL where there is no memory. */
void *transpile_devices_new(int64_t count)
{
    set *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->count = count;
    s->devices = calloc((size_t)count, sizeof *s->devices);
    s->arrivals = calloc((size_t)(count * count), sizeof *s->arrivals);
    s->parts = calloc((size_t)(count * count), sizeof *s->parts);
    if (s->devices == NULL || s->arrivals == NULL || s->parts == NULL) {
        transpile_devices_free(s);
        return NULL;
    }
    for (int64_t k = 0; k < count; k++) {
        s->devices[k].base = (transpile_communicator){
            k, count, begin_program, reduce, scatter, gather, exchange, broadcast, permute};
        s->devices[k].set = s;
        s->devices[k].parts = s->parts + k * count;
        s->devices[k].post.program = "";
        s->devices[k].in_vain = FEWEST_SHORT;
    }
    return s;
}

/* The communicator of a device. */
const void *transpile_devices_of(void *devices, int64_t rank)
{
    return &((set *)devices)->devices[rank].base;
}

/* A device makes no more exchanges. */
void transpile_devices_end(void *devices, int64_t rank)
{
    set *s = devices;
    atomic_store(&s->devices[rank].has_ended, true);
    wake(s);
}

/* Fail all devices, with a message. */
void transpile_devices_fail(void *devices, const char *message)
{
    fail(devices, "%s", message);
}

/* Why they have failed; "" if they have not. */
const char *transpile_devices_message(void *devices)
{
    return ((set *)devices)->message;
}
