/* numpy.sort(x, axis, kind="stable") of short rows, many at a time, one in each lane.

   Method: the merge exchange network of K. E. Batcher ("The Art of Computer Programming", volume 3,
   section 5.2.2, algorithm M), whose comparisons do not depend on the keys (sort.h). */

/* The longest rows that are sorted by the network, and the bytes of a vector of keys. */
enum { SORT_SHORT = 512, SORT_BYTES = 64 };

enum { SORT_LANES_U = SORT_BYTES / sizeof(U) };

/* Compare-exchange in each lane: the smaller key to x, the larger to y. A key has one to three
   numbers, the most significant one first. */
static inline void sort_compare_exchange_U(int parts, U x[][SORT_LANES_U], U y[][SORT_LANES_U])
{
    if (parts == 1 && (int)SORT_WIDE_BYTES == (int)SORT_BYTES && sizeof(U) > 1) {
        sort_exchange_rows_U((sort_wide_U *)(void *)x, (sort_wide_U *)(void *)y);
        return;
    }
    #pragma omp simd
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        U a = x[0][lane], b = y[0][lane];
        x[0][lane] = a < b ? a : b;
        y[0][lane] = a < b ? b : a;
        if (parts > 1) {
            U c = x[1][lane], d = y[1][lane], e = 0, f = 0;
            if (parts > 2) {
                e = x[2][lane], f = y[2][lane];
            }
            bool is_less = (b < a) | ((b == a) & ((d < c) | ((d == c) & (f < e))));
            U swap = (U)(0 - (U)is_less), change = (U)((c ^ d) & swap);
            x[1][lane] = (U)(c ^ change);
            y[1][lane] = (U)(d ^ change);
            if (parts > 2) {
                change = (U)((e ^ f) & swap);
                x[2][lane] = (U)(e ^ change);
                y[2][lane] = (U)(f ^ change);
            }
        }
    }
}

/* Batcher's merge exchange of n keys in each lane, of `parts` numbers each. */
static inline void sort_lanes_U(int64_t n, int parts, U keys[][SORT_LANES_U])
{
    int64_t widest = 1;
    while (2 * widest < n) {
        widest *= 2;
    }
    for (int64_t p = widest; p > 0; p /= 2) {
        int64_t distance = p, residue = 0;
        for (int64_t q = widest;; q /= 2) {
            for (int64_t run = residue; run + distance < n; run += 2 * p) {
                const int64_t end = run + p < n - distance ? run + p : n - distance;
                #pragma GCC unroll 4
                for (int64_t i = run; i < end; i++) {
                    sort_compare_exchange_U(parts, keys + i * parts, keys + (i + distance) * parts);
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

/* Copies `count` <= SORT_LANES_U rows of x[outer][n][inner] from row `first` on to the lanes of
   keys[n], and back with `out`. Rows without an inner axis are transposed in registers; lanes that
   are adjacent in memory are copied together. `start` has the first element of each row. */
__attribute__((noinline))
static void sort_copy_lanes_U(int64_t n, int64_t inner, int64_t first, int64_t count,
                              const int64_t *start, const char *x, char *out,
                              U keys[][SORT_LANES_U])
{
    const int64_t size = (int64_t)sizeof(U);
    const bool is_full = count == SORT_LANES_U;
    if (is_full && inner > 1 && start[SORT_LANES_U - 1] == start[0] + SORT_LANES_U - 1) {
        for (int64_t i = 0; i < n; i++) {
            int64_t at = (start[0] + i * inner) * size;
            memcpy(out ? out + at : (char *)keys[i], out ? (char *)keys[i] : x + at, SORT_BYTES);
        }
        return;
    }
    int64_t whole = size > 1 && is_full && inner == 1 ? n - n % TRANSPOSE_LANES_U : 0;
    for (int64_t i = 0; i < whole; i += TRANSPOSE_LANES_U) {
        for (int64_t lane = 0; lane < SORT_LANES_U; lane += TRANSPOSE_LANES_U) {
            int64_t at = ((first + lane) * n + i) * size;
            if (out) {
                transpose_block_U(&keys[i][lane], SORT_LANES_U, (U *)(void *)(out + at), n);
            } else {
                transpose_block_U((const U *)(const void *)(x + at), n, &keys[i][lane],
                                  SORT_LANES_U);
            }
        }
    }
    for (int64_t i = whole; i < n; i++) {
        for (int64_t lane = 0; lane < (out ? count : SORT_LANES_U); lane++) {
            if (out) {
                sort_store_U(out, start[lane] + i * inner, keys[i][lane]);
            } else {
                keys[i][lane] = sort_load_U(x, start[lane] + i * inner);
            }
        }
    }
}

/* Sorts `count` <= SORT_LANES_U rows of x[outer][n][inner] from row `first` on; n <= SORT_SHORT.
   The network is not stable: rows with a -0.0 or a NaN are sorted one by one. */
static void sort_short_U(int64_t format, int64_t n, int64_t inner, const char *x, char *out,
                         int64_t first, int64_t count, U *scratch)
{
    const U sign = (U)((U)1 << (BITS_U - 1));
    U keys[SORT_SHORT][SORT_LANES_U], odd[SORT_LANES_U] = {0};
    int64_t start[SORT_LANES_U];
    for (int lane = 0; lane < SORT_LANES_U; lane++) {
        int64_t row = first + (lane < count ? lane : 0);
        start[lane] = row / inner * n * inner + row % inner;
    }
    sort_copy_lanes_U(n, inner, first, count, start, x, NULL, keys);
    if (format >= 0) {
        const U infinity = (U)((U)((U)(sign - 1) >> format) << format);
        for (int64_t i = 0; i < n; i++) {
            #pragma omp simd
            for (int lane = 0; lane < SORT_LANES_U; lane++) {
                U bits = keys[i][lane], flip = (U)((U)(0 - (bits >> (BITS_U - 1))) | sign);
                odd[lane] |= (U)(bits == sign) | (U)((U)(bits & (U)~sign) > infinity);
                keys[i][lane] = (U)(bits ^ flip);
            }
        }
    } else {
        const U flip = format == SORT_SIGNED ? sign : 0;
        for (int64_t i = 0; i < n; i++) {
            for (int lane = 0; lane < SORT_LANES_U; lane++) {
                keys[i][lane] ^= flip;
            }
        }
    }
    sort_lanes_U(n, 1, keys);
    const U flip = format == SORT_SIGNED ? sign : 0;
    for (int64_t i = 0; i < n; i++) {
        #pragma omp simd
        for (int lane = 0; lane < SORT_LANES_U; lane++) {
            U key = keys[i][lane], below = (U)((key >> (BITS_U - 1)) - 1);
            keys[i][lane] = (U)(key ^ (format < 0 ? flip : (U)(below | sign)));
        }
    }
    for (int64_t lane = 0; lane < count; lane++) {
        if (odd[lane]) {
            const int64_t bytes = start[lane] * (int64_t)sizeof(U);
            sort_row_U(format, n, x + bytes, inner, out + bytes, scratch);
            for (int64_t i = 0; i < n; i++) {
                keys[i][lane] = sort_load_U(out, start[lane] + i * inner);
            }
        }
    }
    sort_copy_lanes_U(n, inner, first, count, start, x, out, keys);
}
