/* Collectives of programs on several devices: calls of the program's communicator.

   The devices are in groups, the rows of a table; -1 is behind the last one of a shorter row. A
   device exchanges with those of the row in which it stands. */

/* The row of a table of groups in which a device stands, and how many stand in it. */
static inline const int64_t *device_group(int64_t rank, int64_t rows, int64_t columns,
                                          const int64_t *groups, int64_t *size)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t *members = groups + row * columns;
        bool is_member = false;
        int64_t count = 0;
        for (; count < columns && members[count] >= 0; count++)
            is_member |= members[count] == rank;
        if (is_member) {
            *size = count;
            return members;
        }
    }
    *size = 0;
    return groups;
}

/* The n elements of all devices of a group, combined: of a kind, and of `width` bytes. */
static inline int device_reduce(const transpile_communicator *devices, char by, char kind,
                                int64_t width, int64_t n, int64_t rows, int64_t columns,
                                const int64_t *groups, const void *x, void *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, by, kind, width, n, x, out, members, size);
}

/* The same of blocks of n elements, of which each device of a group gets its own. */
static inline int device_scatter(const transpile_communicator *devices, char by, char kind,
                                 int64_t width, int64_t n, int64_t rows, int64_t columns,
                                 const int64_t *groups, const void *x, void *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->scatter(devices, by, kind, width, n, x, out, members, size);
}

/* The values of all devices of a group, one after the other. */
static inline int device_gather(const transpile_communicator *devices, int64_t bytes, int64_t rows,
                                int64_t columns, const int64_t *groups, const void *x, void *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->gather(devices, bytes, x, out, members, size);
}

/* A block to each device of a group, and one from each. */
static inline int device_exchange(const transpile_communicator *devices, int64_t bytes,
                                  int64_t rows, int64_t columns, const int64_t *groups,
                                  const void *x, void *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->exchange(devices, bytes, x, out, members, size);
}

/* The values of the first device of a group. */
static inline int device_broadcast(const transpile_communicator *devices, int64_t bytes,
                                   int64_t rows, int64_t columns, const int64_t *groups,
                                   const void *x, void *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->broadcast(devices, bytes, x, out, members, size);
}

/* The values of the device that sends to this one, by pairs (source, target); zeros without one. */
static inline int device_permute(const transpile_communicator *devices, int64_t bytes, int64_t pairs,
                                 const int64_t *ends, const void *x, void *out)
{
    int64_t target = -1, source = -1;
    for (int64_t k = 0; k < pairs; k++) {
        if (ends[2 * k] == devices->rank)
            target = ends[2 * k + 1];
        if (ends[2 * k + 1] == devices->rank)
            source = ends[2 * k];
    }
    return devices->permute(devices, bytes, x, out, target, source);
}

/* The number of the device. */
static inline int device_rank(const transpile_communicator *devices, int32_t *out)
{
    *out = (int32_t)devices->rank;
    return 0;
}
