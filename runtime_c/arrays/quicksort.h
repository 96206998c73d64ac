/* Quicksort of elements in vector registers, by unsigned keys; not stable, as equal keys are the
   same. Memory has the elements' bits; their keys, which sort_network.h says, are in registers
   only. A NaN has the bits of the largest key.

   Method: a vector of keys is compared with the pivot. Of eight elements at a time, those that are
   less go to one end of what is free in the array, the others to the other end, by one permutation
   and two stores: the counts of four vectors are known before the first of them is stored. Without
   instructions that make bits of comparisons, elements move one by one, the greater ones to scratch
   memory. Up to 128 vectors of keys are sorted by a network (sort_network.h). A pivot that is the
   least key takes all that equal it away, so that few distinct keys take few passes. Where pivots
   are bad ones again and again, the radix sort takes over. Sources: B. Bramas, "A novel hybrid
   quicksort algorithm vectorized using AVX-512 on Intel Skylake", 2017; M. Blacher, J. Giesen, P.
   Sanders, J. Wassenberg, "Vectorized and performance-portable Quicksort", 2022. */

/* Narrower keys take the radix sort: without vectors of which parts move it has fewer passes. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
enum { SORT_NARROWEST = 16, SORT_IN_VECTORS = 1 };
#else
enum { SORT_NARROWEST = 32, SORT_IN_VECTORS = 0 };
#endif

/* From this number of keys on, the pivot is the median of 27 of them, below of nine. */
enum { SORT_SAMPLED = 512 };

/* The key of an element that is no NaN but the largest one. */
static inline U sort_word_key_U(int64_t format, U bits)
{
    const U negative = (U)(0 - (U)(bits >> (BITS_U - 1)));
    return (U)(bits ^ (negative & sort_fraction_U(format)) ^ sort_flip_U(format));
}

/* For the bits of eight lanes, the numbers of those that have a 1, then of the others: digits of
   four bits, in each half every other one. */
static const uint32_t sort_sides_of[256] = {
    0x75316420, 0x75316420, 0x75306421, 0x75316420, 0x75306412, 0x75326410, 0x75326401, 0x75316420,
    0x75206413, 0x75236410, 0x75236401, 0x75216430, 0x75136402, 0x75126430, 0x75026431, 0x75316420,
    0x75206314, 0x75246310, 0x75246301, 0x75216340, 0x75146302, 0x75126340, 0x75026341, 0x75416320,
    0x75146203, 0x75136240, 0x75036241, 0x75416230, 0x75036142, 0x75426130, 0x75426031, 0x75316420,
    0x74206315, 0x74256310, 0x74256301, 0x74216350, 0x74156302, 0x74126350, 0x74026351, 0x74516320,
    0x74156203, 0x74136250, 0x74036251, 0x74516230, 0x74036152, 0x74526130, 0x74526031, 0x74316520,
    0x73156204, 0x73146250, 0x73046251, 0x73516240, 0x73046152, 0x73526140, 0x73526041, 0x73416520,
    0x72046153, 0x72536140, 0x72536041, 0x72416530, 0x71536042, 0x71426530, 0x70426531, 0x75316420,
    0x74205316, 0x74265310, 0x74265301, 0x74215360, 0x74165302, 0x74125360, 0x74025361, 0x74615320,
    0x74165203, 0x74135260, 0x74035261, 0x74615230, 0x74035162, 0x74625130, 0x74625031, 0x74315620,
    0x73165204, 0x73145260, 0x73045261, 0x73615240, 0x73045162, 0x73625140, 0x73625041, 0x73415620,
    0x72045163, 0x72635140, 0x72635041, 0x72415630, 0x71635042, 0x71425630, 0x70425631, 0x76315420,
    0x73164205, 0x73154260, 0x73054261, 0x73614250, 0x73054162, 0x73624150, 0x73624051, 0x73514620,
    0x72054163, 0x72634150, 0x72634051, 0x72514630, 0x71634052, 0x71524630, 0x70524631, 0x76314520,
    0x72053164, 0x72643150, 0x72643051, 0x72513640, 0x71643052, 0x71523640, 0x70523641, 0x76413520,
    0x71642053, 0x71532640, 0x70532641, 0x76412530, 0x70531642, 0x76421530, 0x76420531, 0x75316420,
    0x64205317, 0x64275310, 0x64275301, 0x64215370, 0x64175302, 0x64125370, 0x64025371, 0x64715320,
    0x64175203, 0x64135270, 0x64035271, 0x64715230, 0x64035172, 0x64725130, 0x64725031, 0x64315720,
    0x63175204, 0x63145270, 0x63045271, 0x63715240, 0x63045172, 0x63725140, 0x63725041, 0x63415720,
    0x62045173, 0x62735140, 0x62735041, 0x62415730, 0x61735042, 0x61425730, 0x60425731, 0x67315420,
    0x63174205, 0x63154270, 0x63054271, 0x63714250, 0x63054172, 0x63724150, 0x63724051, 0x63514720,
    0x62054173, 0x62734150, 0x62734051, 0x62514730, 0x61734052, 0x61524730, 0x60524731, 0x67314520,
    0x62053174, 0x62743150, 0x62743051, 0x62513740, 0x61743052, 0x61523740, 0x60523741, 0x67413520,
    0x61742053, 0x61532740, 0x60532741, 0x67412530, 0x60531742, 0x67421530, 0x67420531, 0x65317420,
    0x53174206, 0x53164270, 0x53064271, 0x53714260, 0x53064172, 0x53724160, 0x53724061, 0x53614720,
    0x52064173, 0x52734160, 0x52734061, 0x52614730, 0x51734062, 0x51624730, 0x50624731, 0x57314620,
    0x52063174, 0x52743160, 0x52743061, 0x52613740, 0x51743062, 0x51623740, 0x50623741, 0x57413620,
    0x51742063, 0x51632740, 0x50632741, 0x57412630, 0x50631742, 0x57421630, 0x57420631, 0x56317420,
    0x42063175, 0x42753160, 0x42753061, 0x42613750, 0x41753062, 0x41623750, 0x40623751, 0x47513620,
    0x41752063, 0x41632750, 0x40632751, 0x47512630, 0x40631752, 0x47521630, 0x47520631, 0x46317520,
    0x31752064, 0x31642750, 0x30642751, 0x37512640, 0x30641752, 0x37521640, 0x37520641, 0x36417520,
    0x20641753, 0x27531640, 0x27530641, 0x26417530, 0x17530642, 0x16427530, 0x06427531, 0x75316420,
};

typedef U sort_eight_U __attribute__((vector_size(8 * sizeof(U)), aligned(sizeof(U)), may_alias));

typedef uint32_t sort_digits_of_eight_U __attribute__((vector_size(8 * sizeof(U))));

/* The lanes whose key is less than the pivot, as bits. Nothing calls this where there are no such
   instructions. */
static inline uint32_t sort_less_u8(sort_wide_u8 keys, sort_wide_u8 pivot)
{
    return keys[0] < pivot[0];
}

static inline uint32_t sort_less_u16(sort_wide_u16 keys, sort_wide_u16 pivot)
{
#if defined(__AVX512BW__) && !defined(__clang__)
    return __builtin_ia32_ucmpw512_mask((sort_wide_i16)keys, (sort_wide_i16)pivot, 1, 0xffffffff);
#else
    return keys[0] < pivot[0];
#endif
}

static inline uint32_t sort_less_u32(sort_wide_u32 keys, sort_wide_u32 pivot)
{
#if defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_ucmpd512_mask((sort_wide_i32)keys, (sort_wide_i32)pivot, 1, 0xffff);
#else
    return keys[0] < pivot[0];
#endif
}

static inline uint32_t sort_less_u64(sort_wide_u64 keys, sort_wide_u64 pivot)
{
#if defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_ucmpq512_mask((sort_wide_i64)keys, (sort_wide_i64)pivot, 1, 0xff);
#else
    return keys[0] < pivot[0];
#endif
}

/* Tells eight elements apart: in front those whose bit in `less` is 1. */
static inline void sort_tell_apart_U(sort_eight_U *x, uint32_t less)
{
#if defined(__clang__)
    const sort_eight_U all = *x;
    for (int lane = 0; lane < 8; lane++) {
        (*x)[lane] = all[sort_sides_of[less] >> (lane % 2 * 16 + lane / 2 * 4) & 7];
    }
#else
    const U half = BITS_U == 16 ? 0 : 16; /* lanes of 16 bits have a half each */
    const sort_eight_U even = {0, 0, 4, 4, 8, 8, 12, 12}, odd = {0, 1, 0, 1, 0, 1, 0, 1};
    const sort_eight_U places = even + odd * half;
    const sort_digits_of_eight_U digits = (sort_digits_of_eight_U){0} + sort_sides_of[less];
    *x = __builtin_shuffle(*x, (sort_eight_U)digits >> places);
#endif
}

/* Stores the elements of four vectors at x whose keys are less than the pivot from `left` on, the
   others before `right`. What lies behind the former and before the latter, up to as many vectors,
   is overwritten, which may be x: all is read first. Gives the number of the former. */
static inline int64_t sort_sides_U(int64_t format, const sort_word_U *x, sort_wide_U pivot,
                                   sort_word_U *left, sort_word_U *right)
{
    sort_eight_U eight[SORT_WIDE_U / 2 + 1];
    uint32_t less[4];
    int64_t all = 0;
    #pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        less[k] = sort_less_U(sort_wide_keys_U(format, ((const sort_wide_U *)x)[k]), pivot);
    }
    #pragma GCC unroll 16
    for (int k = 0; k < SORT_WIDE_U / 2; k++) {
        eight[k] = ((const sort_eight_U *)x)[k];
    }
    #pragma GCC unroll 16
    for (int k = 0; k < SORT_WIDE_U / 2; k++) {
        const uint32_t lanes = less[8 * k / SORT_WIDE_U] >> 8 * k % SORT_WIDE_U & 255;
        sort_tell_apart_U(eight + k, lanes);
        *(sort_eight_U *)(left + all) = eight[k];
        *(sort_eight_U *)(right - 8 * (k + 1) + all) = eight[k];
        all += __builtin_popcount(lanes);
    }
    return all;
}

/* sort_partition below where vectors are told apart, in place: blocks of four vectors are read from
   the end that has less free memory, so that both have room for a block, as the first and the last
   one are held until the end, and so is what is behind the last one. */
static inline int64_t sort_partition_in_place_U(int64_t format, int64_t n, sort_word_U *x, U pivot)
{
    const int64_t block = 4 * SORT_WIDE_U;
    const sort_wide_U pivots = (sort_wide_U){0} + pivot;
    const int64_t end = n / block * block;
    sort_word_U held[13 * SORT_WIDE_U];
    memcpy(held, x, (size_t)block * sizeof *x);
    memcpy(held + block, x + end - block, (size_t)(n - end + block) * sizeof *x);
    int64_t first = block, last = end - block; /* what has not been read */
    int64_t low = 0, high = n;
    for (int64_t i = 0; i < n - end; i += 8) {
        const sort_word_U *eight = held + 2 * block + i;
        const int64_t count = n - end - i < 8 ? n - end - i : 8;
        const sort_wide_U keys = sort_wide_keys_U(format, *(const sort_wide_U *)eight);
        const uint32_t less = sort_less_U(keys, pivots);
        if (count == 8) {
            sort_eight_U both = *(const sort_eight_U *)eight;
            sort_tell_apart_U(&both, less & 255);
            *(sort_eight_U *)(x + low) = both;
            *(sort_eight_U *)(x + high - 8) = both;
        }
        for (int64_t k = 0; k < count && count < 8; k++) {
            const int64_t before = __builtin_popcount(less & ((1u << k) - 1));
            x[low + before] = eight[k];
            x[high - 1 - k + before] = eight[k];
        }
        const int64_t fewer = __builtin_popcount(less & ((1u << count) - 1));
        low += fewer;
        high -= count - fewer;
    }
    while (first < last) {
        const bool is_front = first - low <= high - last;
        last -= is_front ? 0 : block;
        const int64_t at = is_front ? first : last;
        first += is_front ? block : 0;
        const int64_t less = sort_sides_U(format, x + at, pivots, x + low, x + high);
        low += less;
        high -= block - less;
    }
    for (int64_t k = 0; k < 2; k++) {
        const int64_t less = sort_sides_U(format, held + k * block, pivots, x + low, x + high);
        low += less;
        high -= block - less;
    }
    return low;
}

/* Moves the elements of x[n] whose keys are less than the pivot before the others; gives their
   number. More than eight vectors of them. */
__attribute__((noinline))
static int64_t sort_partition_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other,
                                U pivot)
{
    if (SORT_IN_VECTORS && BITS_U >= SORT_NARROWEST) {
        return sort_partition_in_place_U(format, n, x, pivot);
    }
    int64_t low = 0;
    for (int64_t i = 0; i < n; i++) {
        const U bits = x[i];
        x[low] = bits;
        other[i - low] = bits;
        low += sort_word_key_U(format, bits) < pivot;
    }
    memcpy(x + low, other, (size_t)(n - low) * sizeof *x);
    return low;
}

static inline U sort_median_U(U a, U b, U c)
{
    const U low = a < b ? a : b, high = a < b ? b : a, upper = high < c ? high : c;
    return low < upper ? upper : low;
}

/* The median of the medians of three times three keys. */
static inline U sort_ninther_U(const U *x)
{
    return sort_median_U(sort_median_U(x[0], x[1], x[2]), sort_median_U(x[3], x[4], x[5]),
                         sort_median_U(x[6], x[7], x[8]));
}

/* A key of x[n] near the median; n >= 27. `is_least` says that no other one that was looked at is
   less. */
static inline U sort_pivot_U(int64_t format, int64_t n, const sort_word_U *x, bool *is_least)
{
    U keys[27], least = MAX_U;
    const int64_t count = n < SORT_SAMPLED ? 9 : 27, step = n / count;
    for (int64_t i = 0; i < count; i++) {
        keys[i] = sort_word_key_U(format, x[step / 2 + i * step]);
        least = keys[i] < least ? keys[i] : least;
    }
    U pivot = sort_ninther_U(keys);
    if (count > 9) {
        pivot = sort_median_U(pivot, sort_ninther_U(keys + 9), sort_ninther_U(keys + 18));
    }
    *is_least = pivot == least;
    return pivot;
}

/* True if all of x[n] are the same. */
static inline bool sort_is_constant_U(int64_t n, const sort_word_U *x)
{
    U differs = 0;
    for (int64_t start = 0; start < n && differs == 0; start += SORT_CHECKED) {
        const int64_t end = start + SORT_CHECKED < n ? start + SORT_CHECKED : n;
        for (int64_t i = start; i < end; i++) {
            differs |= (U)(x[i] ^ x[0]);
        }
    }
    return differs == 0;
}

/* Moves about half of the elements of x[n] before the others, none of which is less; `is_done` says
   that those in front are equal. Gives their number; more than eight vectors of elements. */
__attribute__((noinline))
static int64_t sort_halves_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other,
                             bool *is_done)
{
    bool is_least;
    const U pivot = sort_pivot_U(format, n, x, &is_least);
    *is_done = is_least && sort_is_constant_U(n, x);
    if (*is_done) {
        return n;
    }
    if (is_least && pivot != MAX_U) { /* few distinct keys: nothing may be less */
        const int64_t low = sort_partition_U(format, n, x, other, (U)(pivot + 1));
        if (low < n) {
            return low;
        }
    }
    const int64_t low = sort_partition_U(format, n, x, other, pivot);
    *is_done = low == 0;
    if (low > 0) {
        return low;
    }
    return pivot == MAX_U ? n : sort_partition_U(format, n, x, other, (U)(pivot + 1));
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
static void sort_quick_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other,
                         int64_t partitions)
{
    while (n > SORT_NETWORK_U) {
        if (partitions-- == 0) {
            sort_by_radix_U(format, n, x, other);
            return;
        }
        bool is_done;
        const int64_t low = sort_halves_U(format, n, x, other, &is_done);
        if (!is_done) {
            sort_quick_U(format, low, x, other, partitions);
        }
        x += low;
        n -= low;
    }
    if (n > 1) {
        sort_network_U(format, n, x);
    }
}

/* A row of more than SORT_SHARED keys is split into this number of pieces, which threads share. */
enum { SORT_PIECES = 8 };

/* Sorts x[n] with as much scratch memory. */
static void sort_unstable_U(int64_t format, int64_t n, sort_word_U *x, sort_word_U *other)
{
    if (n <= SORT_SHARED) {
        sort_quick_U(format, n, x, other, sort_most_partitions(n));
        return;
    }
    int64_t starts[SORT_PIECES] = {0}, ends[SORT_PIECES] = {n};
    for (int64_t width = SORT_PIECES / 2; width > 0; width /= 2) {
        for (int64_t piece = 0; piece < SORT_PIECES; piece += 2 * width) {
            const int64_t start = starts[piece], count = ends[piece] - start;
            bool is_done = false;
            int64_t low = 0;
            if (count > SORT_NETWORK_U) {
                low = sort_halves_U(format, count, x + start, other + start, &is_done);
            }
            starts[piece + width] = start + low;
            ends[piece + width] = start + count;
            ends[piece] = is_done ? start : start + low;
        }
    }
    #pragma omp parallel for NUM_THREADS schedule(dynamic)
    for (int64_t piece = 0; piece < SORT_PIECES; piece++) {
        const int64_t start = starts[piece];
        sort_quick_U(format, ends[piece] - start, x + start, other + start,
                     sort_most_partitions(n));
    }
}
