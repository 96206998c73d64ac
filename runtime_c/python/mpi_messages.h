/* Devices of an MPI program: the processes, their failures, and the first messages of an exchange. */

enum {
    FAILED = 2,
    MESSAGE = 512,
    SMALL = 4096,   /* bytes that go with the first message */
    SLOTS = 100,    /* devices of a process: a tag has the numbers of two */
    NOTICE = 32000, /* a tag that no device has */
    LONGEST = 1 << 30,
};

/* What a member says to the others. */
typedef struct {
    char name[24], program[152];
    int64_t by, kind, width, count, size, run;
} header;

typedef struct {
    int64_t has_failed; /* otherwise it has ended */
    char message[MESSAGE];
} notice;

/* The members of an exchange that are on different processes, and MPI's communicator of them. */
typedef struct group {
    struct group *next;
    int size;
    int *processes;
    MPI_Comm comm;
} group;

/* Memory that grows: of first messages, and of parts of long arrays. */
typedef struct {
    char *inbox, *outbox, *scratch;
    size_t inbox_size, outbox_size, scratch_size;
} memory;

/* The processes. */
typedef struct {
    MPI_Comm comm, bulk; /* of notices and first messages; of long arrays */
    int rank, size;
    int64_t threads;
    int64_t *runs;          /* with each process */
    _Atomic bool *has_ended;
    char (*reasons)[MESSAGE];
    memory *memories;       /* for each device of this process, kept between runs */
    group *groups;
    pthread_mutex_t lock;
    _Atomic bool has_failed, has_told;
    char message[MESSAGE];
    notice failed, ended;   /* what has been sent */
} world;

typedef struct set set;

typedef struct {
    transpile_communicator base; /* first: a pointer to it is one to the device */
    set *set;
    int64_t process, slot, runs;
    char program[sizeof((header *)0)->program];
    const char **parts;
    int64_t *from; /* where parts of a long array begin, in bytes, and where the last one ends */
    int *numbers;  /* the same for MPI */
    memory *memory;
    _Atomic bool has_ended;
} device;

struct set {
    world *world;
    int64_t count;
    device *devices;
    int64_t *runs;     /* with each process, before these */
    bool is_one_each;  /* no process has two of the devices */
};

/* -- failure ----------------------------------------------------------------------------------- */

/* End all exchanges; the first message stays. The next who listens tells the other processes. */
static int fail(world *w, const char *format, ...)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->has_failed)) {
        va_list values;
        va_start(values, format);
        vsnprintf(w->message, sizeof w->message, format, values);
        va_end(values);
        atomic_store(&w->has_failed, true);
    }
    pthread_mutex_unlock(&w->lock);
    return FAILED;
}

/* MPI's own errors are failures, too. */
static bool is_fine(world *w, int code, const char *name)
{
    if (code == MPI_SUCCESS)
        return true;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    fail(w, "MPI failed in %s: %s", name, text);
    return false;
}

/* Send a notice to all other processes; nobody needs to receive it. */
static void send_notices(world *w, const notice *said)
{
    for (int p = 0; p < w->size; p++) {
        MPI_Request request;
        if (p != w->rank
            && MPI_Isend(said, sizeof *said, MPI_BYTE, p, NOTICE, w->comm, &request)
                   == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

/* Tell the others of a failure, once. */
static void tell(world *w)
{
    if (!atomic_load(&w->has_failed) || atomic_exchange(&w->has_told, true))
        return;
    w->failed.has_failed = 1;
    memcpy(w->failed.message, w->message, sizeof w->message);
    send_notices(w, &w->failed);
}

/* Take the notices that have come. */
static void listen(world *w)
{
    for (;;) {
        MPI_Message message;
        MPI_Status status;
        notice heard;
        int is_there = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, NOTICE, w->comm, &is_there, &message, &status) != MPI_SUCCESS
            || !is_there)
            return;
        MPI_Mrecv(&heard, sizeof heard, MPI_BYTE, &message, &status);
        heard.message[MESSAGE - 1] = 0;
        if (heard.has_failed) {
            atomic_store(&w->has_told, true); /* all have been told by the one that failed */
            fail(w, "%s", heard.message);
        } else {
            memcpy(w->reasons[status.MPI_SOURCE], heard.message, MESSAGE);
            atomic_store(&w->has_ended[status.MPI_SOURCE], true);
        }
    }
}

/* -- messages ---------------------------------------------------------------------------------- */

/* Wait a little, the longer the more often that was done before: there may be fewer processors than
   devices. */
static void rest(int64_t turn)
{
    if (turn > 4000)
        nanosleep(&(struct timespec){0, 50000}, NULL);
    else if (turn > 400)
        sched_yield();
}

/* A member of an exchange that has ended, or -1. */
static int64_t ended_member(device *d, const int64_t *members, int64_t size)
{
    for (int64_t k = 0; k < size; k++) {
        const device *other = members[k] < 0 ? NULL : &d->set->devices[members[k]];
        if (other != NULL && other != d
            && (atomic_load(&d->set->world->has_ended[other->process])
                || (other->process == d->process && atomic_load(&other->has_ended))))
            return members[k];
    }
    return -1;
}

/* Wait for first messages; false where they never come. What an ended device has sent has come. */
static bool arrive(device *d, const char *name, int count, MPI_Request *requests,
                   const int64_t *members, int64_t size)
{
    world *w = d->set->world;
    int64_t ended = -1;
    for (int64_t turn = 0;; turn++) {
        int is_done = 0;
        if (!is_fine(w, MPI_Testall(count, requests, &is_done, MPI_STATUSES_IGNORE), name))
            return false;
        if (is_done)
            return true;
        if (ended >= 0) {
            const char *reason = w->reasons[d->set->devices[ended].process];
            fail(w, "device %lld has ended%s%s, and device %lld waits for it in %s",
                 (long long)ended, *reason ? ", with " : "", reason, (long long)d->base.rank, name);
        }
        if (turn % 16 == 0)
            listen(w);
        if (atomic_load(&w->has_failed))
            return false;
        if (turn % 16 == 0)
            ended = ended_member(d, members, size);
        rest(turn);
    }
}

/* Memory for so many bytes, which grows; what was in it is lost. NULL where there is none. */
static char *room(char **bytes, size_t *size, size_t wanted)
{
    if (*size < wanted) {
        free(*bytes);
        *bytes = malloc(wanted);
        *size = *bytes == NULL ? 0 : wanted;
    }
    return *bytes;
}

static int tag_of(const device *from, const device *to)
{
    return (int)(from->slot * SLOTS + to->slot);
}

static bool is_same(const header *own, const header *other)
{
    return strcmp(own->name, other->name) == 0 && own->by == other->by && own->kind == other->kind
           && own->width == other->width && own->count == other->count && own->size == other->size;
}

/* Compare what a member has said with what this device does. */
static bool agrees(device *d, const header *own, const header *other, int64_t member)
{
    world *w = d->set->world;
    long long rank = d->base.rank, their = member;
    if (strcmp(own->program, other->program) != 0)
        fail(w, "devices differ: device %lld runs %s, device %lld %s", rank, own->program, their,
             other->program);
    else if (own->run != other->run)
        fail(w, "devices differ: device %lld is in call %lld of programs, in %s, device %lld in call "
                "%lld, in %s", rank, (long long)own->run, own->name, their, (long long)other->run,
             other->name);
    else if (!is_same(own, other))
        fail(w, "devices differ: device %lld is in %s of %lld bytes, device %lld in %s of %lld", rank,
             own->name, (long long)(own->count * own->width), their, other->name,
             (long long)(other->count * other->width));
    else
        return true;
    return false;
}

/* How long the first messages of an exchange are behind their headers, in bytes; member k is sent
   those at x + k * stride. */
typedef struct {
    int64_t bytes, stride;
    bool only_first; /* members[0] alone sends any */
} payload;

/* Say to the members what this device is about to do, and hear it of them. `parts` are where their
   values are then, those of this device in x. */
static bool meet(device *d, const char *name, header own, const char *x, payload sent,
                 const int64_t *members, int64_t size)
{
    world *w = d->set->world;
    size_t unit = sizeof own + SMALL; /* who differs may send more than is expected */
    char *in = room(&d->memory->inbox, &d->memory->inbox_size, (size_t)size * unit);
    char *out = room(&d->memory->outbox, &d->memory->outbox_size, (size_t)size * unit);
    MPI_Request *requests = malloc((size_t)(2 * size) * sizeof *requests);
    if (in == NULL || out == NULL || requests == NULL) {
        free(requests);
        return fail(w, "there is no memory for %s", name), false;
    }
    int count = 0;
    bool is_good = true, sends = !sent.only_first || members[0] == d->base.rank;
    memcpy(own.program, d->program, sizeof own.program);
    snprintf(own.name, sizeof own.name, "%s", name);
    for (int64_t k = 0; k < size; k++) {
        if (members[k] < 0)
            continue;
        const device *other = &d->set->devices[members[k]];
        d->parts[k] = other == d ? x + k * sent.stride : in + (size_t)k * unit + sizeof own;
        if (other == d)
            continue;
        char *message = out + (size_t)k * unit;
        int64_t bytes = sends ? sent.bytes : 0;
        own.run = d->set->runs[other->process] + d->runs;
        memcpy(message, &own, sizeof own);
        memcpy(message + sizeof own, x + k * sent.stride, (size_t)bytes);
        is_good = is_good
            && is_fine(w, MPI_Irecv(in + (size_t)k * unit, (int)unit, MPI_BYTE, (int)other->process,
                                    tag_of(other, d), w->comm, &requests[count++]), name)
            && is_fine(w, MPI_Isend(message, (int)(sizeof own + (size_t)bytes), MPI_BYTE,
                                    (int)other->process, tag_of(d, other), w->comm,
                                    &requests[count++]), name);
    }
    is_good = is_good && arrive(d, name, count, requests, members, size);
    for (int64_t k = 0; is_good && k < size; k++)
        if (members[k] >= 0 && members[k] != d->base.rank) {
            const header *other = (const header *)(in + (size_t)k * unit);
            own.run = d->set->runs[d->set->devices[members[k]].process] + d->runs;
            is_good = agrees(d, &own, other, members[k]);
        }
    free(requests);
    if (!is_good) { /* messages may still come into it, for as long as the process lives */
        *d->memory = (memory){.scratch = d->memory->scratch, .scratch_size = d->memory->scratch_size};
        tell(w);
    }
    return is_good;
}
