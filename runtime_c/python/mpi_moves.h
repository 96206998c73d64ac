/* Long arrays between devices of an MPI program, once their members have said what they do: by MPI's
   collectives where each process has one of the devices, otherwise by messages. */

/* MPI's communicator of the members in their order, made at the first exchange among them;
   MPI_COMM_NULL where that fails. */
static MPI_Comm comm_of(device *d, const int64_t *members, int64_t size)
{
    world *w = d->set->world;
    bool is_all = size == w->size;
    for (int64_t k = 0; k < size; k++)
        is_all = is_all && d->set->devices[members[k]].process == k;
    if (is_all)
        return w->bulk;
    for (group *g = w->groups; g != NULL; g = g->next) {
        bool is_it = g->size == size;
        for (int64_t k = 0; is_it && k < size; k++)
            is_it = g->processes[k] == d->set->devices[members[k]].process;
        if (is_it)
            return g->comm;
    }
    group *made = calloc(1, sizeof *made);
    int *processes = calloc((size_t)size, sizeof *processes);
    MPI_Group all = MPI_GROUP_NULL, own = MPI_GROUP_NULL;
    if (made == NULL || processes == NULL) {
        free(made);
        free(processes);
        fail(w, "there is no memory for a group of devices");
        return MPI_COMM_NULL;
    }
    *made = (group){w->groups, (int)size, processes, MPI_COMM_NULL};
    for (int64_t k = 0; k < size; k++)
        processes[k] = (int)d->set->devices[members[k]].process;
    if (is_fine(w, MPI_Comm_group(w->bulk, &all), "a group of devices")
        && is_fine(w, MPI_Group_incl(all, (int)size, processes, &own), "a group of devices")
        && is_fine(w, MPI_Comm_create_group(w->bulk, own, NOTICE, &made->comm), "a group of devices"))
        MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    if (own != MPI_GROUP_NULL)
        MPI_Group_free(&own);
    w->groups = made;
    return made->comm;
}

static bool by_collectives(const device *d, int64_t bytes)
{
    return d->set->is_one_each && bytes <= INT_MAX;
}

/* Messages that are on their way. */
typedef struct {
    MPI_Request *requests;
    size_t count, room;
    bool is_good;
} batch;

/* Send an array to a member, or receive it into one: in pieces, since MPI counts with ints. */
static void post(device *d, batch *b, int64_t member, bool sends, char *data, int64_t bytes)
{
    const device *other = &d->set->devices[member];
    world *w = d->set->world;
    for (int64_t first = 0; b->is_good && first < bytes; first += LONGEST) {
        int length = (int)(bytes - first < LONGEST ? bytes - first : LONGEST);
        int process = (int)other->process;
        if (b->count == b->room) {
            size_t wanted = 2 * b->room + 16;
            MPI_Request *more = realloc(b->requests, wanted * sizeof *more);
            if (more == NULL) {
                fail(w, "there is no memory for messages");
                b->is_good = false;
                return;
            }
            b->requests = more;
            b->room = wanted;
        }
        MPI_Request *request = &b->requests[b->count];
        int code = sends ? MPI_Isend(data + first, length, MPI_BYTE, process, tag_of(d, other),
                                     w->bulk, request)
                         : MPI_Irecv(data + first, length, MPI_BYTE, process, tag_of(other, d),
                                     w->bulk, request);
        b->is_good = is_fine(w, code, "messages");
        b->count += b->is_good;
    }
}

static bool completed(device *d, batch *b)
{
    bool is_good = b->is_good
                   && is_fine(d->set->world,
                              MPI_Waitall((int)b->count, b->requests, MPI_STATUSES_IGNORE),
                              "messages");
    free(b->requests);
    return is_good;
}

/* Part k of x, which begins at from[k], goes to member k; theirs of `length` bytes for this device
   are where `parts` says then. */
static bool spread(device *d, const char *x, const int64_t *members, int64_t size, int64_t place,
                   int64_t length)
{
    world *w = d->set->world;
    char *in = room(&d->memory->scratch, &d->memory->scratch_size, (size_t)(size * length) + 1);
    if (in == NULL)
        return fail(w, "there is no memory for a reduction"), false;
    for (int64_t k = 0; k < size; k++)
        d->parts[k] = k == place ? x + d->from[k] : in + k * length;
    if (by_collectives(d, d->from[size]) && by_collectives(d, size * length)) {
        MPI_Comm comm = comm_of(d, members, size);
        int *counts = d->numbers, *offsets = counts + size, *sizes = offsets + size,
            *places = sizes + size;
        for (int64_t k = 0; k < size; k++) {
            counts[k] = (int)(d->from[k + 1] - d->from[k]);
            offsets[k] = (int)d->from[k];
            sizes[k] = k == place ? 0 : (int)length;
            places[k] = (int)(k * length);
        }
        counts[place] = 0;
        return comm != MPI_COMM_NULL
               && is_fine(w, MPI_Alltoallv(x, counts, offsets, MPI_BYTE, in, sizes, places, MPI_BYTE,
                                           comm), "MPI_Alltoallv");
    }
    batch b = {.is_good = true};
    for (int64_t k = 0; k < size; k++)
        if (k != place) {
            post(d, &b, members[k], false, in + k * length, length);
            post(d, &b, members[k], true, (char *)x + d->from[k], d->from[k + 1] - d->from[k]);
        }
    return completed(d, &b);
}

/* Part k of out, which begins at from[k], comes from member k; that of this device is there. By
   messages: MPICH's MPI_Allgatherv takes four times as long, and where processors are shared, forty
   times, as it sends pieces round in a ring. */
static bool collect(device *d, char *out, const int64_t *members, int64_t size, int64_t place)
{
    batch b = {.is_good = true};
    for (int64_t k = 0; k < size; k++)
        if (k != place) {
            post(d, &b, members[k], false, out + d->from[k], d->from[k + 1] - d->from[k]);
            post(d, &b, members[k], true, out + d->from[place],
                 d->from[place + 1] - d->from[place]);
        }
    return completed(d, &b);
}

/* Block k of x goes to member k, and block k of out comes from it; that of this device is there. */
static bool swap_blocks(device *d, const char *x, char *out, int64_t bytes, const int64_t *members,
                        int64_t size)
{
    if (by_collectives(d, size * bytes)) {
        MPI_Comm comm = comm_of(d, members, size);
        return comm != MPI_COMM_NULL
               && is_fine(d->set->world, MPI_Alltoall(x, (int)bytes, MPI_BYTE, out, (int)bytes,
                                                      MPI_BYTE, comm), "MPI_Alltoall");
    }
    batch b = {.is_good = true};
    for (int64_t k = 0; k < size; k++)
        if (members[k] != d->base.rank) {
            post(d, &b, members[k], false, out + k * bytes, bytes);
            post(d, &b, members[k], true, (char *)x + k * bytes, bytes);
        }
    return completed(d, &b);
}

/* What members[0] has in out comes to the others. */
static bool from_first(device *d, char *out, int64_t bytes, const int64_t *members, int64_t size)
{
    if (by_collectives(d, bytes)) {
        MPI_Comm comm = comm_of(d, members, size);
        return comm != MPI_COMM_NULL
               && is_fine(d->set->world, MPI_Bcast(out, (int)bytes, MPI_BYTE, 0, comm), "MPI_Bcast");
    }
    batch b = {.is_good = true};
    bool is_first = members[0] == d->base.rank;
    for (int64_t k = 1; is_first && k < size; k++)
        post(d, &b, members[k], true, out, bytes);
    if (!is_first)
        post(d, &b, members[0], false, out, bytes);
    return completed(d, &b);
}

/* x goes to a device, out comes from one; either may be -1, or this one, where nothing is done. */
static bool pass_on(device *d, const char *x, char *out, int64_t bytes, int64_t target,
                    int64_t source)
{
    batch b = {.is_good = true};
    if (source >= 0 && source != d->base.rank)
        post(d, &b, source, false, out, bytes);
    if (target >= 0 && target != d->base.rank)
        post(d, &b, target, true, (char *)x, bytes);
    return completed(d, &b);
}
