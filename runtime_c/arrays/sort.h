/* numpy.sort(x, axis, kind="stable") and numpy.argsort, for rows along any axis.

   Method: numbers become unsigned keys of the same order, which are sorted by digits from the last
   to the first (D. E. Knuth, "The Art of Computer Programming", volume 3, section 5.2.5); a digit
   that is the same in all keys costs no pass. Keys of 64 bits are sorted by their upper half, and
   then only the runs that are equal there by the lower one. Few keys are sorted by insertion. For
   argsort the key stands in the upper and the position in the lower half of a word. Short rows are
   sorted many at a time, one in each vector lane, by the exchanges of K. E. Batcher (ibid., section
   5.2.2, algorithm M), which are the same for all rows.

   The text is written once for the C type U of the keys; elements are seen as their bits. How bits
   become keys is a number, the format: SORT_UNSIGNED, SORT_SIGNED, or for floats the number of bits
   of their fraction. A complex element is two words of U. */

enum { SORT_UNSIGNED = -2, SORT_SIGNED = -1 };

/* Up to SORT_FEW keys insertion is the fastest; from SORT_MANY on larger digits are. */
enum { SORT_FEW = 48, SORT_MANY = 8192, SORT_DIGIT = 8, SORT_LARGE_DIGIT = 11 };

/* The longest rows that are sorted by exchanges, and the bytes of a vector of keys. */
enum { SORT_SHORT = 256, SORT_BYTES = 64 };

/* Below this number of elements one thread is faster than several. */
enum { SORT_SHARED = 16384 };

/* The key of an element: NaN is the largest; -0.0 stands before 0.0. */
static inline U sort_key_U(int64_t format, U bits)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    if (format == SORT_UNSIGNED) {
        return bits;
    }
    if (format >= 0) {
        U infinity = (U)((U)((U)(sign - 1) >> format) << format);
        if ((U)(bits & (U)~sign) > infinity) {
            return MAX_U;
        }
        if (bits & sign) {
            return (U)~bits;
        }
    }
    return (U)(bits ^ sign);
}

/* The element of a key, which is not that of a NaN. */
static inline U sort_bits_U(int64_t format, U key)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    if (format == SORT_UNSIGNED) {
        return key;
    }
    return format == SORT_SIGNED || (key & sign) ? (U)(key ^ sign) : (U)~key;
}

/* The bits of word `at` of an array of any type. */
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

/* x[n] by the bits from `low` on, in place. */
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

/* x[n] by the bits from `low` to below `high`; where above them bits differ, these are not looked
   at if there are many keys. The result stands in x or in other[n], whichever is returned. */
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

/* x[n] as whole keys; the result stands in x or in other[n], whichever is returned. */
static U *sort_keys_U(int64_t n, U *x, U *other)
{
    if (BITS_U < 64 || n <= SORT_FEW) {
        return sort_digits_U(n, x, other, 0, BITS_U);
    }
    const int half = BITS_U / 2;
    U *sorted = sort_digits_U(n, x, other, half, BITS_U);
    other = sorted == x ? other : x;
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && sorted[end] >> half == sorted[start] >> half; end++) {
        }
        U *run = sort_digits_U(end - start, sorted + start, other + start, 0, half);
        if (run != sorted + start) {
            memcpy(sorted + start, run, (size_t)(end - start) * sizeof(U));
        }
    }
    return sorted;
}

/* out[start + k] = the k-th of those elements of a row whose keys are within first .. last. */
static inline void sort_keep_order_U(int64_t format, int64_t n, const char *x, int64_t stride,
                                     U first, U last, char *out, int64_t start)
{
    for (int64_t i = 0; i < n; i++) {
        U bits = sort_load_U(x, i * stride), key = sort_key_U(format, bits);
        if (key >= first && key <= last) {
            sort_store_U(out, start++ * stride, bits);
        }
    }
}

/* One row of n elements, `stride` apart. Elements that are equal but not the same (zeros of both
   signs, NaN) keep their order. */
static void sort_row_U(int64_t format, int64_t n, const char *x, int64_t stride, char *out,
                       U *scratch)
{
    for (int64_t i = 0; i < n; i++) {
        scratch[i] = sort_key_U(format, sort_load_U(x, i * stride));
    }
    U *keys = sort_keys_U(n, scratch, scratch + n);
    for (int64_t i = 0; i < n; i++) {
        sort_store_U(out, i * stride, sort_bits_U(format, keys[i]));
    }
    if (format < 0) {
        return;
    }
    const U zero = (U)((U)1 << (BITS_U - 1)), negative_zero = (U)(zero - 1);
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (keys[middle] < negative_zero) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low + 1 < n && keys[low] == negative_zero && keys[n - 1] >= zero) {
        sort_keep_order_U(format, n, x, stride, negative_zero, zero, out, low);
    }
    if (keys[n - 1] == MAX_U) {
        for (high = n - 1; high > 0 && keys[high - 1] == MAX_U; high--) {
        }
        sort_keep_order_U(format, n, x, stride, MAX_U, MAX_U, out, high);
    }
}

enum { SORT_LANES_U = SORT_BYTES / sizeof(U) };

/* In each lane the smaller of x and y to x, the larger to y. */
static inline void sort_exchange_U(U *x, U *y)
{
    #pragma omp simd
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        U a = x[lane], b = y[lane];
        x[lane] = a < b ? a : b;
        y[lane] = a < b ? b : a;
    }
}

/* keys[n][lane] in order in each lane. */
static inline void sort_lanes_U(int64_t n, U keys[][SORT_LANES_U])
{
    int64_t widest = 1;
    while (2 * widest < n) {
        widest *= 2;
    }
    for (int64_t p = widest; p > 0; p /= 2) {
        int64_t distance = p, residue = 0;
        for (int64_t q = widest;; q /= 2) {
            for (int64_t run = residue; run + distance < n; run += 2 * p) {
                for (int64_t i = run; i < run + p && i + distance < n; i++) {
                    sort_exchange_U(keys[i], keys[i + distance]);
                }
            }
            if (q == p) {
                break;
            }
            distance = q - p;
            residue = p;
        }
    }
}

/* Rows first .. first + count - 1 <= SORT_LANES_U of x[outer][n][inner], n <= SORT_SHORT. Rows with
   elements that are equal but may not be the same are sorted one by one. */
static void sort_short_U(int64_t format, int64_t n, int64_t inner, const char *x, char *out,
                         int64_t first, int64_t count, U *scratch)
{
    U keys[SORT_SHORT][SORT_LANES_U];
    int64_t start[SORT_LANES_U];
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        int64_t row = first + (lane < count ? lane : 0);
        start[lane] = row / inner * n * inner + row % inner;
        for (int64_t i = 0; i < n; i++) {
            keys[i][lane] = sort_load_U(x, start[lane] + i * inner);
        }
    }
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    U odd[SORT_LANES_U] = {0};
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            U key = sort_key_U(format, keys[i][lane]);
            odd[lane] |= (U)(key == negative_zero) | (U)(key == MAX_U);
            keys[i][lane] = key;
        }
    }
    sort_lanes_U(n, keys);
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            keys[i][lane] = sort_bits_U(format, keys[i][lane]);
        }
    }
    for (int64_t lane = 0; lane < count; lane++) {
        int64_t at = start[lane];
        if (format >= 0 && odd[lane]) {
            const int64_t bytes = at * (int64_t)sizeof(U);
            sort_row_U(format, n, x + bytes, inner, out + bytes, scratch);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            sort_store_U(out, at + i * inner, keys[i][lane]);
        }
    }
}

/* numpy.sort of all rows of x[outer][n][inner], stable. `words` is 1; `scratch` has for each of
   `places` rows that are sorted at a time room for 2 * n keys. */
static inline void sort_U(int64_t outer, int64_t n, int64_t inner, int64_t format, int64_t words,
                          const void *x, void *out, int64_t places, void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        U *own = (U *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        /* Neighbours one after another: along an inner axis they share cache lines. */
        int64_t row = rows * place / places, end = rows * (place + 1) / places;
        while (n <= SORT_SHORT && end - row > 1) {
            int64_t count = end - row < SORT_LANES_U ? end - row : SORT_LANES_U;
            sort_short_U(format, n, inner, (const char *)x, (char *)out, row, count, own);
            row += count;
        }
        for (; row < end; row++) {
            int64_t start = (row / inner * n * inner + row % inner) * size;
            sort_row_U(format, n, (const char *)x + start, inner, (char *)out + start, own);
        }
    }
}

/* The key of word `part` of an element of a row of elements of `words` words; zeros are equal. */
static inline U sort_equal_key_U(int64_t format, int64_t words, int64_t part, const char *x,
                                 int64_t stride, int64_t position)
{
    U key = sort_key_U(format, sort_load_U(x, position * stride * words + part));
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    return format >= 0 && key == negative_zero ? (U)(key + 1) : key;
}

/* The positions in the lower halves of pairs[n], reordered by their elements' word `part`. */
static uint64_t *argsort_part_U(int64_t format, int64_t words, int64_t part, int64_t n,
                                const char *x, int64_t stride, uint64_t *pairs, uint64_t *other)
{
    const int upper = BITS_U < 32 ? BITS_U : 32, lower = BITS_U - upper;
    for (int64_t i = 0; i < n; i++) {
        uint32_t position = (uint32_t)pairs[i];
        uint64_t key = sort_equal_key_U(format, words, part, x, stride, position);
        pairs[i] = key >> lower << 32 | position;
    }
    uint64_t *sorted = sort_digits_u64(n, pairs, other, 32, 32 + upper);
    if (lower == 0) {
        return sorted;
    }
    other = sorted == pairs ? other : pairs;
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && sorted[end] >> 32 == sorted[start] >> 32; end++) {
        }
        if (end - start == 1) {
            continue;
        }
        for (int64_t i = start; i < end; i++) {
            uint32_t position = (uint32_t)sorted[i];
            uint64_t key = sort_equal_key_U(format, words, part, x, stride, position);
            sorted[i] = key << 32 | position;
        }
        uint64_t *run = sort_digits_u64(end - start, sorted + start, other + start, 32, 64);
        if (run != sorted + start) {
            memcpy(sorted + start, run, (size_t)(end - start) * sizeof *run);
        }
    }
    return sorted;
}

/* Complex numbers with a NaN come after those without, in NumPy's order of the four kinds. */
static uint64_t *argsort_nan_U(int64_t format, int64_t n, const char *x, int64_t stride,
                               uint64_t *pairs, uint64_t *other)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        uint32_t position = (uint32_t)pairs[i];
        bool real = sort_equal_key_U(format, 2, 0, x, stride, position) == MAX_U;
        bool imag = sort_equal_key_U(format, 2, 1, x, stride, position) == MAX_U;
        pairs[i] = (uint64_t)(2 * real + imag) << 32 | position;
        found = found || imag;
    }
    return found ? sort_digits_u64(n, pairs, other, 32, 34) : pairs;
}

/* The positions in the lower halves of pairs[n], reordered by their elements: `pairs` and `other`
   have n words each, and the one that is returned has the result. */
static uint64_t *argsort_row_U(int64_t format, int64_t words, int64_t n, const char *x,
                               int64_t stride, uint64_t *pairs, uint64_t *other)
{
    for (int64_t part = words - 1; part >= 0; part--) {
        uint64_t *sorted = argsort_part_U(format, words, part, n, x, stride, pairs, other);
        other = sorted == pairs ? other : pairs;
        pairs = sorted;
    }
    return words == 2 ? argsort_nan_U(format, n, x, stride, pairs, other) : pairs;
}

/* Rows first .. first + count - 1 <= SORT_LANES_u64 of x[outer][n][inner], n <= SORT_SHORT, whose
   keys have at most 32 bits. */
static void argsort_short_U(int64_t format, int64_t n, int64_t inner, const char *x, int64_t *out,
                            int64_t first, int64_t count)
{
    uint64_t pairs[SORT_SHORT][SORT_LANES_u64];
    int64_t start[SORT_LANES_u64];
    for (int lane = 0; lane < SORT_LANES_u64; lane++) {
        int64_t row = first + (lane < count ? lane : 0);
        start[lane] = row / inner * n * inner + row % inner;
        for (int64_t i = 0; i < n; i++) {
            pairs[i][lane] = sort_load_U(x, start[lane] + i * inner);
        }
    }
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_u64; lane++) {
            U key = sort_key_U(format, (U)pairs[i][lane]);
            uint64_t even = (uint64_t)key + (format >= 0 && key == negative_zero);
            pairs[i][lane] = even << 32 | (uint64_t)i;
        }
    }
    sort_lanes_u64(n, pairs);
    for (int64_t lane = 0; lane < count; lane++) {
        for (int64_t i = 0; i < n; i++) {
            out[start[lane] + i * inner] = (int64_t)(uint32_t)pairs[i][lane];
        }
    }
}

/* numpy.argsort of all rows of x[outer][n][inner], stable. Where `again`, `out` has positions
   already, by less significant keys. `scratch` has for each of `places` rows that are sorted at a
   time room for 2 * n words of 64 bits. */
static inline void argsort_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                             int64_t words, const void *x, int64_t *out, int64_t again,
                             int64_t places, void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        uint64_t *own = (uint64_t *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        int64_t row = rows * place / places, end = rows * (place + 1) / places;
        bool is_short = n <= SORT_SHORT && BITS_U <= 32 && words == 1 && !again;
        while (is_short && end - row > 1) {
            int64_t count = end - row < SORT_LANES_u64 ? end - row : SORT_LANES_u64;
            argsort_short_U(format, n, inner, (const char *)x, out, row, count);
            row += count;
        }
        for (; row < end; row++) {
            int64_t start = row / inner * n * inner + row % inner;
            for (int64_t i = 0; i < n; i++) {
                own[i] = (uint64_t)(again ? out[start + i * inner] : i);
            }
            uint64_t *sorted = argsort_row_U(format, words, n, (const char *)x + start * size,
                                             inner, own, own + n);
            for (int64_t i = 0; i < n; i++) {
                out[start + i * inner] = (int64_t)(uint32_t)sorted[i];
            }
        }
    }
}

/* numpy.sort of all rows of x[outer][n][inner], which are complex: by their positions. */
static inline void sort_pairs_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                                int64_t words, const void *x, void *out, int64_t places,
                                void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        uint64_t *own = (uint64_t *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        for (int64_t row = rows * place / places; row < rows * (place + 1) / places; row++) {
            int64_t start = row / inner * n * inner + row % inner;
            const char *from = (const char *)x + start * size;
            for (int64_t i = 0; i < n; i++) {
                own[i] = (uint64_t)i;
            }
            uint64_t *sorted = argsort_row_U(format, words, n, from, inner, own, own + n);
            for (int64_t i = 0; i < n; i++) {
                memcpy((char *)out + (start + i * inner) * size,
                       from + (int64_t)(uint32_t)sorted[i] * inner * size, (size_t)size);
            }
        }
    }
}
