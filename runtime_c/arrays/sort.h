/* numpy.sort(x, axis, kind="stable") of real numbers, for rows along any axis.

   Method: an order-preserving map of numbers to unsigned keys, then quicksort.h for those of 32 and
   64 bits, and of 16 where vectors of them are told apart, and for others a radix sort, least
   significant digit first (D. E. Knuth, "The Art of Computer Programming", volume 3, section
   5.2.5); a digit that is the same in all keys costs no pass. Keys count from the least one; wide
   ones, of positions and their keys, are sorted by their upper digits, then only runs of equal ones
   by the others. Few keys take an insertion sort. Zeros of both signs and NaNs, whose order is no
   key's, are put into their places afterwards. Short rows are sorted many at a time (sort_lanes.h).

   The text is written once for the C type U of the keys; elements are read as their bits. `format`
   says how bits map to keys: SORT_UNSIGNED, SORT_SIGNED, or for floats the number of bits of their
   fraction. A complex element is two words of U. */

enum { SORT_UNSIGNED = -2, SORT_SIGNED = -1 };

/* Insertion sort up to SORT_FEW keys; SORT_LARGE_DIGIT bits a digit from SORT_MANY keys on. */
enum { SORT_FEW = 48, SORT_MANY = 8192, SORT_DIGIT = 8, SORT_LARGE_DIGIT = 11 };

/* So many elements are compared with their neighbours before it is asked whether one descends; the
   first ones one by one. */
enum { SORT_CHECKED = 256, SORT_CHECKED_FIRST = 8 };

/* With up to this number of elements, one thread is faster than several. */
enum { SORT_SHARED = 16384 };

/* The key of an element: NaNs have the largest; -0.0 is below 0.0. */
static inline U sort_key_U(int64_t format, U bits)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    if (format == SORT_UNSIGNED) {
        return bits;
    }
    if (format < 0) {
        return (U)(bits ^ sign);
    }
    const U infinity = (U)((U)((U)(sign - 1) >> format) << format);
    U key = (U)(bits ^ (U)((U)(0 - (bits >> (BITS_U - 1))) | sign));
    return (U)(key | (U)(0 - (U)((U)(bits & (U)~sign) > infinity)));
}

/* The element of a key, the inverse of sort_key; not for NaN. */
static inline U sort_bits_U(int64_t format, U key)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    if (format == SORT_UNSIGNED) {
        return key;
    }
    return format == SORT_SIGNED || (key & sign) ? (U)(key ^ sign) : (U)~key;
}

/* The bits of word `at` of an array of any type (memcpy, against aliasing rules). */
static inline U sort_load_U(const char *x, int64_t at)
{
    U bits;
    memcpy(&bits, x + at * (int64_t)sizeof bits, sizeof bits);
    return bits;
}

static inline void sort_store_U(char *x, int64_t at, U bits)
{
    memcpy(x + at * (int64_t)sizeof bits, &bits, sizeof bits);
}

/* Insertion sort of x[n] by the bits from `low` on, in place; stable. */
static inline void sort_insert_U(int64_t n, sort_word_U *x, int low)
{
    for (int64_t i = 1; i < n; i++) {
        U moving = x[i], key = (U)(moving >> low);
        int64_t j = i;
        for (; j > 0 && (U)(x[j - 1] >> low) > key; j--) {
            x[j] = x[j - 1];
        }
        x[j] = moving;
    }
}

/* Radix sort of x[n] by the bits low .. high - 1; the bits from `high` on count where keys are few,
   and do not where they are many. The result is in x or in other[n], whichever is returned. */
static sort_word_U *sort_digits_U(int64_t n, sort_word_U *x, sort_word_U *other, int low, int high)
{
    if (n <= SORT_FEW) {
        sort_insert_U(n, x, low);
        return x;
    }
    int width = n < SORT_MANY ? SORT_DIGIT : SORT_LARGE_DIGIT;
    for (int bit = low; bit < high; bit += width) {
        int bits = high - bit < width ? high - bit : width;
        U mask = (U)(((uint32_t)1 << bits) - 1);
        uint32_t next[1 << SORT_LARGE_DIGIT], before = 0;
        memset(next, 0, sizeof *next << bits);
        for (int64_t i = 0; i < n; i++) {
            next[(U)(x[i] >> bit) & mask]++;
        }
        if (next[(U)(x[0] >> bit) & mask] == (uint32_t)n) {
            continue;
        }
        for (int digit = 0; digit < 1 << bits; digit++) {
            uint32_t count = next[digit];
            next[digit] = before;
            before += count;
        }
        for (int64_t i = 0; i < n; i++) {
            other[next[(U)(x[i] >> bit) & mask]++] = x[i];
        }
        sort_word_U *sorted = other;
        other = x;
        x = sorted;
    }
    return x;
}

/* The number of bits of a number. */
static inline int sort_width_U(U x)
{
    int width = 0;
    while (width < BITS_U && x >> width != 0) {
        width++;
    }
    return width;
}

/* Sorts x[n], numbers of `width` bits; the result is in x or in other[n], whichever is returned. */
static sort_word_U *sort_keys_U(int64_t n, sort_word_U *x, sort_word_U *other, int width)
{
    const int upper = n < SORT_MANY ? 3 * SORT_DIGIT : 3 * SORT_LARGE_DIGIT;
    if (width <= upper || n <= SORT_FEW) {
        return sort_digits_U(n, x, other, 0, width);
    }
    const int low = width - upper;
    sort_word_U *sorted = sort_digits_U(n, x, other, low, width);
    other = sorted == x ? other : x;
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && sorted[end] >> low == sorted[start] >> low; end++) {
        }
        sort_word_U *run = sort_digits_U(end - start, sorted + start, other + start, 0, low);
        if (run != sorted + start) {
            memcpy(sorted + start, run, (size_t)(end - start) * sizeof(U));
        }
    }
    return sorted;
}

/* Copies the elements whose keys are in first .. last to `out`, in order; gives their number. */
static inline int64_t sort_pick_U(int64_t format, int64_t n, const char *x, int64_t stride, U first,
                                  U last, U *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        U bits = sort_load_U(x, i * stride), key = sort_key_U(format, bits);
        if (key >= first && key <= last) {
            out[count++] = bits;
        }
    }
    return count;
}

/* Sorts x[n], none of which is NaN but the largest one, with as much scratch memory; equal ones are
   the same. */
__attribute__((noinline))
static void sort_by_radix_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other)
{
    U least = MAX_U, most = 0;
    for (int64_t i = 0; i < n; i++) {
        const U key = sort_word_key_U(format, x[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
        x[i] = key;
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = (U)(x[i] - least);
    }
    const sort_word_U *keys = sort_keys_U(n, x, other, sort_width_U((U)(most - least)));
    for (int64_t i = 0; i < n; i++) {
        x[i] = sort_bits_U(format, (U)(keys[i] + least));
    }
}

/* Copies a row as long as it ascends; true if all of it does. */
__attribute__((always_inline))
static inline bool sort_copy_ascending_as_U(int64_t format, int64_t n, const char *x,
                                            int64_t stride, char *out)
{
    for (int64_t i = 0; i < n; i += SORT_CHECKED) {
        const int64_t end = i + SORT_CHECKED < n ? i + SORT_CHECKED : n;
        const int64_t last = end < n ? end : n - 1;
        U descends = 0;
        if (stride == 1) { /* a loop of its own, which vector registers can run */
            #pragma omp simd reduction(|:descends)
            for (int64_t j = i; j < last; j++) {
                descends |= sort_key_U(format, sort_load_U(x, j + 1))
                    < sort_key_U(format, sort_load_U(x, j));
            }
        } else {
            for (int64_t j = i; j < last; j++) {
                descends |= sort_key_U(format, sort_load_U(x, (j + 1) * stride))
                    < sort_key_U(format, sort_load_U(x, j * stride));
            }
        }
        if (descends) {
            return false;
        }
        if (stride == 1 && out != x) {
            memcpy(out + i * (int64_t)sizeof(U), x + i * (int64_t)sizeof(U),
                   (size_t)(end - i) * sizeof(U));
        } else if (out != x) {
            for (int64_t j = i; j < end; j++) {
                sort_store_U(out, j * stride, sort_load_U(x, j * stride));
            }
        }
    }
    return true;
}

/* The same, with loops of their own for each kind of numbers. */
static inline bool sort_copy_ascending_U(int64_t format, int64_t n, const char *x, int64_t stride,
                                         char *out)
{
    for (int64_t i = 0; i < n - 1 && i < SORT_CHECKED_FIRST; i++) {
        if (sort_key_U(format, sort_load_U(x, (i + 1) * stride))
            < sort_key_U(format, sort_load_U(x, i * stride))) {
            return false;
        }
    }
    if (format == SORT_UNSIGNED) {
        return sort_copy_ascending_as_U(SORT_UNSIGNED, n, x, stride, out);
    }
    return format < 0 ? sort_copy_ascending_as_U(SORT_SIGNED, n, x, stride, out)
        : sort_copy_ascending_as_U(format, n, x, stride, out);
}

/* The keys of a row. Adjacent elements have loops of their own, which vector registers can run. */
static inline void sort_load_keys_U(int64_t format, int64_t n, const char *x, int64_t stride,
                                    U *keys)
{
    if (stride == 1 && format < 0) {
        for (int64_t i = 0; i < n; i++) {
            keys[i] = sort_key_U(format, sort_load_U(x, i));
        }
    } else if (stride == 1) {
        const U sign = (U)((U)1 << (BITS_U - 1)), size = (U)(sign - 1);
        const U infinity = (U)((U)(size >> format) << format);
        for (int64_t i = 0; i < n; i++) {
            const U bits = sort_load_U(x, i), is_nan = (U)((U)(bits & size) > infinity);
            const U flip = (U)((U)(0 - (U)(bits >> (BITS_U - 1))) | sign);
            keys[i] = (U)((U)(bits ^ flip) | (U)(0 - is_nan));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            keys[i] = sort_key_U(format, sort_load_U(x, i * stride));
        }
    }
}

/* What a row has besides numbers whose bits say their order: -0.0, which equals 0.0, and NaN. */
enum { SORT_ZERO = 1, SORT_NAN = 2 };

/* Copies the elements of a row to `out` and gives what the row has; `out` may be the row. */
__attribute__((noinline))
static int sort_copy_numbers_U(int64_t format, int64_t n, const char *x, int64_t stride,
                               sort_word_U *out)
{
    const sort_word_U *from = (const sort_word_U *)(const void *)x;
    for (int64_t i = 0; i < n && stride != 1; i++) {
        out[i] = from[i * stride];
    }
    if (format < 0) {
        if (stride == 1 && out != from) {
            memcpy(out, x, (size_t)n * sizeof *out);
        }
        return 0;
    }
    from = stride == 1 ? from : out;
    const U sign = (U)((U)1 << (BITS_U - 1)), size = (U)(sign - 1);
    const U infinity = (U)((U)(size >> format) << format);
    sort_wide_U to_zero = (sort_wide_U){0} - 1, to_nan = to_zero; /* the least distances */
    int64_t i = 0;
    for (; i + SORT_WIDE_U <= n; i += SORT_WIDE_U) {
        const sort_wide_U bits = *(const sort_wide_U *)(from + i);
        *(sort_wide_U *)(out + i) = bits;
        to_zero = sort_smaller_U(to_zero, bits ^ sign);
        to_nan = sort_smaller_U(to_nan, ~bits & size);
    }
    U zero = MAX_U, nan = MAX_U;
    for (int64_t lane = 0; lane < SORT_WIDE_U; lane++) {
        zero = to_zero[lane] < zero ? to_zero[lane] : zero;
        nan = to_nan[lane] < nan ? to_nan[lane] : nan;
    }
    for (; i < n; i++) {
        const U bits = from[i], from_zero = (U)(bits ^ sign), from_nan = (U)(~bits & size);
        out[i] = bits;
        zero = from_zero < zero ? from_zero : zero;
        nan = from_nan < nan ? from_nan : nan;
    }
    return (zero == 0 ? SORT_ZERO : 0) | (nan < (U)(~infinity & size) ? SORT_NAN : 0);
}

/* Makes every NaN of x[n] the one of the largest key. */
static inline void sort_number_nans_U(int64_t format, int64_t n, sort_word_U *x)
{
    for (int64_t i = 0; i < n; i++) {
        const U bits = x[i];
        x[i] = sort_key_U(format, bits) == MAX_U ? sort_fraction_U(format) : bits;
    }
}

/* The number of elements of a sorted row that are less than zero. */
static inline int64_t sort_negatives_U(int64_t format, int64_t n, const char *x, int64_t stride)
{
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    int64_t first = 0;
    for (int64_t count = n; count > 0;) { /* the end is among so many from the first on */
        const int64_t half = count / 2;
        const U bits = sort_load_U(x, (first + half) * stride);
        const bool is_less = sort_key_U(format, bits) < negative_zero;
        first += is_less ? half + 1 : 0;
        count = is_less ? count - half - 1 : half;
    }
    return first;
}

/* Copies zeros of both signs, if some are -0.0, and NaNs to kept[n], in order, and gives their
   numbers. */
__attribute__((noinline))
static void sort_keep_odd_U(int64_t format, int odd, int64_t n, const char *x,
                                   int64_t stride, U *kept, int64_t *zeros, int64_t *nans)
{
    const U zero = (U)((U)1 << (BITS_U - 1)), negative_zero = (U)(zero - 1);
    if (odd & SORT_ZERO) {
        *zeros = sort_pick_U(format, n, x, stride, negative_zero, zero, kept);
    }
    if (odd & SORT_NAN) {
        *nans = sort_pick_U(format, n, x, stride, MAX_U, MAX_U, kept + *zeros);
    }
}

/* Sorts one row of n elements, `stride` apart; `out` may be x. Elements that compare equal with
   different bits (zeros of both signs, NaNs) keep their order. The elements are sorted where `out`
   is, or in scratch memory where they are not adjacent there. */
__attribute__((noinline))
static void sort_row_U(int64_t format, int64_t n, const char *x, int64_t stride, char *out,
                       U *scratch)
{
    if (sort_copy_ascending_U(format, n, x, stride, out)) {
        return;
    }
    sort_word_U *sorted = stride == 1 ? (sort_word_U *)(void *)out : scratch;
    const int odd = sort_copy_numbers_U(format, n, x, stride, sorted);
    U *kept = scratch + n;
    int64_t zeros = 0, nans = 0;
    if (stride == 1) {
        sort_keep_odd_U(format, odd, n, x, stride, kept, &zeros, &nans);
    }
    if (odd & SORT_NAN) {
        sort_number_nans_U(format, n, sorted);
    }
    if (BITS_U >= SORT_NARROWEST) {
        sort_unstable_U(format, n, sorted, stride == 1 ? scratch : scratch + n);
    } else {
        sort_by_radix_U(format, n, sorted, stride == 1 ? scratch : scratch + n);
    }
    if (stride != 1) {
        sort_keep_odd_U(format, odd, n, x, stride, kept, &zeros, &nans);
        for (int64_t i = 0; i < n; i++) {
            sort_store_U(out, i * stride, sorted[i]);
        }
    }
    const int64_t low = zeros > 0 ? sort_negatives_U(format, n, out, stride) : 0;
    for (int64_t i = 0; i < zeros; i++) {
        sort_store_U(out, (low + i) * stride, kept[i]);
    }
    for (int64_t i = 0; i < nans; i++) {
        sort_store_U(out, (n - nans + i) * stride, kept[zeros + i]);
    }
}

/* The first of `rows` rows that thread `place` of `places` sorts: each has whole groups of `lanes`
   rows, adjacent ones, which share cache lines along an inner axis. */
static inline int64_t sort_first_row(int64_t rows, int64_t lanes, int64_t place, int64_t places)
{
    int64_t row = (rows + lanes - 1) / lanes * place / places * lanes;
    return row < rows ? row : rows;
}

/* Rows of more than SORT_FEW keys share the lanes if there are more than this number of them. */
#if defined(__AVX512F__) && !defined(__clang__)
enum { SORT_FEWEST_U = BITS_U < SORT_NARROWEST ? SORT_LANES_U / 4 : SORT_LANES_U * 5 / 8 };
#else
enum { SORT_FEWEST_U = SORT_LANES_U / 4 };
#endif

/* Sorts the rows of x[outer][n][inner] from `row` to `end`. */
static void sort_rows_U(int64_t n, int64_t inner, int64_t format, const char *x, char *out,
                        int64_t row, int64_t end, U *scratch)
{
    while (n <= SORT_SHORT && end - row > (n > SORT_FEW ? SORT_FEWEST_U : 1)) {
        int64_t count = end - row < SORT_LANES_U ? end - row : SORT_LANES_U;
        sort_short_U(format, n, inner, x, out, row, count, scratch);
        row += count;
    }
    for (; row < end; row++) {
        const int64_t start = (row / inner * n * inner + row % inner) * (int64_t)sizeof(U);
        sort_row_U(format, n, x + start, inner, out + start, scratch);
    }
}

/* numpy.sort of all rows of x[outer][n][inner], stable. `words` is 1. The rows are sorted by up to
   `places` threads; `scratch` has room for 2 * n keys for each of them. */
static inline void sort_U(int64_t outer, int64_t n, int64_t inner, int64_t format, int64_t words,
                          const void *x, void *out, int64_t places, void *scratch)
{
    const int64_t rows = outer * inner, lanes = n <= SORT_SHORT ? SORT_LANES_U : 1;
    U *all = (U *)((char *)scratch + (-(uintptr_t)scratch & 63));
    (void)words;
    if (places == 1 || rows * n <= SORT_SHARED) { /* threads may share each row */
        sort_rows_U(n, inner, format, (const char *)x, (char *)out, 0, rows, all);
        return;
    }
    #pragma omp parallel for NUM_THREADS schedule(static)
    for (int64_t place = 0; place < places; place++) {
        sort_rows_U(n, inner, format, (const char *)x, (char *)out,
                    sort_first_row(rows, lanes, place, places),
                    sort_first_row(rows, lanes, place + 1, places), all + place * 2 * n);
    }
}
