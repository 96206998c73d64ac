/* Elements of numpy.sort(x, axis) at a few positions, as numpy.partition finds them.

   Method: of wide keys quicksort.h, which is done with the halves that have no rank. Else radix
   selection. Keys are those of sort.h, from the least one on. The digits of the most
   significant place are counted; only keys whose digit holds one of the ranks are kept, and are
   sorted where they are few, or told apart by their next digit (D. E. Knuth, "The Art of Computer
   Programming", volume 3, section 5.3.3, has the comparisons that any selection takes). Of complex
   numbers the first key at a rank is found so, then the second one among those that share it. */

/* Writes the keys at ranks[count], in ascending order, of sorted x[n] to found[count]; keys have
   `width` bits that differ, and those at ranks below `before` are elsewhere. `other` has room for n
   keys; both are overwritten. */
static void select_keys_U(int64_t n, U *x, U *other, int width, int64_t before, int64_t count,
                          const int64_t *ranks, U *found)
{
    if (n <= SORT_FEW || width == 0) {
        if (width > 0) {
            sort_insert_U(n, x, 0);
        }
        for (int64_t k = 0; k < count; k++) {
            found[k] = x[ranks[k] - before];
        }
        return;
    }
    const int bits = width < SORT_DIGIT ? width : SORT_DIGIT, low = width - bits;
    const U mask = (U)(((uint32_t)1 << bits) - 1);
    uint32_t size[1 << SORT_DIGIT] = {0}, next[1 << SORT_DIGIT], step[1 << SORT_DIGIT];
    for (int64_t i = 0; i < n; i++) {
        size[(U)(x[i] >> low) & mask]++;
    }
    int64_t kept = 0, end = before;
    for (int64_t digit = 0, k = 0; digit < 1 << bits; digit++) {
        end += size[digit];
        step[digit] = k < count && ranks[k] < end;
        next[digit] = (uint32_t)kept;
        kept += step[digit] ? size[digit] : 0;
        while (k < count && ranks[k] < end) {
            k++;
        }
    }
    for (int digit = 0; kept < n && digit < 1 << bits; digit++) {
        next[digit] = step[digit] ? next[digit] : (uint32_t)kept; /* a place that nothing reads */
    }
    for (int64_t i = 0; i < n; i++) {
        const U digit = (U)(x[i] >> low) & mask;
        other[next[digit]] = x[i];
        next[digit] += step[digit];
    }
    int64_t start = 0;
    for (int64_t digit = 0, k = 0; k < count; before += size[digit++]) {
        int64_t last = k;
        while (last < count && ranks[last] < before + size[digit]) {
            last++;
        }
        if (last > k) {
            select_keys_U(size[digit], other + start, x + start, low, before, last - k, ranks + k,
                          found + k);
            start += size[digit];
            k = last;
        }
    }
}

/* So many elements are sorted rather than told apart for a rank: a quarter of the largest network
   has them. */
enum { SELECT_FEW_U = SORT_NETWORK_U / 4 };

/* Moves the elements of x[n] that sorting puts to ranks[count], which ascend, to their places;
   those at ranks below `before` are elsewhere. Elements, scratch memory and `partitions` are those
   of sort_quick. */
static void select_quick_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other,
                           int64_t before, int64_t count, const int64_t *ranks, int64_t partitions)
{
    while (count > 0 && n > SELECT_FEW_U && partitions-- > 0) {
        bool is_done;
        const int64_t low = sort_halves_U(format, n, x, other, &is_done);
        int64_t first = 0;
        while (first < count && ranks[first] < before + low) {
            first++;
        }
        if (!is_done) {
            select_quick_U(format, low, x, other, before, first, ranks, partitions);
        }
        x += low;
        n -= low;
        before += low;
        ranks += first;
        count -= first;
    }
    if (count > 0) {
        sort_quick_U(format, n, x, other, partitions > 0 ? partitions : 0);
    }
}

/* Sorts x[n] as far as ranks[count] say, with as much scratch memory. */
static void select_places_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other,
                            int64_t count, const int64_t *ranks)
{
    if (BITS_U < SORT_NARROWEST) {
        sort_by_radix_U(format, n, x, other);
        return;
    }
    select_quick_U(format, n, x, other, 0, count, ranks, sort_most_partitions(n));
}

/* Writes keys x[n] at ranks to found[count], at most eight, as select_keys: from the least on. */
static void select_range_U(int64_t n, U *x, U *other, int64_t before, int64_t count,
                           const int64_t *ranks, U *found)
{
    U least = MAX_U, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    bool is_inside = false;
    for (int64_t k = 0; k < count; k++) {
        is_inside = is_inside || (ranks[k] != before && ranks[k] != before + n - 1);
        found[k] = ranks[k] == before ? least : most;
    }
    if (!is_inside) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = (U)(x[i] - least);
    }
    select_keys_U(n, x, other, sort_width_U((U)(most - least)), before, count, ranks, found);
    for (int64_t k = 0; k < 8 && k < count; k++) {
        found[k] = (U)(found[k] + least);
    }
}

/* The first keys of a row, to keys[n]: those of sort_part_key. */
static void select_first_keys_U(int64_t format, int64_t words, int64_t n, const char *x,
                                int64_t stride, U *keys)
{
    const U infinity = (U)((U)((U)(MAX_U >> 1) >> (words - 1) * format) << (words - 1) * format);
    for (int64_t i = 0; words == 1 && i < n; i++) {
        keys[i] = sort_equal_key_U(format, sort_load_U(x, i * stride));
    }
    for (int64_t i = 0; words == 2 && i < n; i++) {
        U real = sort_float_key_U(infinity, sort_load_U(x, 2 * i * stride));
        U imag = sort_float_key_U(infinity, sort_load_U(x, 2 * i * stride + 1));
        U key = imag == MAX_U ? (U)(MAX_U - 2) : real;
        keys[i] = real == MAX_U ? (U)(imag == MAX_U ? MAX_U : MAX_U - 1) : key;
    }
}

/* The second key at `rank` among the complex numbers whose first key is `first`. `keys` has the
   first keys, and still has them afterwards, `other` room for n more. */
static U select_second_U(int64_t format, int64_t n, const char *x, int64_t stride, U first,
                         int64_t rank, U *keys, U *other)
{
    int64_t below = 0, same = 0;
    for (int64_t i = 0; i < n; i++) {
        below += keys[i] < first;
    }
    for (int64_t i = 0; i < n; i++) {
        if (keys[i] == first) {
            other[same++] = sort_part_key_U(format, 2, 1, x, stride, i);
        }
    }
    U found = other[0];
    if (same > 1) {
        select_range_U(same, other, keys, below, 1, &rank, &found);
        select_first_keys_U(format, 2, n, x, stride, keys);
    }
    return found;
}

/* The elements at ranks of a row of bytes: one count of each, in four tables, as an addition waits
   for the one before it where that is of the same byte. */
static void select_byte_U(int64_t format, int64_t n, const char *x, int64_t stride, int64_t count,
                          const int64_t *ranks, char *out)
{
    uint32_t size[4][256] = {{0}};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int64_t table = 0; table < 4; table++) {
            size[table][sort_load_U(x, (i + table) * stride) & 255]++;
        }
    }
    for (; i < n; i++) {
        size[0][sort_load_U(x, i * stride) & 255]++;
    }
    int64_t before = 0;
    for (int64_t key = 0, k = 0; key < 256 && k < count; key++) {
        const U bits = sort_bits_U(format, (U)key);
        const int64_t byte = bits & 255;
        before += size[0][byte] + size[1][byte] + size[2][byte] + size[3][byte];
        for (; k < count && ranks[k] < before; k++) {
            sort_store_U(out, k * stride, bits);
        }
    }
}

/* The elements at `ranks`, of complex ones one to eight, of a sorted row of n elements, `stride`
   apart. */
static void select_row_U(int64_t format, int64_t words, int64_t n, const char *x, int64_t stride,
                         int64_t count, const int64_t *ranks, char *out, U *scratch)
{
    U first[8], second[8] = {0};
    bool is_inside = count > 8;
    if (BITS_U == 8) {
        select_byte_U(format, n, x, stride, count, ranks, out);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        is_inside = is_inside || (ranks[k] != 0 && ranks[k] != n - 1);
    }
    if (words == 1 && is_inside && (BITS_U >= SORT_NARROWEST || count > 8)) {
        sort_load_keys_U(format, n, x, stride, scratch);
        select_places_U(SORT_UNSIGNED, n, scratch, scratch + n, count, ranks);
        for (int64_t k = 0; k < count; k++) {
            sort_store_U(out, k * stride, sort_bits_U(format, scratch[ranks[k]]));
        }
        return;
    }
    select_first_keys_U(format, words, n, x, stride, scratch);
    select_range_U(n, scratch, scratch + n, 0, count, ranks, first);
    if (words == 2) {
        select_first_keys_U(format, words, n, x, stride, scratch);
        for (int64_t k = 0; k < count; k++) {
            second[k] = select_second_U(format, n, x, stride, first[k], ranks[k], scratch,
                                        scratch + n);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        U real = first[k], imag = second[k];
        if (words == 2 && first[k] >= (U)(MAX_U - 2)) {
            real = first[k] == (U)(MAX_U - 2) ? second[k] : MAX_U;
            imag = first[k] == (U)(MAX_U - 1) ? second[k] : MAX_U;
        }
        sort_store_U(out, k * stride * words, sort_bits_U(format, real));
        if (words == 2) {
            sort_store_U(out, k * stride * words + 1, sort_bits_U(format, imag));
        }
    }
}

/* numpy.sort(x, axis=1)[:, ranks] of x[outer][n][inner], to out[outer][count][inner]; the ranks
   ascend. `scratch` has room for 2 * n words for each of up to `places` threads. */
static inline void select_U(int64_t outer, int64_t n, int64_t inner, int64_t format, int64_t words,
                            const void *x, int64_t count, const int64_t *ranks, void *out,
                            int64_t places, void *scratch)
{
    int64_t rows = outer * inner, size = words * (int64_t)sizeof(U);
    #pragma omp parallel for NUM_THREADS schedule(static) if (places > 1 && rows * n > SORT_SHARED)
    for (int64_t place = 0; place < places; place++) {
        U *own = (U *)((char *)scratch + (-(uintptr_t)scratch & 63)) + place * 2 * n;
        for (int64_t row = rows * place / places; row < rows * (place + 1) / places; row++) {
            int64_t from = (row / inner * n * inner + row % inner) * size;
            int64_t to = (row / inner * count * inner + row % inner) * size;
            select_row_U(format, words, n, (const char *)x + from, inner, count, ranks,
                         (char *)out + to, own);
        }
    }
}
