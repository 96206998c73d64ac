/* The matrix product, for the type NUMBER whose vectors are VECTOR; NAME(x) is x with a suffix. It
 * is included once for each type.
 *
 * A tile of 8 rows and two vectors of columns stays in registers while the depth is walked. What a
 * tile reads is copied before, in the order in which it is read: a block of the right operand once
 * for all threads, rows of the left one by the thread that multiplies them. */

enum {
    NAME(WIDTH) = 2 * 64 / sizeof(NUMBER), /* columns of a tile */
    NAME(DEPTH) = 1024 / sizeof(NUMBER),   /* of what is copied at once */
};

/* Element (i, j) is data[i * row + j * column]: a transposed matrix has them exchanged. */
struct NAME(matrix) {
    const NUMBER *data;
    int64_t row, column;
};

/* What becomes of numbers (i, j) to (i, j + width - 1) of a product when they are complete. */
typedef void NAME(finish)(const void *context, int64_t i, int64_t j, int64_t width,
                          NUMBER *restrict numbers);

/* A tile of sums; b's rows are `b_row` apart, the elements of `a` by `a_row` and `a_step`. */
static inline __attribute__((always_inline)) void NAME(tile)(
    int64_t depth, const NUMBER *restrict a, int64_t a_row, int64_t a_step,
    const NUMBER *restrict b, int64_t b_row, VECTOR sums[TILE_ROWS][2])
{
    VECTOR own[TILE_ROWS][2] = {0};
    for (int64_t k = 0; k < depth; k++) {
        const VECTOR left = ((const VECTOR *)(b + k * b_row))[0];
        const VECTOR right = ((const VECTOR *)(b + k * b_row))[1];
        #pragma GCC unroll 8
        for (int r = 0; r < TILE_ROWS; r++) {
            own[r][0] += a[r * a_row + k * a_step] * left;
            own[r][1] += a[r * a_row + k * a_step] * right;
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++)
        sums[r][0] = own[r][0], sums[r][1] = own[r][1];
}

/* Rows `first` to `first + 7` of a, as a tile reads them; zeros where there are none. */
static inline void NAME(pack_rows)(struct NAME(matrix) a, int64_t rows, int64_t first,
                                   int64_t start, int64_t depth, NUMBER *restrict to)
{
    const int64_t count = least(TILE_ROWS, rows - first);
    const NUMBER *from = a.data + first * a.row + start * a.column;
    if (count == TILE_ROWS && a.column == 1) {
        for (int64_t k = 0; k < depth; k++)
            #pragma GCC unroll 8
            for (int64_t r = 0; r < TILE_ROWS; r++)
                to[k * TILE_ROWS + r] = from[r * a.row + k];
        return;
    }
    for (int64_t k = 0; k < depth; k++)
        for (int64_t r = 0; r < TILE_ROWS; r++)
            to[k * TILE_ROWS + r] = r < count ? from[r * a.row + k * a.column] : 0;
}

static inline void NAME(pack_columns)(struct NAME(matrix) b, int64_t columns, int64_t first,
                                      int64_t start, int64_t depth, NUMBER *restrict to)
{
    const int64_t count = least(NAME(WIDTH), columns - first);
    const NUMBER *from = b.data + start * b.row + first * b.column;
    if (count == NAME(WIDTH) && b.column == 1) {
        for (int64_t k = 0; k < depth; k++)
            memcpy(to + k * NAME(WIDTH), from + k * b.row, sizeof(NUMBER) * NAME(WIDTH));
        return;
    }
    for (int64_t j = 0; j < NAME(WIDTH); j++)
        for (int64_t k = 0; k < depth; k++)
            to[k * NAME(WIDTH) + j] = j < count ? from[k * b.row + j * b.column] : 0;
}

/* Put sums into c or add them; at the border only those that are inside. */
static inline void NAME(store)(const VECTOR sums[TILE_ROWS][2], int64_t rows, int64_t width,
                               int add, NUMBER *restrict c, int64_t c_row)
{
    if (width == NAME(WIDTH)) {
        for (int64_t r = 0; r < rows; r++) {
            VECTOR *to = (VECTOR *)(c + r * c_row);
            const VECTOR zero = {0};
            to[0] = sums[r][0] + (add ? to[0] : zero);
            to[1] = sums[r][1] + (add ? to[1] : zero);
        }
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        const NUMBER *from = (const NUMBER *)sums[r];
        for (int64_t j = 0; j < width; j++)
            c[r * c_row + j] = add ? c[r * c_row + j] + from[j] : from[j];
    }
}

/* c = a b; c has `columns` columns in a row, and finish (or NULL) is applied to each number. */
static inline __attribute__((always_inline)) void NAME(multiply)(
    int64_t rows, int64_t depth, int64_t columns, struct NAME(matrix) a, struct NAME(matrix) b,
    NUMBER *restrict c, NAME(finish) *finish, const void *context)
{
    static struct kept kept_b, kept_a;
    const int64_t panels = (columns + NAME(WIDTH) - 1) / NAME(WIDTH);
    const int64_t panel_size = NAME(DEPTH) * NAME(WIDTH), rows_size = NAME(DEPTH) * TILE_ROWS;
    const size_t threads = (size_t)omp_get_max_threads();
    NUMBER *packed_b = scratch(&kept_b, sizeof(NUMBER) * (size_t)(panels * panel_size));
    NUMBER *all_a = scratch(&kept_a, sizeof(NUMBER) * (size_t)rows_size * threads);
    #pragma omp parallel
    for (int64_t start = 0; start < depth; start += NAME(DEPTH)) {
        const int64_t size = least(NAME(DEPTH), depth - start);
        const int last = start + size == depth;
        NUMBER *packed_a = all_a + omp_get_thread_num() * rows_size;
        #pragma omp for
        for (int64_t panel = 0; panel < panels; panel++)
            NAME(pack_columns)(b, columns, panel * NAME(WIDTH), start, size,
                               packed_b + panel * panel_size);
        #pragma omp for
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            const int64_t count = least(TILE_ROWS, rows - i);
            NAME(pack_rows)(a, rows, i, start, size, packed_a);
            for (int64_t panel = 0; panel < panels; panel++) {
                const int64_t j = panel * NAME(WIDTH), width = least(NAME(WIDTH), columns - j);
                NUMBER *to = c + i * columns + j;
                VECTOR sums[TILE_ROWS][2];
                NAME(tile)(size, packed_a, 1, TILE_ROWS, packed_b + panel * panel_size,
                           NAME(WIDTH), sums);
                NAME(store)(sums, count, width, start > 0, to, columns);
                for (int64_t r = 0; last && finish && r < count; r++)
                    finish(context, i + r, j, width, to + r * columns);
            }
        }
    }
}

#undef NUMBER
#undef VECTOR
#undef NAME
