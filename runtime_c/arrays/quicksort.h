/* Quicksort of unsigned keys in vector registers; not stable, as equal keys are the same.

   Method: a vector of keys is compared with the pivot, and those that are less are compressed to
   the front of the array, the others into scratch memory: four vectors at a time, whose counts are
   known before the first of them is stored. Up to 32 vectors of keys are sorted by a network
   (sort_network.h). A pivot that is the least key takes all that equal it away, so that few
   distinct keys take few passes. Where pivots are bad ones again and again, the radix sort takes
   over. Sources: B. Bramas, "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel
   Skylake", 2017; M. Blacher, J. Giesen, P. Sanders, J. Wassenberg, "Vectorized and
   performance-portable Quicksort", 2022. */

/* Narrower keys take the radix sort: without an instruction that compresses vectors of them it
   has fewer passes. */
#if defined(__AVX512VBMI2__) && !defined(__clang__)
enum { SORT_NARROWEST = 16 };
#else
enum { SORT_NARROWEST = 32 };
#endif

/* From this number of keys on, the pivot is the median of 27 of them, below of nine. */
enum { SORT_SAMPLED = 2048 };

/* Stores the keys of `count` vectors at x that are less than the pivot to `low`, the others to
   `high`; what lies behind them there, up to as many vectors, is overwritten. `low` may be x or
   begin before it. Gives the number of the former. */
static inline int64_t sort_split_lanes_U(int count, const U *x, sort_wide_U pivot, U *low, U *high)
{
    int64_t less = 0;
    for (int64_t i = 0; i < count * SORT_WIDE_U; i++) {
        const U key = x[i];
        low[less] = key;
        high[i - less] = key;
        less += key < pivot[0];
    }
    return less;
}

/* sort_split_lanes of up to four vectors, by the instruction that compresses a vector where there
   is one. All counts are known before the first store, for which the others do not wait then. */
static inline int64_t sort_split_u8(int count, const uint8_t *x, sort_wide_u8 pivot, uint8_t *low,
                                    uint8_t *high)
{
    return sort_split_lanes_u8(count, x, pivot, low, high);
}

static inline int64_t sort_split_u16(int count, const uint16_t *x, sort_wide_u16 pivot,
                                     uint16_t *low, uint16_t *high)
{
#if defined(__AVX512VBMI2__) && !defined(__clang__)
    const sort_wide_i16 zeros = {0};
    sort_wide_i16 keys[4];
    uint32_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        keys[k] = (sort_wide_i16)((const sort_wide_u16 *)x)[k];
        less[k] = __builtin_ia32_ucmpw512_mask(keys[k], (sort_wide_i16)pivot, 1, 0xffffffff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        *(sort_wide_u16 *)(low + all) =
            (sort_wide_u16)__builtin_ia32_compresshi512_mask(keys[k], zeros, less[k]);
        *(sort_wide_u16 *)(high + k * SORT_WIDE_u16 - all) =
            (sort_wide_u16)__builtin_ia32_compresshi512_mask(keys[k], zeros, (uint32_t)~less[k]);
        all += __builtin_popcount(less[k]);
    }
    return all;
#else
    return sort_split_lanes_u16(count, x, pivot, low, high);
#endif
}

static inline int64_t sort_split_u32(int count, const uint32_t *x, sort_wide_u32 pivot,
                                     uint32_t *low, uint32_t *high)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i32 zeros = {0};
    sort_wide_i32 keys[4];
    uint16_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        keys[k] = (sort_wide_i32)((const sort_wide_u32 *)x)[k];
        less[k] = __builtin_ia32_ucmpd512_mask(keys[k], (sort_wide_i32)pivot, 1, 0xffff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        *(sort_wide_u32 *)(low + all) =
            (sort_wide_u32)__builtin_ia32_compresssi512_mask(keys[k], zeros, less[k]);
        *(sort_wide_u32 *)(high + k * SORT_WIDE_u32 - all) =
            (sort_wide_u32)__builtin_ia32_compresssi512_mask(keys[k], zeros, (uint16_t)~less[k]);
        all += __builtin_popcount(less[k]);
    }
    return all;
#else
    return sort_split_lanes_u32(count, x, pivot, low, high);
#endif
}

static inline int64_t sort_split_u64(int count, const uint64_t *x, sort_wide_u64 pivot,
                                     uint64_t *low, uint64_t *high)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i64 zeros = {0};
    sort_wide_i64 keys[4];
    uint8_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        keys[k] = (sort_wide_i64)((const sort_wide_u64 *)x)[k];
        less[k] = __builtin_ia32_ucmpq512_mask(keys[k], (sort_wide_i64)pivot, 1, 0xff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < count; k++) {
        *(sort_wide_u64 *)(low + all) =
            (sort_wide_u64)__builtin_ia32_compressdi512_mask(keys[k], zeros, less[k]);
        *(sort_wide_u64 *)(high + k * SORT_WIDE_u64 - all) =
            (sort_wide_u64)__builtin_ia32_compressdi512_mask(keys[k], zeros, (uint8_t)~less[k]);
        all += __builtin_popcount(less[k]);
    }
    return all;
#else
    return sort_split_lanes_u64(count, x, pivot, low, high);
#endif
}

/* Stores the keys of four vectors at x that are less than the pivot from `left` on, the others
   before `right`. What lies behind the former and before the latter, up to as many vectors, is
   overwritten, which may be x: all is read first. Gives the number of the former. */
static inline int64_t sort_sides_lanes_U(const U *x, sort_wide_U pivot, U *left, U *right)
{
    U keys[4 * SORT_WIDE_U];
    memcpy(keys, x, sizeof keys);
    int64_t less = 0;
    for (int64_t i = 0; i < 4 * SORT_WIDE_U; i++) {
        left[less] = keys[i];
        right[less - i - 1] = keys[i];
        less += keys[i] < pivot[0];
    }
    return less;
}

static inline int64_t sort_sides_u8(const uint8_t *x, sort_wide_u8 pivot, uint8_t *left,
                                    uint8_t *right)
{
    return sort_sides_lanes_u8(x, pivot, left, right);
}

/* By the instructions that compress a vector to its front, and expand one to behind it. */
static inline int64_t sort_sides_u16(const uint16_t *x, sort_wide_u16 pivot, uint16_t *left,
                                     uint16_t *right)
{
#if defined(__AVX512VBMI2__) && !defined(__clang__)
    const sort_wide_i16 zeros = {0};
    sort_wide_i16 keys[4];
    uint32_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        keys[k] = (sort_wide_i16)((const sort_wide_u16 *)x)[k];
        less[k] = __builtin_ia32_ucmpw512_mask(keys[k], (sort_wide_i16)pivot, 1, 0xffffffff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const uint32_t others = (uint32_t)~less[k];
        const int count = __builtin_popcount(less[k]);
        const uint32_t behind = (uint32_t)((uint64_t)0xffffffff << count);
        const sort_wide_i16 low = __builtin_ia32_compresshi512_mask(keys[k], zeros, less[k]);
        const sort_wide_i16 high = __builtin_ia32_compresshi512_mask(keys[k], zeros, others);
        const sort_wide_i16 both = __builtin_ia32_expandhi512_mask(high, low, behind);
        *(sort_wide_u16 *)(left + all) = (sort_wide_u16)both;
        *(sort_wide_u16 *)(right - (k + 1) * SORT_WIDE_u16 + all) = (sort_wide_u16)both;
        all += count;
    }
    return all;
#else
    return sort_sides_lanes_u16(x, pivot, left, right);
#endif
}

static inline int64_t sort_sides_u32(const uint32_t *x, sort_wide_u32 pivot, uint32_t *left,
                                     uint32_t *right)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i32 zeros = {0};
    sort_wide_i32 keys[4];
    uint16_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        keys[k] = (sort_wide_i32)((const sort_wide_u32 *)x)[k];
        less[k] = __builtin_ia32_ucmpd512_mask(keys[k], (sort_wide_i32)pivot, 1, 0xffff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const uint16_t others = (uint16_t)~less[k];
        const int count = __builtin_popcount(less[k]);
        const uint16_t behind = (uint16_t)((uint64_t)0xffff << count);
        const sort_wide_i32 low = __builtin_ia32_compresssi512_mask(keys[k], zeros, less[k]);
        const sort_wide_i32 high = __builtin_ia32_compresssi512_mask(keys[k], zeros, others);
        const sort_wide_i32 both = __builtin_ia32_expandsi512_mask(high, low, behind);
        *(sort_wide_u32 *)(left + all) = (sort_wide_u32)both;
        *(sort_wide_u32 *)(right - (k + 1) * SORT_WIDE_u32 + all) = (sort_wide_u32)both;
        all += count;
    }
    return all;
#else
    return sort_sides_lanes_u32(x, pivot, left, right);
#endif
}

static inline int64_t sort_sides_u64(const uint64_t *x, sort_wide_u64 pivot, uint64_t *left,
                                     uint64_t *right)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i64 zeros = {0};
    sort_wide_i64 keys[4];
    uint8_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        keys[k] = (sort_wide_i64)((const sort_wide_u64 *)x)[k];
        less[k] = __builtin_ia32_ucmpq512_mask(keys[k], (sort_wide_i64)pivot, 1, 0xff);
    }
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const uint8_t others = (uint8_t)~less[k];
        const int count = __builtin_popcount(less[k]);
        const uint8_t behind = (uint8_t)((uint64_t)0xff << count);
        const sort_wide_i64 low = __builtin_ia32_compressdi512_mask(keys[k], zeros, less[k]);
        const sort_wide_i64 high = __builtin_ia32_compressdi512_mask(keys[k], zeros, others);
        const sort_wide_i64 both = __builtin_ia32_expanddi512_mask(high, low, behind);
        *(sort_wide_u64 *)(left + all) = (sort_wide_u64)both;
        *(sort_wide_u64 *)(right - (k + 1) * SORT_WIDE_u64 + all) = (sort_wide_u64)both;
        all += count;
    }
    return all;
#else
    return sort_sides_lanes_u64(x, pivot, left, right);
#endif
}

/* From this number of keys on, partitions are in place: scratch memory would not fit into the
   caches beside them. */
#if defined(__AVX512F__) && !defined(__clang__)
enum { SORT_IN_PLACE = 16384 };
#else
enum { SORT_IN_PLACE = INT32_MAX };
#endif

/* As sort_partition below, in place: blocks of four vectors are read from the end that has less
   free memory, so that both have room for a block, as the first and the last one are held until
   the end. */
__attribute__((noinline))
static int64_t sort_partition_in_place_U(int64_t n, U *x, U pivot)
{
    const int64_t block = 4 * SORT_WIDE_U;
    const sort_wide_U pivots = (sort_wide_U){0} + pivot;
    const int64_t whole = n / block * block;
    U held[8 * SORT_WIDE_U];
    memcpy(held, x, sizeof held / 2);
    memcpy(held + block, x + whole - block, sizeof held / 2);
    int64_t first = block, last = whole - block; /* what has not been read */
    int64_t low = 0, high = whole;
    while (first < last) {
        const bool is_front = first - low <= high - last;
        last -= is_front ? 0 : block;
        const int64_t at = is_front ? first : last;
        first += is_front ? block : 0;
        const int64_t less = sort_sides_U(x + at, pivots, x + low, x + high);
        low += less;
        high -= block - less;
    }
    for (int64_t k = 0; k < 2; k++) {
        const int64_t less = sort_sides_U(held + k * block, pivots, x + low, x + high);
        low += less;
        high -= block - less;
    }
    for (int64_t i = whole; i < n; i++) {
        const U key = x[i], other = x[low];
        if (key < pivot) {
            x[i] = other;
            x[low++] = key;
        }
    }
    return low;
}

/* Moves the keys of x[n] that are less than the pivot before the others; gives their number. */
__attribute__((noinline))
static int64_t sort_partition_U(int64_t n, U *x, U *other, U pivot)
{
    if (n >= SORT_IN_PLACE) {
        return sort_partition_in_place_U(n, x, pivot);
    }
    const sort_wide_U pivots = (sort_wide_U){0} + pivot;
    int64_t i = 0, low = 0;
    for (; i + 4 * SORT_WIDE_U <= n; i += 4 * SORT_WIDE_U) {
        low += sort_split_U(4, x + i, pivots, x + low, other + (i - low));
    }
    for (; i + SORT_WIDE_U <= n; i += SORT_WIDE_U) {
        low += sort_split_U(1, x + i, pivots, x + low, other + (i - low));
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

/* The lanes of a vector of keys that are less than the pivot, as bits; and those of `which` lanes,
   in front. Not for processors without such instructions. */
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
