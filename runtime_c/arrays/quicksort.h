/* Quicksort of unsigned keys in vector registers; not stable, as equal keys are the same.

   Method: a vector of keys is compared with the pivot, and those that are less are compressed to
   the front of the array, the others into scratch memory. Up to 16 vectors of keys are sorted by a
   network: first the column of keys in each lane, then by bitonic merges two columns, four, ...
   A pivot that is the least key takes all that equal it away, so that few distinct keys take few
   passes. Where pivots are bad ones again and again, the radix sort takes over. Sources: B. Bramas,
   "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel Skylake", 2017; M. Blacher,
   J. Giesen, P. Sanders, J. Wassenberg, "Vectorized and performance-portable Quicksort", 2022. */

#if defined(__AVX512F__)
enum { SORT_WIDE_BYTES = 64 };
#elif defined(__AVX__)
enum { SORT_WIDE_BYTES = 32 };
#else
enum { SORT_WIDE_BYTES = 16 };
#endif

/* The vectors of keys that a network sorts. */
enum { SORT_ROWS = 16 };

enum { SORT_WIDE_U = SORT_WIDE_BYTES / sizeof(U), SORT_NETWORK_U = SORT_ROWS * SORT_WIDE_U };

/* From this number of keys on, the pivot is the median of 27 of them, below of nine. */
enum { SORT_SAMPLED = 2048 };

typedef U sort_wide_U __attribute__((vector_size(SORT_WIDE_BYTES), aligned(sizeof(U)), may_alias));

typedef int32_t sort_wide_i32 __attribute__((vector_size(SORT_WIDE_BYTES)));

typedef long long sort_wide_i64 __attribute__((vector_size(SORT_WIDE_BYTES)));

/* The lanes of x in the order 0 ^ with, 1 ^ with, ... */
static inline sort_wide_U sort_exchanged_U(sort_wide_U x, int with)
{
    sort_wide_U result = x;
#if defined(__clang__)
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        result[lane] = x[lane ^ with];
    }
#else
    #pragma GCC unroll 64
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        result[lane] = (U)(lane ^ with);
    }
    result = __builtin_shuffle(x, result);
#endif
    return result;
}

static inline sort_wide_U sort_smaller_U(sort_wide_U x, sort_wide_U y)
{
    sort_wide_U result = x;
    #pragma GCC unroll 64
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        result[lane] = x[lane] < y[lane] ? x[lane] : y[lane];
    }
    return result;
}

static inline sort_wide_U sort_larger_U(sort_wide_U x, sort_wide_U y)
{
    sort_wide_U result = x;
    #pragma GCC unroll 64
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        result[lane] = x[lane] < y[lane] ? y[lane] : x[lane];
    }
    return result;
}

/* y in the lanes whose number has the bit `of_y`, x in the others. */
static inline sort_wide_U sort_blended_U(sort_wide_U x, sort_wide_U y, int of_y)
{
    sort_wide_U mask = x;
    #pragma GCC unroll 64
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        mask[lane] = lane & of_y ? MAX_U : 0;
    }
    return (y & mask) | (x & ~mask);
}

/* Compare-exchange of two rows, lane by lane. */
static inline void sort_exchange_rows_U(sort_wide_U *x, sort_wide_U *y)
{
    const sort_wide_U a = *x, b = *y;
    *x = sort_smaller_U(a, b);
    *y = sort_larger_U(a, b);
}

/* The last stages of a bitonic merge: those that compare rows, in groups of `rows`. */
static inline void sort_merge_rows_U(int64_t all, int64_t rows, sort_wide_U *keys)
{
    for (int64_t distance = rows / 2; distance > 0; distance /= 2) {
        for (int64_t start = 0; start < all; start += 2 * distance) {
            for (int64_t row = start; row < start + distance; row++) {
                sort_exchange_rows_U(keys + row, keys + row + distance);
            }
        }
    }
}

/* Sorts each column of `rows` keys, a power of two. */
static inline void sort_columns_U(int64_t rows, sort_wide_U *keys)
{
    for (int64_t size = 2; size <= rows; size *= 2) {
        for (int64_t start = 0; start < rows; start += size) {
            for (int64_t row = 0; row < size / 2; row++) {
                sort_exchange_rows_U(keys + start + row, keys + start + size - 1 - row);
            }
        }
        sort_merge_rows_U(rows, size / 2, keys);
    }
}

/* Merges the halves of each group of `columns` columns; a half ascends column by column. */
__attribute__((always_inline))
static inline void sort_merge_columns_U(int64_t rows, int columns, sort_wide_U *keys)
{
    if (columns > SORT_WIDE_U) {
        return;
    }
    for (int64_t row = 0; row < rows / 2; row++) {
        const sort_wide_U x = keys[row], y = sort_exchanged_U(keys[rows - 1 - row], columns - 1);
        const sort_wide_U low = sort_smaller_U(x, y), high = sort_larger_U(x, y);
        keys[row] = sort_blended_U(low, high, columns / 2);
        const sort_wide_U other = sort_blended_U(high, low, columns / 2);
        keys[rows - 1 - row] = sort_exchanged_U(other, columns - 1);
    }
    #pragma GCC unroll 6
    for (int distance = columns / 4; distance > 0; distance /= 2) {
        for (int64_t row = 0; row < rows; row++) {
            const sort_wide_U x = keys[row], y = sort_exchanged_U(x, distance);
            keys[row] = sort_blended_U(sort_smaller_U(x, y), sort_larger_U(x, y), distance);
        }
    }
    sort_merge_rows_U(rows, rows, keys);
}

/* Sorts x[n] for n <= SORT_NETWORK_U. */
__attribute__((noinline))
static void sort_network_U(int64_t n, U *x)
{
    sort_wide_U keys[SORT_ROWS];
    U sorted[SORT_NETWORK_U];
    int64_t rows = 2;
    while (rows * SORT_WIDE_U < n) {
        rows *= 2;
    }
    memset(keys, 255, (size_t)rows * sizeof *keys);
    memcpy(keys, x, (size_t)n * sizeof *x);
    sort_columns_U(rows, keys);
    sort_merge_columns_U(rows, 2, keys);
    sort_merge_columns_U(rows, 4, keys);
    sort_merge_columns_U(rows, 8, keys);
    sort_merge_columns_U(rows, 16, keys);
    sort_merge_columns_U(rows, 32, keys);
    sort_merge_columns_U(rows, 64, keys);
    const U *words = (const U *)(const void *)keys;
    const int64_t whole = rows - rows % TRANSPOSE_LANES_U;
    for (int64_t row = 0; row < whole; row += TRANSPOSE_LANES_U) {
        for (int64_t column = 0; column < SORT_WIDE_U; column += TRANSPOSE_LANES_U) {
            transpose_block_U(words + row * SORT_WIDE_U + column, SORT_WIDE_U,
                              sorted + column * rows + row, rows);
        }
    }
    for (int64_t row = whole; row < rows; row++) {
        for (int64_t column = 0; column < SORT_WIDE_U; column++) {
            sorted[column * rows + row] = words[row * SORT_WIDE_U + column];
        }
    }
    memcpy(x, sorted, (size_t)n * sizeof *x);
}

/* Stores the keys of the vector at x that are less than the pivot to `low`, the others to `high`,
   a vector each, which may begin before x or at it; gives the number of the former. */
static inline int64_t sort_split_lanes_U(const U *x, sort_wide_U pivot, U *low, U *high)
{
    int64_t count = 0;
    for (int64_t lane = 0; lane < SORT_WIDE_U; lane++) {
        const U key = x[lane];
        low[count] = key;
        high[lane - count] = key;
        count += key < pivot[0];
    }
    return count;
}

/* sort_split_lanes, by the instruction that compresses a vector where there is one. */
static inline int64_t sort_split_u8(const uint8_t *x, sort_wide_u8 pivot, uint8_t *low,
                                    uint8_t *high)
{
    return sort_split_lanes_u8(x, pivot, low, high);
}

static inline int64_t sort_split_u16(const uint16_t *x, sort_wide_u16 pivot, uint16_t *low,
                                     uint16_t *high)
{
    return sort_split_lanes_u16(x, pivot, low, high);
}

static inline int64_t sort_split_u32(const uint32_t *x, sort_wide_u32 pivot, uint32_t *low,
                                     uint32_t *high)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i32 keys = (sort_wide_i32)*(const sort_wide_u32 *)x, zeros = {0};
    const uint16_t less = __builtin_ia32_ucmpd512_mask(keys, (sort_wide_i32)pivot, 1, 0xffff);
    *(sort_wide_u32 *)low = (sort_wide_u32)__builtin_ia32_compresssi512_mask(keys, zeros, less);
    *(sort_wide_u32 *)high =
        (sort_wide_u32)__builtin_ia32_compresssi512_mask(keys, zeros, (uint16_t)~less);
    return __builtin_popcount(less);
#else
    return sort_split_lanes_u32(x, pivot, low, high);
#endif
}

static inline int64_t sort_split_u64(const uint64_t *x, sort_wide_u64 pivot, uint64_t *low,
                                     uint64_t *high)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i64 keys = (sort_wide_i64)*(const sort_wide_u64 *)x, zeros = {0};
    const uint8_t less = __builtin_ia32_ucmpq512_mask(keys, (sort_wide_i64)pivot, 1, 0xff);
    *(sort_wide_u64 *)low = (sort_wide_u64)__builtin_ia32_compressdi512_mask(keys, zeros, less);
    *(sort_wide_u64 *)high =
        (sort_wide_u64)__builtin_ia32_compressdi512_mask(keys, zeros, (uint8_t)~less);
    return __builtin_popcount(less);
#else
    return sort_split_lanes_u64(x, pivot, low, high);
#endif
}

/* Moves the keys of x[n] that are less than the pivot before the others; gives their number. */
__attribute__((noinline))
static int64_t sort_partition_U(int64_t n, U *x, U *other, U pivot)
{
    const sort_wide_U pivots = (sort_wide_U){0} + pivot;
    int64_t i = 0, low = 0;
    for (; i + SORT_WIDE_U <= n; i += SORT_WIDE_U) {
        low += sort_split_U(x + i, pivots, x + low, other + (i - low));
    }
    for (; i < n; i++) {
        const U key = x[i];
        x[low] = key;
        other[i - low] = key;
        low += key < pivot;
    }
    memcpy(x + low, other, (size_t)(n - low) * sizeof *x);
    return low;
}

static inline U sort_median_U(U a, U b, U c)
{
    const U low = a < b ? a : b, high = a < b ? b : a, upper = high < c ? high : c;
    return low < upper ? upper : low;
}

/* The median of the medians of three times three keys, `step` apart. */
static inline U sort_ninther_U(const U *x, int64_t step)
{
    U medians[3];
    for (int64_t i = 0; i < 3; i++) {
        const U *of = x + 3 * i * step;
        medians[i] = sort_median_U(of[0], of[step], of[2 * step]);
    }
    return sort_median_U(medians[0], medians[1], medians[2]);
}

/* A key of x[n] near the median; n >= 9. */
static inline U sort_pivot_U(int64_t n, const U *x)
{
    if (n < SORT_SAMPLED) {
        const int64_t step = n / 9;
        return sort_ninther_U(x + step / 2, step);
    }
    const int64_t step = n / 27;
    x += step / 2;
    return sort_median_U(sort_ninther_U(x, step), sort_ninther_U(x + 9 * step, step),
                         sort_ninther_U(x + 18 * step, step));
}

/* Moves about half of the keys of x[n] before the others, none of which is less; `is_done` says
   that those in front are equal. Gives their number; n >= 9. */
__attribute__((noinline))
static int64_t sort_halves_U(int64_t n, U *x, U *other, bool *is_done)
{
    const U pivot = sort_pivot_U(n, x);
    int64_t equal = 0;
    while (equal < n && x[equal] == pivot) {
        equal++;
    }
    if (equal == n) {
        *is_done = true;
        return n;
    }
    const int64_t low = sort_partition_U(n, x, other, pivot);
    *is_done = low == 0;
    if (low > 0) {
        return low;
    }
    return pivot == MAX_U ? n : sort_partition_U(n, x, other, (U)(pivot + 1));
}

/* The number of partitions in a row after which pivots were bad ones. */
static inline int64_t sort_most_partitions(int64_t n)
{
    int64_t most = 8;
    for (; n > 1; n /= 2) {
        most += 2;
    }
    return most;
}

/* Sorts x[n] with as much scratch memory; the radix sort takes what is left after so many
   partitions in a row. */
static void sort_quick_U(int64_t n, U *x, U *other, int64_t partitions)
{
    while (n > SORT_NETWORK_U) {
        if (partitions-- == 0) {
            const U *sorted = sort_keys_U(n, x, other, BITS_U);
            if (sorted != x) {
                memcpy(x, sorted, (size_t)n * sizeof *x);
            }
            return;
        }
        bool is_done;
        const int64_t low = sort_halves_U(n, x, other, &is_done);
        if (!is_done) {
            sort_quick_U(low, x, other, partitions);
        }
        x += low;
        n -= low;
    }
    if (n > 1) {
        sort_network_U(n, x);
    }
}

/* A row of more than SORT_SHARED keys is split into this number of pieces, which threads share. */
enum { SORT_PIECES = 8 };

/* Sorts x[n] with as much scratch memory. */
static void sort_unstable_U(int64_t n, U *x, U *other)
{
    if (n <= SORT_SHARED) {
        sort_quick_U(n, x, other, sort_most_partitions(n));
        return;
    }
    int64_t starts[SORT_PIECES] = {0}, ends[SORT_PIECES] = {n};
    for (int64_t width = SORT_PIECES / 2; width > 0; width /= 2) {
        for (int64_t piece = 0; piece < SORT_PIECES; piece += 2 * width) {
            const int64_t start = starts[piece], count = ends[piece] - start;
            bool is_done = false;
            int64_t low = 0;
            if (count > SORT_NETWORK_U) {
                low = sort_halves_U(count, x + start, other + start, &is_done);
            }
            starts[piece + width] = start + low;
            ends[piece + width] = start + count;
            ends[piece] = is_done ? start : start + low;
        }
    }
    #pragma omp parallel for NUM_THREADS schedule(dynamic)
    for (int64_t piece = 0; piece < SORT_PIECES; piece++) {
        const int64_t start = starts[piece];
        sort_quick_U(ends[piece] - start, x + start, other + start, sort_most_partitions(n));
    }
}
