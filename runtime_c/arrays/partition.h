/* numpy.partition(x, kth, axis) and numpy.argpartition of real numbers, for rows along any axis.

   Method: keys are those of sort.h, and the halves of quicksort.h that have no rank in them stay as
   they are (select.h). Positions of 32-bit keys are the lower halves of 64-bit words. For wider
   keys the key at each rank is found first; then positions are told apart by their keys: those of
   less ones to the front, of greater ones to scratch memory, and of equal ones, which are few, to
   its end. */

/* Moves the elements of one row that sorting puts to ranks[count], which ascend, to their places,
   with no greater one before them and no smaller one behind; `out` may be x. They are moved where
   `out` is, or in scratch memory where they are not adjacent there. */
static void partition_row_U(int64_t format, int64_t n, const char *x, int64_t stride, int64_t count,
                            const int64_t *ranks, char *out, U *scratch)
{
    sort_word_U *moved = stride == 1 ? (sort_word_U *)(void *)out : scratch;
    const int odd = sort_copy_numbers_U(format, n, x, stride, moved);
    if (odd & SORT_NAN) {
        sort_number_nans_U(format, n, moved);
    }
    select_places_U(format, n, moved, stride == 1 ? scratch : scratch + n, count, ranks);
    for (int64_t i = 0; i < n && stride != 1; i++) {
        sort_store_U(out, i * stride, moved[i]);
    }
}

/* numpy.partition(x, ranks, axis=1) of x[outer][n][inner]; the ranks ascend. `scratch` has room for
   2 * n words for each of up to `places` threads. */
static inline void partition_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                               int64_t words, const void *x, int64_t count, const int64_t *ranks,
                               void *out, int64_t places, void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for NUM_THREADS schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        U *own = (U *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        for (int64_t row = rows * place / places; row < rows * (place + 1) / places; row++) {
            int64_t start = (row / inner * n * inner + row % inner) * size;
            partition_row_U(format, n, (const char *)x + start, inner, count, ranks,
                            (char *)out + start, own);
        }
    }
}

/* The elements that are told apart together. */
enum { PARTITION_BLOCK = 64 };

/* The positions of 32-bit elements in the order of a partition. */
static void argpartition_row_u32(int64_t format, int64_t n, const char *x, int64_t stride,
                                 int64_t count, const int64_t *ranks, int64_t *order,
                                 uint64_t *scratch)
{
    for (int64_t i = 0; i < n; i += PARTITION_BLOCK) {
        uint32_t keys[PARTITION_BLOCK];
        const int64_t size = n - i < PARTITION_BLOCK ? n - i : PARTITION_BLOCK;
        sort_load_keys_u32(format, size, x + i * stride * (int64_t)sizeof *keys, stride, keys);
        for (int64_t j = 0; j < size; j++) {
            scratch[i + j] = (uint64_t)keys[j] << 32 | (uint64_t)(i + j);
        }
    }
    select_places_u64(SORT_UNSIGNED, n, scratch, scratch + n, count, ranks);
    for (int64_t i = 0; i < n; i++) {
        order[i * stride] = (int64_t)(uint32_t)scratch[i];
    }
}

/* Stores positions of `size` keys to low[*less], or to other[*more], or from other[last] back where
   the key equals the pivot. What lies behind them there, up to `size` words, is overwritten. */
static inline void argpartition_split_u64(int64_t size, const uint64_t *keys, const uint64_t *at,
                                          uint64_t pivot, uint64_t *low, uint64_t *other,
                                          uint64_t *last, int64_t *less, int64_t *more,
                                          int64_t *equal)
{
    int64_t i = 0;
#if defined(__AVX512F__) && !defined(__clang__)
    const sort_wide_i64 zeros = {0}, pivots = zeros + (int64_t)pivot;
    for (; i + 8 <= size; i += 8) {
        const sort_wide_i64 key = (sort_wide_i64)((const sort_wide_u64 *)(keys + i))[0];
        const sort_wide_i64 position = (sort_wide_i64)((const sort_wide_u64 *)(at + i))[0];
        const uint8_t is_less = __builtin_ia32_ucmpq512_mask(key, pivots, 1, 0xff);
        const uint8_t is_more = __builtin_ia32_ucmpq512_mask(key, pivots, 6, 0xff);
        *(sort_wide_u64 *)(low + *less) =
            (sort_wide_u64)__builtin_ia32_compressdi512_mask(position, zeros, is_less);
        *(sort_wide_u64 *)(other + *more) =
            (sort_wide_u64)__builtin_ia32_compressdi512_mask(position, zeros, is_more);
        *less += __builtin_popcount(is_less);
        *more += __builtin_popcount(is_more);
        for (uint32_t same = 255u & ~(uint32_t)(is_less | is_more); same != 0; same &= same - 1) {
            last[-(*equal)++] = at[i + __builtin_ctz(same)];
        }
    }
#endif
    for (; i < size; i++) {
        low[*less] = at[i];
        other[*more] = at[i];
        last[-*equal] = at[i];
        *less += keys[i] < pivot;
        *more += keys[i] > pivot;
        *equal += keys[i] == pivot;
    }
}

/* Moves positions[n] of keys that are less than the pivot to the front, those of greater ones
   to the end, each in their order, and puts those of equal ones between them; gives the number of
   the former two. `is_first` says that they are 0, 1, ... and not there yet. */
static int64_t argpartition_by_u64(int64_t format, int64_t n, const char *x, int64_t stride,
                                   bool is_first, uint64_t pivot, uint64_t *positions,
                                   uint64_t *other)
{
    int64_t less = 0, more = 0, equal = 0;
    for (int64_t i = 0; i < n; i += PARTITION_BLOCK) {
        __attribute__((aligned(64))) uint64_t keys[PARTITION_BLOCK], at[PARTITION_BLOCK];
        const int64_t size = n - i < PARTITION_BLOCK ? n - i : PARTITION_BLOCK;
        if (is_first) {
            sort_load_keys_u64(format, size, x + i * stride * (int64_t)sizeof *keys, stride, keys);
        }
        for (int64_t j = 0; j < size; j++) {
            at[j] = is_first ? (uint64_t)(i + j) : positions[i + j];
        }
        for (int64_t j = 0; j < size && !is_first; j++) {
            keys[j] = sort_key_u64(format, sort_load_u64(x, (int64_t)at[j] * stride));
        }
        argpartition_split_u64(size, keys, at, pivot, positions, other, other + n - 1, &less, &more,
                               &equal);
    }
    for (int64_t i = 0; i < equal; i++) {
        positions[less + i] = other[n - 1 - i];
    }
    memcpy(positions + less + equal, other, (size_t)more * sizeof *other);
    return less + equal;
}

/* The positions of 64-bit elements in the order of a partition at up to eight ranks. */
static void argpartition_row_u64(int64_t format, int64_t n, const char *x, int64_t stride,
                                 int64_t count, const int64_t *ranks, int64_t *order,
                                 uint64_t *scratch)
{
    uint64_t pivots[8];
    sort_load_keys_u64(format, n, x, stride, scratch);
    select_places_u64(SORT_UNSIGNED, n, scratch, scratch + n, count, ranks);
    for (int64_t k = 0; k < count && k < 8; k++) {
        pivots[k] = scratch[ranks[k]];
    }
    uint64_t *positions = stride == 1 ? (uint64_t *)order : scratch, *other = scratch + n;
    int64_t start = 0;
    for (int64_t k = 0; k < count && k < 8; k++) {
        if (ranks[k] >= start) {
            start += argpartition_by_u64(format, n - start, x, stride, start == 0, pivots[k],
                                         positions + start, other);
        }
    }
    for (int64_t i = 0; i < n && stride != 1; i++) {
        order[i * stride] = (int64_t)positions[i];
    }
}

/* numpy.argpartition(x, ranks, axis=1) of x[outer][n][inner], numbers of 32 bits, or of 64 and up
   to eight ranks, which ascend. `scratch` has room for 2 * n words of 64 bits for each of up to
   `places` threads. */
static inline void argpartition_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                                  int64_t words, const void *x, int64_t count,
                                  const int64_t *ranks, int64_t *order, int64_t places,
                                  void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for NUM_THREADS schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        uint64_t *own = (uint64_t *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        for (int64_t row = rows * place / places; row < rows * (place + 1) / places; row++) {
            int64_t start = row / inner * n * inner + row % inner;
            argpartition_row_U(format, n, (const char *)x + start * size, inner, count, ranks,
                               order + start, own);
        }
    }
}
