/* Sorts of few elements in vector registers, by a network of comparisons of their keys; not stable,
   as equal keys are the same.

   Method: up to 128 vectors of keys are rows of a matrix. First the column of keys in each lane is
   sorted, then bitonic merges make one ascending sequence of two columns, four, ... Source: M.
   Blacher, J. Giesen, P. Sanders, J. Wassenberg, "Vectorized and performance-portable Quicksort",
   2022. */

#if defined(__AVX512F__)
enum { SORT_WIDE_BYTES = 64 };
#elif defined(__AVX__)
enum { SORT_WIDE_BYTES = 32 };
#else
enum { SORT_WIDE_BYTES = 16 };
#endif

/* The vectors of keys that a network sorts. */
enum { SORT_ROWS = 128 };

enum { SORT_WIDE_U = SORT_WIDE_BYTES / sizeof(U), SORT_NETWORK_U = SORT_ROWS * SORT_WIDE_U };

/* Elements are of another type: these accesses alias them. */
typedef U sort_word_U __attribute__((may_alias));

typedef U sort_wide_U __attribute__((vector_size(SORT_WIDE_BYTES), aligned(sizeof(U)), may_alias));

typedef S sort_signed_U __attribute__((vector_size(SORT_WIDE_BYTES)));

typedef int16_t sort_wide_i16 __attribute__((vector_size(SORT_WIDE_BYTES)));

typedef int32_t sort_wide_i32 __attribute__((vector_size(SORT_WIDE_BYTES)));

typedef long long sort_wide_i64 __attribute__((vector_size(SORT_WIDE_BYTES)));

/* The bits that a negative element changes in its key besides its sign, those of a float, and the
   bits that all elements change: what sort_key of sort.h does, without its NaNs. */
static inline U sort_fraction_U(int64_t format)
{
    return format < 0 ? 0 : (U)(MAX_U >> 1);
}

static inline U sort_flip_U(int64_t format)
{
    return format == SORT_UNSIGNED ? 0 : (U)((U)1 << (BITS_U - 1));
}

/* The keys of elements that are no NaN but the largest one, from their bits. */
static inline sort_wide_U sort_wide_keys_U(int64_t format, sort_wide_U bits)
{
    const sort_wide_U signs = (sort_wide_U)((sort_signed_U)bits >> (BITS_U - 1));
    return bits ^ (signs & sort_fraction_U(format)) ^ sort_flip_U(format);
}

/* The inverse. */
static inline sort_wide_U sort_wide_bits_U(int64_t format, sort_wide_U keys)
{
    return sort_wide_keys_U(format, keys ^ sort_flip_U(format)) ^ sort_flip_U(format);
}

/* The number of each lane. */
static inline sort_wide_U sort_lane_numbers_U(void)
{
    static const U numbers[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
    };
    sort_wide_U result;
    memcpy(&result, numbers, sizeof result);
    return result;
}

/* The lanes of x in the order 0 ^ with, 1 ^ with, ... */
static inline sort_wide_U sort_exchanged_U(sort_wide_U x, int with)
{
#if defined(__clang__)
    sort_wide_U result = x;
    for (int lane = 0; lane < SORT_WIDE_U; lane++) {
        result[lane] = x[lane ^ with];
    }
    return result;
#else
    return __builtin_shuffle(x, sort_lane_numbers_U() ^ (U)with);
#endif
}

/* The smaller of two keys in each lane, by a mask: gcc prefers vectors of 32 bytes where there are
   some of 64, and makes none of choices lane by lane, which it takes minutes for. */
static inline sort_wide_U sort_smaller_lanes_U(sort_wide_U x, sort_wide_U y)
{
    const sort_wide_U mask = (sort_wide_U)(x < y);
    return (x & mask) | (y & ~mask);
}

/* sort_smaller_lanes by the instruction for vectors of 64 bytes where there is one. */
static inline sort_wide_u8 sort_smaller_u8(sort_wide_u8 x, sort_wide_u8 y)
{
    return sort_smaller_lanes_u8(x, y);
}

static inline sort_wide_u16 sort_smaller_u16(sort_wide_u16 x, sort_wide_u16 y)
{
#if defined(__AVX512BW__) && !defined(__clang__)
    const sort_wide_i16 zeros = {0};
    return (sort_wide_u16)__builtin_ia32_pminuw512_mask(
        (sort_wide_i16)x, (sort_wide_i16)y, zeros, 0xffffffff);
#else
    return sort_smaller_lanes_u16(x, y);
#endif
}

static inline sort_wide_u32 sort_smaller_u32(sort_wide_u32 x, sort_wide_u32 y)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i32 zeros = {0};
    return (sort_wide_u32)__builtin_ia32_pminud512_mask(
        (sort_wide_i32)x, (sort_wide_i32)y, zeros, 0xffff);
#else
    return sort_smaller_lanes_u32(x, y);
#endif
}

static inline sort_wide_u64 sort_smaller_u64(sort_wide_u64 x, sort_wide_u64 y)
{
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i64 zeros = {0};
    return (sort_wide_u64)__builtin_ia32_pminuq512_mask(
        (sort_wide_i64)x, (sort_wide_i64)y, zeros, 0xff);
#else
    return sort_smaller_lanes_u64(x, y);
#endif
}

/* y in the lanes whose number has the bit `of_y`, x in the others. */
static inline sort_wide_U sort_blended_U(sort_wide_U x, sort_wide_U y, int of_y)
{
    const sort_wide_U mask = (sort_wide_U)((sort_lane_numbers_U() & (U)of_y) != 0);
    return (y & mask) | (x & ~mask);
}

/* The larger of two keys in the lanes whose number has the bit `larger`, else the smaller. */
static inline sort_wide_U sort_ordered_U(sort_wide_U x, sort_wide_U y, int larger)
{
    const sort_wide_U mask = (sort_wide_U)((sort_lane_numbers_U() & (U)larger) != 0);
    return sort_smaller_U(x, y) ^ ((x ^ y) & mask);
}

/* Compare-exchange of two rows, lane by lane. The larger key is what is left of both: processors
   that compare with one unit combine bits with others. */
static inline void sort_exchange_rows_U(sort_wide_U *x, sort_wide_U *y)
{
    const sort_wide_U a = *x, b = *y, low = sort_smaller_U(a, b);
    *x = low;
    *y = a ^ b ^ low;
}

/* Three stages of a bitonic merge of rows that are `step` apart, in registers. */
__attribute__((always_inline))
static inline void sort_merge_8_rows_U(int64_t step, sort_wide_U *keys)
{
    sort_wide_U rows[8];
    #pragma GCC unroll 8
    for (int row = 0; row < 8; row++) {
        rows[row] = keys[row * step];
    }
    #pragma GCC unroll 3
    for (int distance = 4; distance > 0; distance /= 2) {
        #pragma GCC unroll 8
        for (int row = 0; row < 8; row++) {
            if ((row & distance) == 0) {
                sort_exchange_rows_U(rows + row, rows + row + distance);
            }
        }
    }
    #pragma GCC unroll 8
    for (int row = 0; row < 8; row++) {
        keys[row * step] = rows[row];
    }
}

/* The last stages of a bitonic merge: those that compare rows, in groups of `rows`. Where these are
   all, and three times a power of two, the first stage sorts three rows, a third of all apart. */
__attribute__((noinline))
static void sort_merge_rows_U(int64_t all, int64_t rows, sort_wide_U *keys)
{
    const int64_t third = rows % 3 == 0 ? rows / 3 : 0;
    for (int64_t row = 0; row < third; row++) {
        sort_exchange_rows_U(keys + row, keys + row + third);
        sort_exchange_rows_U(keys + row + third, keys + row + 2 * third);
        sort_exchange_rows_U(keys + row, keys + row + third);
    }
    rows = third > 0 ? third : rows;
    for (; rows >= 8; rows /= 8) {
        for (int64_t start = 0; start < all; start += rows) {
            for (int64_t row = start; row < start + rows / 8; row++) {
                sort_merge_8_rows_U(rows / 8, keys + row);
            }
        }
    }
    for (int64_t row = 0; row < all && rows == 4; row += 4) {
        sort_exchange_rows_U(keys + row, keys + row + 2);
        sort_exchange_rows_U(keys + row + 1, keys + row + 3);
        sort_exchange_rows_U(keys + row, keys + row + 1);
        sort_exchange_rows_U(keys + row + 2, keys + row + 3);
    }
    for (int64_t row = 0; row < all && rows == 2; row += 2) {
        sort_exchange_rows_U(keys + row, keys + row + 1);
    }
}

/* Sorts each column of eight rows, in registers, by Batcher's odd-even merges. */
static inline void sort_columns_of_8_U(sort_wide_U *keys)
{
    static const char pairs[] = "01234567021346571256041526372435123456";
    sort_wide_U rows[8];
    #pragma GCC unroll 8
    for (int row = 0; row < 8; row++) {
        rows[row] = keys[row];
    }
    #pragma GCC unroll 19
    for (int k = 0; k < 38; k += 2) {
        sort_exchange_rows_U(rows + (pairs[k] - '0'), rows + (pairs[k + 1] - '0'));
    }
    #pragma GCC unroll 8
    for (int row = 0; row < 8; row++) {
        keys[row] = rows[row];
    }
}

/* Sorts each column of `rows` keys, a power of two, or three quarters of one as if the last quarter
   were the largest keys. */
static inline void sort_columns_U(int64_t rows, sort_wide_U *keys)
{
    for (int64_t row = 0; row < rows && rows >= 8; row += 8) {
        sort_columns_of_8_U(keys + row);
    }
    for (int64_t size = rows >= 8 ? 16 : 2; size / 2 < rows; size *= 2) {
        for (int64_t start = 0; start + size / 2 < rows; start += size) {
            const int64_t missing = start + size > rows ? start + size - rows : 0;
            for (int64_t row = missing; row < size / 2; row++) {
                sort_exchange_rows_U(keys + start + row, keys + start + size - 1 - row);
            }
        }
        const int64_t whole = rows - rows % (size / 2);
        sort_merge_rows_U(whole, size / 2, keys);
        sort_merge_rows_U(rows - whole, rows - whole, keys + whole);
    }
}

/* The stages of a bitonic merge that compare lanes of a vector, up to `distance` apart. */
__attribute__((always_inline))
static inline sort_wide_U sort_merge_lanes_U(int distance, sort_wide_U x)
{
    #pragma GCC unroll 6
    for (; distance > 0; distance /= 2) {
        x = sort_ordered_U(x, sort_exchanged_U(x, distance), distance);
    }
    return x;
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
        const sort_wide_U low = sort_smaller_U(x, y), high = x ^ y ^ low;
        const sort_wide_U first = sort_blended_U(low, high, columns / 2);
        const sort_wide_U last = sort_exchanged_U(low ^ high ^ first, columns - 1);
        keys[row] = sort_merge_lanes_U(columns / 4, first);
        keys[rows - 1 - row] = sort_merge_lanes_U(columns / 4, last);
    }
    sort_merge_rows_U(rows, rows, keys);
}

/* Stores rows of keys that are sorted column by column as n elements. */
static inline void sort_store_columns_U(int64_t rows, int64_t n, const sort_wide_U *keys,
                                        sort_word_U *x)
{
    const sort_word_U *words = (const sort_word_U *)(const void *)keys;
    for (int64_t column = 0; column < SORT_WIDE_U && column * rows < n;) {
        sort_word_U block[TRANSPOSE_LANES_U * SORT_ROWS];
        const int64_t start = column * rows, end = start + TRANSPOSE_LANES_U * rows;
        sort_word_U *out = end <= n ? x + start : block;
        if (rows % TRANSPOSE_LANES_U == 0) {
            for (int64_t row = 0; row < rows; row += TRANSPOSE_LANES_U) {
                transpose_block_U(words + row * SORT_WIDE_U + column, SORT_WIDE_U, out + row, rows);
            }
        } else {
            for (int64_t row = 0; row < rows; row++) {
                for (int64_t k = 0; k < TRANSPOSE_LANES_U; k++) {
                    out[k * rows + row] = words[row * SORT_WIDE_U + column + k];
                }
            }
        }
        if (end > n) {
            memcpy(x + start, block, (size_t)(n - start) * sizeof *x);
        }
        column += TRANSPOSE_LANES_U;
    }
}

/* Sorts the elements x[n] for n <= SORT_NETWORK_U. */
__attribute__((noinline))
static void sort_network_U(int64_t format, int64_t n, sort_word_U *x)
{
    sort_wide_U keys[SORT_ROWS];
    int64_t rows = 2;
    while (rows * SORT_WIDE_U < n) {
        rows *= 2;
    }
    const int64_t fewer = rows / 4 * 3;
    if (rows >= 32 && fewer % TRANSPOSE_LANES_U == 0 && n <= fewer * SORT_WIDE_U) {
        rows = fewer;
    }
    const int64_t full = n / SORT_WIDE_U;
    for (int64_t row = 0; row < full; row++) {
        const sort_wide_U bits = ((const sort_wide_U *)x)[row];
        keys[row] = format == SORT_UNSIGNED ? bits : sort_wide_keys_U(format, bits);
    }
    for (int64_t row = full; row < rows; row++) {
        keys[row] = (sort_wide_U){0} - 1;
    }
    if (n % SORT_WIDE_U != 0) {
        sort_wide_U bits = sort_wide_bits_U(format, (sort_wide_U){0} - 1);
        memcpy(&bits, x + full * SORT_WIDE_U, (size_t)(n % SORT_WIDE_U) * sizeof *x);
        keys[full] = sort_wide_keys_U(format, bits);
    }
    sort_columns_U(rows, keys);
    sort_merge_columns_U(rows, 2, keys);
    sort_merge_columns_U(rows, 4, keys);
    sort_merge_columns_U(rows, 8, keys);
    sort_merge_columns_U(rows, 16, keys);
    sort_merge_columns_U(rows, 32, keys);
    sort_merge_columns_U(rows, 64, keys);
    for (int64_t row = 0; row < rows && format != SORT_UNSIGNED; row++) {
        keys[row] = sort_wide_bits_U(format, keys[row]);
    }
    sort_store_columns_U(rows, n, keys, x);
}
