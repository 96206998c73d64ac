/* numpy.argsort(x, axis, kind="stable") of rows along any axis, and numpy.sort of complex numbers.

   Method: words whose upper half is the key and whose lower half the position are all distinct, so
   that quicksort.h sorts them stably; sort.h's radix sort where positions come in another order. A
   wider key, from the least one on, is sorted by its upper 32 bits, then runs of those that are
   equal by the lower ones; complex numbers by their first key, then runs of equal first keys by the
   second one. Keys that are in order already, or in the reverse one, take one pass. */

/* The longest rows of complex numbers that are sorted by the network: three words a number. Numbers
   of 64 bits take two. */
enum { SORT_SHORT_PAIRS = 128, ARGSORT_SHORT = 192 };

/* The key of an element by which zeros of both signs are equal. */
static inline U sort_equal_key_U(int64_t format, U bits)
{
    U key = sort_key_U(format, bits);
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    return format >= 0 && key == negative_zero ? (U)(key + 1) : key;
}

/* That of a float, from the bits of infinity: without branches, for vector lanes. */
static inline U sort_float_key_U(U infinity, U bits)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    U flip = (U)((U)(0 - (bits >> (BITS_U - 1))) | sign);
    U key = (U)((bits ^ flip) + (bits == sign));
    return (U)(key | (U)(0 - (U)((U)(bits & (U)~sign) > infinity)));
}

/* The more significant (`part` 0) or the other key of a complex number, from those of its real and
   its imaginary part. Numbers with a NaN are behind those without, in NumPy's order: NaN in the
   imaginary part, in the real part, in both; the part that is none is their other key. */
static inline U sort_pair_key_U(U real, U imag, int64_t part)
{
    if (real == MAX_U) {
        return part == 0 ? (U)(imag == MAX_U ? MAX_U : MAX_U - 1) : imag;
    }
    if (imag == MAX_U) {
        return part == 0 ? (U)(MAX_U - 2) : real;
    }
    return part == 0 ? real : imag;
}

/* Key `part` of an element of `words` words. */
static inline U sort_part_key_U(int64_t format, int64_t words, int64_t part, const char *x,
                                int64_t stride, int64_t position)
{
    int64_t at = position * stride * words;
    U key = sort_equal_key_U(format, sort_load_U(x, at));
    if (words == 1) {
        return key;
    }
    return sort_pair_key_U(key, sort_equal_key_U(format, sort_load_U(x, at + 1)), part);
}

/* Puts runs of sorted[n] whose upper halves, of keys from `least` on, are equal in the order of the
   `lower` bits of key `part` below them; stable. */
static void argsort_runs_U(int64_t format, int64_t words, int64_t part, int64_t n, const char *x,
                           int64_t stride, U least, int lower, uint64_t *sorted, uint64_t *other)
{
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && sorted[end] >> 32 == sorted[start] >> 32; end++) {
        }
        if (end - start == 1) {
            continue;
        }
        bool ascends = true; // as equal numbers do
        for (int64_t i = start; i < end; i++) {
            uint32_t position = (uint32_t)sorted[i];
            uint64_t key = (U)(sort_part_key_U(format, words, part, x, stride, position) - least);
            sorted[i] = key << 32 | position;
            ascends = ascends && (i == start || sorted[i - 1] <= sorted[i]);
        }
        if (ascends) {
            continue;
        }
        uint64_t *run = sort_digits_u64(end - start, sorted + start, other + start, 32, 32 + lower);
        if (run != sorted + start) {
            memcpy(sorted + start, run, (size_t)(end - start) * sizeof *run);
        }
    }
}

/* Sorts pairs[n], whose lower halves are positions, by key `part` of their elements; stable. The
   result is in `pairs` or in other[n], whichever is returned. */
static uint64_t *argsort_part_U(int64_t format, int64_t words, int64_t part, int64_t n,
                                const char *x, int64_t stride, uint64_t *pairs, uint64_t *other)
{
    U least = MAX_U, most = 0;
    for (int64_t i = 0; i < n; i++) {
        U key = sort_part_key_U(format, words, part, x, stride, (uint32_t)pairs[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    const int width = sort_width_U((U)(most - least)), lower = width > 32 ? width - 32 : 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t position = (uint32_t)pairs[i];
        uint64_t key = (U)(sort_part_key_U(format, words, part, x, stride, position) - least);
        pairs[i] = key >> lower << 32 | position;
    }
    uint64_t *sorted = sort_digits_u64(n, pairs, other, 32, 32 + width - lower);
    if (lower > 0) {
        argsort_runs_U(format, words, part, n, x, stride, least, lower, sorted,
                       sorted == pairs ? other : pairs);
    }
    return sorted;
}

/* The keys of a row by which zeros of both signs are equal. */
static inline void argsort_load_keys_U(int64_t format, int64_t n, const char *x, int64_t stride,
                                       U *keys)
{
    const U negative_zero = (U)(((U)1 << (BITS_U - 1)) - 1);
    sort_load_keys_U(format, n, x, stride, keys);
    for (int64_t i = 0; i < n && format >= 0; i++) {
        keys[i] = (U)(keys[i] + (keys[i] == negative_zero));
    }
}

/* Sorts the positions of a row of real numbers; stable, as a position below its key makes all words
   distinct. The result is in the lower halves of `pairs` or of other[n], whichever is returned. */
__attribute__((noinline))
static uint64_t *argsort_real_U(int64_t format, int64_t n, const char *x, int64_t stride,
                                uint64_t *pairs, uint64_t *other)
{
    U *keys = (U *)(void *)other, least = MAX_U, most = 0;
    argsort_load_keys_U(format, n, x, stride, keys);
    #pragma omp simd reduction(min:least) reduction(max:most)
    for (int64_t i = 0; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    const int width = sort_width_U((U)(most - least)), lower = width > 32 ? width - 32 : 0;
    #pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        pairs[i] = (uint64_t)(U)(keys[i] - least) >> lower << 32 | (uint64_t)i;
    }
    uint64_t *sorted = pairs;
    if ((width <= SORT_DIGIT && n > SORT_FEW) || (!SORT_IN_VECTORS && n >= SORT_MANY)) {
        sorted = sort_digits_u64(n, pairs, other, 32, 32 + width - lower);
    } else {
        sort_unstable_u64(SORT_UNSIGNED, n, pairs, other);
    }
    if (lower > 0) {
        argsort_runs_U(format, 1, 0, n, x, stride, least, lower, sorted,
                       sorted == pairs ? other : pairs);
    }
    return sorted;
}

/* Sorts pairs[n], whose lower halves are positions, by the elements there; stable. The result is in
   `pairs` or in other[n], whichever is returned. Complex numbers are sorted by their first key,
   then runs of equal first keys by the second one. */
__attribute__((noinline))
static uint64_t *argsort_row_U(int64_t format, int64_t words, int64_t n, const char *x,
                               int64_t stride, uint64_t *pairs, uint64_t *other)
{
    uint64_t *sorted = argsort_part_U(format, words, 0, n, x, stride, pairs, other);
    if (words == 1 || n == 0) {
        return sorted;
    }
    other = sorted == pairs ? other : pairs;
    U key = sort_part_key_U(format, words, 0, x, stride, (uint32_t)sorted[0]);
    for (int64_t start = 0, end; start < n; start = end) {
        U first = key;
        for (end = start + 1; end < n; end++) {
            key = sort_part_key_U(format, words, 0, x, stride, (uint32_t)sorted[end]);
            if (key != first) {
                break;
            }
        }
        if (end - start == 1) {
            continue;
        }
        uint64_t *run = argsort_part_U(format, words, 1, end - start, x, stride, sorted + start,
                                       other + start);
        if (run != sorted + start) {
            memcpy(sorted + start, run, (size_t)(end - start) * sizeof *run);
        }
    }
    return sorted;
}

/* Sorts `count` <= SORT_LANES_U rows of complex numbers x[outer][n][inner] from row `first` on, to
   `out`, or their positions to `order` where that is not NULL; n <= SORT_SHORT_PAIRS. The position
   is the least significant key, so the network sorts stably. */
static void sort_short_pairs_U(int64_t format, int64_t n, int64_t inner, const char *x, char *out,
                               int64_t *order, int64_t first, int64_t count)
{
    U keys[SORT_SHORT_PAIRS][3][SORT_LANES_U];
    int64_t start[SORT_LANES_U];
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        int64_t row = first + (lane < count ? lane : 0);
        start[lane] = row / inner * n * inner + row % inner;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            keys[i][0][lane] = sort_load_U(x, 2 * (start[lane] + i * inner));
            keys[i][1][lane] = sort_load_U(x, 2 * (start[lane] + i * inner) + 1);
        }
    }
    const U infinity = (U)((U)((U)(MAX_U >> 1) >> format) << format);
    U largest[SORT_LANES_U] = {0};
    bool has_nan = false;
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            U real = sort_float_key_U(infinity, keys[i][0][lane]);
            U imag = sort_float_key_U(infinity, keys[i][1][lane]);
            U larger = real < imag ? imag : real;
            largest[lane] = largest[lane] < larger ? larger : largest[lane];
            keys[i][0][lane] = real;
            keys[i][1][lane] = imag;
            keys[i][2][lane] = (U)i;
        }
    }
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        has_nan = has_nan || largest[lane] == MAX_U;
    }
    for (int64_t i = 0; has_nan && i < n; i++) {
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            U real = keys[i][0][lane], imag = keys[i][1][lane];
            keys[i][0][lane] = sort_pair_key_U(real, imag, 0);
            keys[i][1][lane] = sort_pair_key_U(real, imag, 1);
        }
    }
    sort_lanes_U(n, 3, keys[0]);
    for (int64_t lane = 0; lane < count; lane++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t position = (int64_t)keys[i][2][lane], at = start[lane] + i * inner;
            if (order != NULL) {
                order[at] = position;
            } else {
                int64_t from = start[lane] + position * inner, size = 2 * (int64_t)sizeof(U);
                memcpy(out + at * size, x + from * size, (size_t)size);
            }
        }
    }
}

/* As sort_short, for argsort and keys of at most 32 bits. The position, below the key, makes all
   keys distinct, so the network sorts stably. */
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
    sort_lanes_u64(n, 1, pairs);
    for (int64_t lane = 0; lane < count; lane++) {
        for (int64_t i = 0; i < n; i++) {
            out[start[lane] + i * inner] = (int64_t)(uint32_t)pairs[i][lane];
        }
    }
}

/* As argsort_short, for numbers of 64 bits: the position is a word of its own. */
static void argsort_short_wide_U(int64_t format, int64_t n, int64_t inner, const char *x,
                                 int64_t *out, int64_t first, int64_t count)
{
    U keys[ARGSORT_SHORT][2][SORT_LANES_U];
    int64_t start[SORT_LANES_U];
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        int64_t row = first + (lane < count ? lane : 0);
        start[lane] = row / inner * n * inner + row % inner;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            keys[i][0][lane] = sort_load_U(x, start[lane] + i * inner);
        }
    }
    const int64_t fraction = format < 0 ? 0 : format;
    const U infinity = (U)((U)((U)(MAX_U >> 1) >> fraction) << fraction);
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            U bits = keys[i][0][lane];
            U key = sort_float_key_U(infinity, bits);
            keys[i][0][lane] = format < 0 ? sort_key_U(format, bits) : key;
            keys[i][1][lane] = (U)i;
        }
    }
    sort_lanes_U(n, 2, keys[0]);
    for (int64_t lane = 0; lane < count; lane++) {
        for (int64_t i = 0; i < n; i++) {
            out[start[lane] + i * inner] = (int64_t)keys[i][1][lane];
        }
    }
}

/* 1 where the keys of a row ascend, -1 where each is less than the one before, 0 elsewhere. */
__attribute__((always_inline))
static inline int argsort_direction_as_U(int64_t format, int64_t n, const char *x, int64_t stride)
{
    const int64_t fraction = format < 0 ? 0 : format;
    const U infinity = (U)((U)((U)(MAX_U >> 1) >> fraction) << fraction);
    U falls = 0, stays = 0;
    for (int64_t i = 0; i < n - 1; i += SORT_CHECKED) {
        const int64_t end = i + SORT_CHECKED < n - 1 ? i + SORT_CHECKED : n - 1;
        #pragma omp simd reduction(|:falls) reduction(|:stays)
        for (int64_t j = i; j < end; j++) {
            U bits = sort_load_U(x, j * stride), next = sort_load_U(x, (j + 1) * stride);
            U key = format < 0 ? sort_key_U(format, bits) : sort_float_key_U(infinity, bits);
            U other = format < 0 ? sort_key_U(format, next) : sort_float_key_U(infinity, next);
            falls |= (U)(other < key);
            stays |= (U)(other >= key);
        }
        if (falls && stays) {
            return 0;
        }
    }
    return falls ? -1 : 1;
}

/* The same, with loops of their own for each kind of numbers, and for adjacent ones. */
static inline int argsort_direction_U(int64_t format, int64_t n, const char *x, int64_t stride)
{
    if (stride != 1) {
        return argsort_direction_as_U(format, n, x, stride);
    }
    if (format == SORT_UNSIGNED) {
        return argsort_direction_as_U(SORT_UNSIGNED, n, x, 1);
    }
    return format < 0 ? argsort_direction_as_U(SORT_SIGNED, n, x, 1)
        : argsort_direction_as_U(format, n, x, 1);
}

/* True if the elements at positions order[n], which are `stride` apart as the row is, ascend. */
static inline bool argsort_is_ordered_U(int64_t format, int64_t words, int64_t n, const char *x,
                                        int64_t stride, const int64_t *order)
{
    U before[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        U key = sort_part_key_U(format, words, 0, x, stride, order[i * stride]), second = 0;
        if (words == 2) {
            second = sort_part_key_U(format, words, 1, x, stride, order[i * stride]);
        }
        if (key < before[0] || (key == before[0] && second < before[1])) {
            return false;
        }
        before[0] = key;
        before[1] = second;
    }
    return true;
}

/* The positions that sort a row of bytes: each goes behind those before it whose byte is the same,
   and those of smaller ones. */
static void argsort_bytes_U(int64_t format, int64_t n, const char *x, int64_t stride,
                            int64_t *order)
{
    uint32_t next[256] = {0}, before = 0;
    for (int64_t i = 0; i < n; i++) {
        next[sort_key_U(format, sort_load_U(x, i * stride)) & 255]++;
    }
    for (int key = 0; key < 256; key++) {
        const uint32_t count = next[key];
        next[key] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++) {
        const U key = sort_key_U(format, sort_load_U(x, i * stride));
        order[(int64_t)next[key & 255]++ * stride] = i;
    }
}

/* numpy.argsort of all rows of x[outer][n][inner], stable. If `again`, `out` has the positions
   sorted by less significant keys. `scratch` has room for 2 * n words of 64 bits for each of up to
   `places` threads. */
static inline void argsort_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                             int64_t words, const void *x, int64_t *out, int64_t again,
                             int64_t places, void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for NUM_THREADS schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        uint64_t *own = (uint64_t *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        const int64_t lanes = n <= SORT_SHORT ? SORT_LANES_U : 1;
        int64_t row = sort_first_row(rows, lanes, place, places);
        const int64_t end = sort_first_row(rows, lanes, place + 1, places);
        bool is_short = n <= (BITS_U <= 32 ? SORT_SHORT : ARGSORT_SHORT) && words == 1 && !again;
        while (is_short && end - row > 1) {
            int64_t count = end - row < SORT_LANES_u64 ? end - row : SORT_LANES_u64;
            if (BITS_U <= 32) {
                argsort_short_U(format, n, inner, (const char *)x, out, row, count);
            } else {
                argsort_short_wide_U(format, n, inner, (const char *)x, out, row, count);
            }
            row += count;
        }
        while (n <= SORT_SHORT_PAIRS && words == 2 && !again && end - row > 1) {
            int64_t count = end - row < SORT_LANES_U ? end - row : SORT_LANES_U;
            sort_short_pairs_U(format, n, inner, (const char *)x, NULL, out, row, count);
            row += count;
        }
        for (; row < end; row++) {
            int64_t start = row / inner * n * inner + row % inner;
            const char *from = (const char *)x + start * size;
            const int direction = again || words == 2 ? 0
                : argsort_direction_U(format, n, from, inner);
            if (direction != 0) {
                for (int64_t i = 0; i < n; i++) {
                    out[start + i * inner] = direction > 0 ? i : n - 1 - i;
                }
                continue;
            }
            if (again && argsort_is_ordered_U(format, words, n, from, inner, out + start)) {
                continue;
            }
            if (BITS_U == 8 && !again) {
                argsort_bytes_U(format, n, from, inner, out + start);
                continue;
            }
            const uint64_t *sorted;
            if (words == 1 && !again) {
                sorted = argsort_real_U(format, n, from, inner, own, own + n);
            } else {
                for (int64_t i = 0; i < n; i++) {
                    own[i] = (uint64_t)(again ? out[start + i * inner] : i);
                }
                sorted = argsort_row_U(format, words, n, from, inner, own, own + n);
            }
            for (int64_t i = 0; i < n; i++) {
                out[start + i * inner] = (int64_t)(uint32_t)sorted[i];
            }
        }
    }
}

/* numpy.sort of all rows of x[outer][n][inner], complex: argsort, then a gather. */
static inline void sort_pairs_U(int64_t outer, int64_t n, int64_t inner, int64_t format,
                                int64_t words, const void *x, void *out, int64_t places,
                                void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for NUM_THREADS schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        uint64_t *own = (uint64_t *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        const int64_t lanes = n <= SORT_SHORT_PAIRS ? SORT_LANES_U : 1;
        int64_t row = sort_first_row(rows, lanes, place, places);
        const int64_t end = sort_first_row(rows, lanes, place + 1, places);
        while (n <= SORT_SHORT_PAIRS && end - row > 1) {
            int64_t count = end - row < SORT_LANES_U ? end - row : SORT_LANES_U;
            sort_short_pairs_U(format, n, inner, (const char *)x, (char *)out, NULL, row, count);
            row += count;
        }
        for (; row < end; row++) {
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
