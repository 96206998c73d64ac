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

/* The sums of the values of all devices of a group. */
static inline int device_sum_F(const transpile_communicator *devices, int64_t n, int64_t rows,
                               int64_t columns, const int64_t *groups, const F *x, F *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '+', 'f', sizeof(F), n, x, out, members, size);
}

static inline int device_sum_C(const transpile_communicator *devices, int64_t n, int64_t rows,
                               int64_t columns, const int64_t *groups, const C *x, C *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '+', 'c', sizeof(C), n, x, out, members, size);
}

static inline int device_sum_S(const transpile_communicator *devices, int64_t n, int64_t rows,
                               int64_t columns, const int64_t *groups, const S *x, S *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '+', 'i', sizeof(S), n, x, out, members, size);
}

static inline int device_sum_U(const transpile_communicator *devices, int64_t n, int64_t rows,
                               int64_t columns, const int64_t *groups, const U *x, U *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '+', 'u', sizeof(U), n, x, out, members, size);
}

/* The greatest of the values of all devices of a group, or NaN. */
static inline int device_maximum_F(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const F *x, F *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '>', 'f', sizeof(F), n, x, out, members, size);
}

static inline int device_maximum_S(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const S *x, S *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '>', 'i', sizeof(S), n, x, out, members, size);
}

static inline int device_maximum_U(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const U *x, U *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '>', 'u', sizeof(U), n, x, out, members, size);
}

/* The least of the values of all devices of a group, or NaN. */
static inline int device_minimum_F(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const F *x, F *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '<', 'f', sizeof(F), n, x, out, members, size);
}

static inline int device_minimum_S(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const S *x, S *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '<', 'i', sizeof(S), n, x, out, members, size);
}

static inline int device_minimum_U(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const U *x, U *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->reduce(devices, '<', 'u', sizeof(U), n, x, out, members, size);
}

/* The sums of blocks of the devices of a group, of which each gets its own. */
static inline int device_scatter_F(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const F *x, F *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->scatter(devices, '+', 'f', sizeof(F), n, x, out, members, size);
}

static inline int device_scatter_C(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const C *x, C *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->scatter(devices, '+', 'c', sizeof(C), n, x, out, members, size);
}

static inline int device_scatter_S(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const S *x, S *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->scatter(devices, '+', 'i', sizeof(S), n, x, out, members, size);
}

static inline int device_scatter_U(const transpile_communicator *devices, int64_t n, int64_t rows,
                                   int64_t columns, const int64_t *groups, const U *x, U *out)
{
    int64_t size;
    const int64_t *members = device_group(devices->rank, rows, columns, groups, &size);
    return devices->scatter(devices, '+', 'u', sizeof(U), n, x, out, members, size);
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
