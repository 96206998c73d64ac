/* numpy.sort(x, axis, kind="stable") of real numbers, for rows along any axis.

   Method: an order-preserving map of numbers to unsigned keys, then quicksort.h for those of 32 and
   64 bits, and of 16 where vectors of them are compressed, and for others a radix sort, least
   significant digit first (D. E. Knuth, "The Art of Computer Programming", volume 3, section
   5.2.5); a digit that is the same in all keys costs no pass. Keys count from the least one; wide
   ones, of positions and their keys, are sorted by their upper digits, then only runs of equal ones
   by the others. Few keys take an insertion sort. Short rows are sorted many at a time
   (sort_lanes.h).

   The text is written once for the C type U of the keys; elements are read as their bits. `format`
   says how bits map to keys: SORT_UNSIGNED, SORT_SIGNED, or for floats the number of bits of their
   fraction. A complex element is two words of U. */

enum { SORT_UNSIGNED = -2, SORT_SIGNED = -1 };

/* Insertion sort up to SORT_FEW keys; SORT_LARGE_DIGIT bits a digit from SORT_MANY keys on. */
enum { SORT_FEW = 48, SORT_MANY = 8192, SORT_DIGIT = 8, SORT_LARGE_DIGIT = 11 };

/* So many elements are compared with their neighbours before it is asked whether one descends. */
enum { SORT_CHECKED = 256 };

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
static inline void sort_insert_U(int64_t n, U *x, int low)
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
static U *sort_digits_U(int64_t n, U *x, U *other, int low, int high)
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
        U *sorted = other;
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
static U *sort_keys_U(int64_t n, U *x, U *other, int width)
{
    const int upper = n < SORT_MANY ? 3 * SORT_DIGIT : 3 * SORT_LARGE_DIGIT;
    if (width <= upper || n <= SORT_FEW) {
        return sort_digits_U(n, x, other, 0, width);
    }
    const int low = width - upper;
    U *sorted = sort_digits_U(n, x, other, low, width);
    other = sorted == x ? other : x;
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && sorted[end] >> low == sorted[start] >> low; end++) {
        }
        U *run = sort_digits_U(end - start, sorted + start, other + start, 0, low);
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

/* Sorts the keys of a row, scratch[n], with as much memory behind them; gives where they are. They
   need no stable sort: equal ones are the same. */
static inline U *sort_row_keys_U(int64_t n, U *scratch)
{
    if (BITS_U >= SORT_NARROWEST) {
        sort_unstable_U(n, scratch, scratch + n);
        return scratch;
    }
    U least = MAX_U, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = scratch[i] < least ? scratch[i] : least;
        most = scratch[i] > most ? scratch[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        scratch[i] = (U)(scratch[i] - least);
    }
    U *keys = sort_keys_U(n, scratch, scratch + n, sort_width_U((U)(most - least)));
    for (int64_t i = 0; i < n; i++) {
        keys[i] = (U)(keys[i] + least);
    }
    return keys;
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

/* Stores the elements of keys, none of which is NaN's. Adjacent elements have loops of their own,
   which vector registers can run. */
static inline void sort_store_keys_U(int64_t format, int64_t n, const U *keys, char *out,
                                     int64_t stride)
{
    const U sign = (U)((U)1 << (BITS_U - 1)), flip = format == SORT_UNSIGNED ? 0 : sign;
    if (stride == 1 && format < 0) {
        for (int64_t i = 0; i < n; i++) {
            sort_store_U(out, i, (U)(keys[i] ^ flip));
        }
    } else if (stride == 1) {
        for (int64_t i = 0; i < n; i++) {
            const U below = (U)((U)(keys[i] >> (BITS_U - 1)) - 1);
            sort_store_U(out, i, (U)(keys[i] ^ (U)(below | sign)));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            sort_store_U(out, i * stride, sort_bits_U(format, keys[i]));
        }
    }
}

/* The position of the first of these keys, which ascend, that equals `key`; n if none does. */
static inline int64_t sort_first_U(int64_t n, const U *keys, U key)
{
    int64_t first = 0;
    for (int64_t count = n; count > 0;) { /* it is among so many from the first on, or behind them */
        const int64_t half = count / 2;
        const bool is_less = keys[first + half] < key;
        first += is_less ? half + 1 : 0;
        count = is_less ? count - half - 1 : half;
    }
    return first < n && keys[first] == key ? first : n;
}

/* Sorts one row of n elements, `stride` apart; `out` may be x. Elements that compare equal with
   different bits (zeros of both signs, NaNs) keep their order. */
__attribute__((noinline))
static void sort_row_U(int64_t format, int64_t n, const char *x, int64_t stride, char *out,
                       U *scratch)
{
    if (sort_copy_ascending_U(format, n, x, stride, out)) {
        return;
    }
    sort_load_keys_U(format, n, x, stride, scratch);
    const U *keys = sort_row_keys_U(n, scratch);
    U *kept = keys == scratch ? scratch + n : scratch;
    int64_t low = n, zeros = 0, nans = 0;
    if (format >= 0) {
        const U zero = (U)((U)1 << (BITS_U - 1)), negative_zero = (U)(zero - 1);
        low = sort_first_U(n, keys, negative_zero);
        if (low + 1 < n && keys[n - 1] >= zero) {
            zeros = sort_pick_U(format, n, x, stride, negative_zero, zero, kept);
        }
        if (keys[n - 1] == MAX_U) {
            nans = sort_pick_U(format, n, x, stride, MAX_U, MAX_U, kept + zeros);
        }
    }
    sort_store_keys_U(format, n, keys, out, stride);
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
