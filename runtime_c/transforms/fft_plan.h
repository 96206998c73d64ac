/* numpy.fft.fft, ifft, rfft and irfft of a length that is known at run time: the plan and the
   twiddle factors of fft.h, made in the workspace before each call. transpile/library/fft.py makes
   those of known lengths, in the same order; what is said there is not repeated here.

   A factor takes about as long as an element of a transform. Few are computed, those of long
   transforms by all threads: one transform takes up to twice as long with its plan, one of 4096
   elements or more 1.6 times at most. The largest error of a factor that was measured is 0.71 ulp.
   `limits` are thresholds of the machine, by these numbers. */
enum {
    FFT_CORES, FFT_LONGEST_ACROSS, FFT_LONGEST_ALONG, FFT_LONGEST_STREAMED, FFT_LEAST_STREAMED,
    FFT_LEAST_INSIDE, FFT_LONGEST_TABLE, FFT_LONGEST_CACHED
};

/* The cost of a factor, relative to that of a pass of radix 2 per element. */
enum { FFT_FACTOR_COST = 4 };

/* Room for the integers of a plan: a length has at most FFT_MOST_PASSES passes. Columns of a block
   of factors of a long transform, and factors that may be read past the end. */
enum { FFT_MOST_PASSES = 40, FFT_INTEGERS = 128, FFT_USUAL_BLOCK = 32, FFT_PADDING = 16 };

/* The radices of the passes of a length, ending with 0: eights, fours and twos, then odd primes.
   Returns what is left of the length, 1 if it has no prime factor above FFT_LARGEST_RADIX. */
__attribute__((noinline))
static int64_t fft_radices(int64_t n, int64_t *radices)
{
    int64_t twos = 0;
    for (; n % 2 == 0; n /= 2) {
        twos++;
    }
    int64_t fours = twos % 3 == 1 && twos > 1 ? 2 : twos % 3 == 2;
    for (int64_t k = 0; k < (twos - 2 * fours) / 3; k++) {
        *radices++ = 8;
    }
    for (int64_t k = 0; k < fours; k++) {
        *radices++ = 4;
    }
    if (twos == 1) {
        *radices++ = 2;
    }
    for (int64_t p = 3; n > 1 && p <= FFT_LARGEST_RADIX; p += 2) {
        p = p * p > n && n <= FFT_LARGEST_RADIX ? n : p;
        for (; n % p == 0; n /= p) {
            *radices++ = p;
        }
    }
    *radices = 0;
    return n;
}

/* The approximate cost of the passes of a length per element. */
__attribute__((noinline))
static double fft_cost(int64_t n, const int64_t *limits)
{
    int64_t radices[FFT_MOST_PASSES + 1];
    double cost = 0;
    fft_radices(n, radices);
    for (const int64_t *r = radices; *r != 0; r++) {
        cost += *r == 2 ? 1.0 : *r == 3 ? 1.3 : *r == 4 ? 1.2 : *r == 5 ? 1.7 : *r == 8 ? 1.6
                : 0.8 + (double)*r / 3;
    }
    double relative = (double)n / (double)limits[FFT_LONGEST_CACHED];
    return relative > 1 ? cost * sqrt(relative) : cost;
}

/* Columns of a block of factors of a split: few where there are more, as those of the other blocks
   follow from the first. */
static int64_t fft_block(int64_t rows, int64_t columns, int64_t lanes, const int64_t *limits)
{
    if (rows * columns > limits[FFT_LONGEST_TABLE]) {
        return fft_min(columns, FFT_USUAL_BLOCK);
    }
    return columns < 2 * lanes ? columns : lanes;
}

/* The cost of one of `total` split transforms, of those of transforms of its columns and rows, and
   its part in that of factors. */
static double fft_split_cost(int64_t rows, int64_t columns, int64_t lanes, int64_t total,
                             double along_columns, double along_rows, const int64_t *limits)
{
    int64_t block = fft_block(rows, columns, lanes, limits);
    int64_t factors = rows * (block + columns / block) + rows + columns;
    int64_t wide = (columns + lanes - 1) / lanes * lanes, tall = (rows + lanes - 1) / lanes * lanes;
    return (double)(wide * rows) * (along_columns + 3)
           + (double)(tall * columns) * (along_rows + 1.5)
           + (double)(FFT_FACTOR_COST * factors) / (double)total;
}

/* The number of rows of the cheapest split of a length without large prime factors, and its cost.
   One of two sides is at most the square root, and one is not below an eleventh of it. */
__attribute__((noinline))
static int64_t fft_split_rows(int64_t n, int64_t lanes, int64_t total, const int64_t *limits,
                              double *cost)
{
    int64_t best = 0, side = (int64_t)sqrt((double)n);
    *cost = 0;
    for (; side > 1 && 121 * side * side >= n; side--) {
        if (n % side != 0) {
            continue;
        }
        int64_t pair[2] = {side, n / side};
        double costs[2] = {fft_cost(pair[0], limits), fft_cost(pair[1], limits)};
        for (int64_t k = 0; k < 2; k++) {
            double other = fft_split_cost(pair[k], pair[1 - k], lanes, total, costs[k],
                                          costs[1 - k], limits);
            if (best == 0 || other < *cost) {
                *cost = other;
                best = pair[k];
            }
        }
    }
    return best;
}

/* The length of the convolution with a chirp of n elements: at least 2 n - 1, with factors 2, 3 and
   5 alone, of the least cost among those that are at most an eighth longer. There is one: of two
   neighbours above 200 among such numbers the larger is at most a ninth larger. */
__attribute__((noinline))
static int64_t fft_padded_length(int64_t n, int64_t lanes, int64_t total, const int64_t *limits,
                                 int64_t *rows)
{
    int64_t least = 2 * n - 1, most = least + least / 8, best = 0;
    double lowest = 0;
    for (int64_t fives = 1; fives <= most; fives *= 5) {
        for (int64_t threes = fives; threes <= most; threes *= 3) {
            int64_t length = threes;
            while (length < least) {
                length *= 2;
            }
            if (length <= most) {
                double cost;
                int64_t side = fft_split_rows(length, lanes, total, limits, &cost);
                if (best == 0 || cost < lowest) {
                    best = length;
                    lowest = cost;
                    *rows = side;
                }
            }
        }
    }
    return best;
}

/* The method for outer x inner transforms of `core` elements each. */
static int64_t fft_method(int64_t core, int64_t outer, int64_t inner, int64_t lanes,
                          const int64_t *limits)
{
    int64_t radices[FFT_MOST_PASSES + 1], total = outer * inner;
    if (fft_radices(core, radices) != 1) {
        return FFT_CHIRP;
    }
    bool streams = total * core >= limits[FFT_LEAST_STREAMED];
    int64_t longest = limits[2 * inner >= lanes ? FFT_LONGEST_ACROSS
                             : streams ? FFT_LONGEST_STREAMED : FFT_LONGEST_ALONG];
    bool alone = core < 16 || (core % 2 != 0 && radices[1] == 0);
    return alone || (2 * total >= lanes && core <= longest) ? FFT_TOGETHER : FFT_SPLIT;
}

/* The factors of the passes of a length. */
__attribute__((noinline))
static F *fft_pass_factors_F(int64_t n, const int64_t *radices, F *to)
{
    for (; *radices != 0; radices++) {
        int64_t r = *radices;
        if (r > 5 && r != 8) {
            F *roots = to;
            to = fft_products_F(1, 2, 0, r, r, to);
            for (int64_t k = 0; k < r; k++) {
                roots[2 * k + 1] = -roots[2 * k + 1];
            }
        }
        to = fft_products_F(0, n / r, 1, r, n, to);
        n /= r;
    }
    return to;
}

/* With fewer factors, one thread is faster than several. */
enum { FFT_SHARED_ROOTS = 16384 };

/* The fine factors of `tall` rows of a block, as many as there is room for, or parts of one. */
static inline void fft_fine_factors_F(int64_t row, int64_t tall, int64_t block, int64_t length,
                                      int64_t plane, F *to)
{
    double k[FFT_ROOTS];
    const int64_t width = fft_min(FFT_ROOTS, block);
    for (int64_t column = 0; column < block; column += width) {
        const int64_t wide = fft_min(width, block - column);
        for (int64_t i = 0; i < tall; i++) {
            for (int64_t j = 0; j < wide; j++) {
                k[i * wide + j] = (double)((row + i) * (column + j));
            }
        }
        F *re = to + row * block + column;
        fft_roots_to_F(tall * wide, k, length, re, re + plane);
    }
}

/* The coarse factors of a column. */
static inline void fft_coarse_factors_F(int64_t column, int64_t rows, int64_t length, F *to)
{
    double k[FFT_ROOTS];
    for (int64_t row = 0; row < rows; row += FFT_ROOTS) {
        const int64_t count = fft_min(FFT_ROOTS, rows - row);
        for (int64_t i = 0; i < count; i++) {
            k[i] = (double)(column * (row + i));
        }
        to = fft_root_pairs_F(count, k, length, to);
    }
}

/* The factors between the two transforms of a split; sets the offsets of the plan. */
__attribute__((noinline))
static F *fft_split_factors_F(int64_t *plan, F *table, F *to)
{
    const int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], block = plan[FFT_BLOCK];
    const int64_t plane = rows * block, length = rows * columns, most = fft_max(1, FFT_ROOTS / block);
    const int64_t blocks = block < columns ? (columns + block - 1) / block : 0;
    const bool is_shared = plane + blocks * rows >= FFT_SHARED_ROOTS;
    plan[FFT_FINE] = to - table;
    #pragma omp parallel for NUM_THREADS schedule(static) if (is_shared)
    for (int64_t row = 0; row < rows; row += most) {
        fft_fine_factors_F(row, fft_min(most, rows - row), block, length, plane, to);
    }
    to += 2 * plane;
    memset(to, 0, FFT_PADDING * sizeof(F));
    to += FFT_PADDING;
    plan[FFT_COARSE] = to - table;
    #pragma omp parallel for NUM_THREADS schedule(static) if (is_shared)
    for (int64_t k = 0; k < blocks; k++) {
        fft_coarse_factors_F(k * block, rows, length, to + k * 2 * rows);
    }
    return to + blocks * 2 * rows;
}

/* The chirp exp(-pi i k^2 / n) for k < n. */
__attribute__((noinline))
static F *fft_chirp_factors_F(int64_t n, F *to)
{
    double k[FFT_ROOTS];
    int64_t square = 0;
    for (int64_t first = 0; first < n; first += FFT_ROOTS) {
        int64_t count = fft_min(FFT_ROOTS, n - first);
        for (int64_t i = 0; i < count; i++) {
            k[i] = (double)square;
            square += 2 * (first + i) + 1;
            square -= square >= 2 * n ? 2 * n : 0;
        }
        to = fft_root_pairs_F(count, k, 2 * n, to);
    }
    return to;
}

/* The transform of the conjugate of the chirp, wrapped around and divided by the length. */
static void fft_chirp_spectrum_F(const int64_t *plan, F *table, fft_pair_F *scratch)
{
    int64_t n = plan[FFT_CORE], m = plan[FFT_ROWS] * plan[FFT_COLUMNS], rooms[3];
    const F *chirp = table + plan[FFT_CHIRP_TABLE];
    F *to = table + plan[FFT_SPECTRUM];
    memset(to, 0, (size_t)m * 2 * sizeof(F));
    for (int64_t k = 0; k < n; k++) {
        int64_t back = k == 0 ? 0 : m - k;
        to[2 * k] = to[2 * back] = chirp[2 * k];
        to[2 * k + 1] = to[2 * back + 1] = -chirp[2 * k + 1];
    }
    fft_scratch_sizes_F(plan, rooms);
    int64_t slots = plan[FFT_INSIDE] ? thread_count(plan[FFT_SLOTS]) : 1;
    table[0] = (F)(1.0 / (double)m);
    fft_split_F(plan, table, to, to + 1, 2, to, to + 1, 2, m, scratch, scratch + rooms[1],
                rooms[2], slots);
    table[0] = 1;
}

/* Makes the plan of outer x inner transforms in a workspace of so many bytes: integers, factors,
   and behind them what is left for the transforms, which is returned. */
__attribute__((noinline))
static void *fft_plan_F(int64_t kind, int64_t n, F scale, const int64_t *limits, int64_t outer,
                        int64_t inner, void *workspace, int64_t bytes)
{
    int64_t *plan = workspace, total = outer * inner, rooms[3];
    F *table = (F *)(plan + FFT_INTEGERS), *to = table + 2;
    bool is_halved = (kind == FFT_REAL || kind == FFT_HERMITIAN) && n % 2 == 0;
    int64_t core = is_halved ? n / 2 : n, rows = core, length = core;
    int64_t method = fft_method(core, outer, inner, LANES_F, limits);
    double cost;
    if (method == FFT_CHIRP) {
        length = fft_padded_length(core, LANES_F, total, limits, &rows);
    } else if (method == FFT_SPLIT) {
        rows = fft_split_rows(core, LANES_F, total, limits, &cost);
    }
    int64_t columns = length / rows;
    plan[FFT_KIND] = kind;
    plan[FFT_METHOD] = method;
    plan[FFT_LENGTH] = n;
    plan[FFT_CORE] = core;
    plan[FFT_ROWS] = rows;
    plan[FFT_COLUMNS] = columns;
    plan[FFT_BLOCK] = fft_block(rows, columns, LANES_F, limits);
    plan[FFT_INSIDE] = method != FFT_TOGETHER && length >= limits[FFT_LEAST_INSIDE];
    plan[FFT_ROW_RADICES] = FFT_SPECTRUM + 1;
    plan[FFT_COLUMN_RADICES] = FFT_SPECTRUM + 2 + FFT_MOST_PASSES;
    fft_radices(rows, plan + plan[FFT_ROW_RADICES]);
    fft_radices(columns, plan + plan[FFT_COLUMN_RADICES]);
    table[0] = method == FFT_CHIRP ? 1 : scale;
    table[1] = scale;
    plan[FFT_ROW_TABLE] = to - table;
    to = fft_pass_factors_F(rows, plan + plan[FFT_ROW_RADICES], to);
    plan[FFT_COLUMN_TABLE] = to - table;
    to = fft_pass_factors_F(columns, plan + plan[FFT_COLUMN_RADICES], to);
    if (method != FFT_TOGETHER) {
        to = fft_split_factors_F(plan, table, to);
    }
    plan[FFT_REAL_TABLE] = to - table;
    if (is_halved) {
        to = fft_quarter_F(core, to);
    }
    plan[FFT_CHIRP_TABLE] = to - table;
    if (method == FFT_CHIRP) {
        to = fft_chirp_factors_F(core, to);
        plan[FFT_SPECTRUM] = to - table;
        to += 2 * length;
    }
    fft_scratch_sizes_F(plan, rooms);
    int64_t left = (bytes - ((char *)to - (char *)workspace) - 64) / (2 * LANES_BYTES);
    int64_t each = plan[FFT_INSIDE] ? rooms[2] : rooms[0];
    int64_t most = 1 + (left - rooms[0]) / each;
    plan[FFT_SLOTS] = fft_min(limits[FFT_CORES], plan[FFT_INSIDE] ? most : fft_min(most, total));
    if (method == FFT_CHIRP) {
        fft_chirp_spectrum_F(plan, table, (fft_pair_F *)((char *)to + (-(uintptr_t)to & 63)));
    }
    return to;
}

/* Transforms of a length that is known at run time, the result times scale / divisor, or with `root`
   scale / sqrt(divisor); `workspace`: so many bytes, as FftOfSize has it. */
static inline void fft_any_F(int64_t kind, int64_t n, double scale, int64_t divisor, bool root,
                             const int64_t *limits, int64_t outer, int64_t inner, const F *x,
                             int64_t x_outer, int64_t x_inner, int64_t x_step, F *y,
                             int64_t y_outer, int64_t y_inner, int64_t y_step, bool is_complex,
                             void *workspace, int64_t bytes)
{
    int64_t *plan = (int64_t *)((char *)workspace + (-(uintptr_t)workspace & 63));
    bytes -= (char *)plan - (char *)workspace;
    scale /= root ? sqrt((double)divisor) : (double)divisor;
    void *rest = fft_plan_F(kind, n, (F)scale, limits, outer, inner, plan, bytes);
    const F *table = (const F *)(plan + FFT_INTEGERS);
    if (plan[FFT_METHOD] == FFT_TOGETHER) {
        fft_all_together_F(plan, table, outer, inner, x, x_outer, x_inner, x_step, y, y_outer,
                           y_inner, y_step, is_complex, rest);
    } else {
        fft_all_alone_F(plan, table, outer, inner, x, x_outer, x_inner, x_step, y, y_outer,
                        y_inner, y_step, is_complex, rest);
    }
}

/* numpy.fft.fft and ifft of complex numbers; strides are in elements. */
static inline void fft_any_complex_C(int64_t kind, int64_t n, double scale, int64_t divisor,
                                     bool root, const int64_t *limits, int64_t outer,
                                     int64_t inner, const C *x, int64_t x_outer, int64_t x_inner,
                                     int64_t x_step, C *y, int64_t y_outer, int64_t y_inner,
                                     int64_t y_step, void *workspace, int64_t bytes)
{
    fft_any_R(kind, n, scale, divisor, root, limits, outer, inner, (const R *)x, 2 * x_outer,
              2 * x_inner, 2 * x_step, (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, true,
              workspace, bytes);
}

/* numpy.fft.rfft, and fft and ifft of real numbers; strides are in elements. */
static inline void fft_any_real_C(int64_t kind, int64_t n, double scale, int64_t divisor,
                                  bool root, const int64_t *limits, int64_t outer, int64_t inner,
                                  const R *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                                  C *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                                  void *workspace, int64_t bytes)
{
    fft_any_R(kind, n, scale, divisor, root, limits, outer, inner, x, x_outer, x_inner, x_step,
              (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, false, workspace, bytes);
}

/* numpy.fft.irfft; strides are in elements. */
static inline void fft_any_hermitian_C(int64_t kind, int64_t n, double scale, int64_t divisor,
                                       bool root, const int64_t *limits, int64_t outer,
                                       int64_t inner, const C *x, int64_t x_outer,
                                       int64_t x_inner, int64_t x_step, R *y, int64_t y_outer,
                                       int64_t y_inner, int64_t y_step, void *workspace,
                                       int64_t bytes)
{
    fft_any_R(kind, n, scale, divisor, root, limits, outer, inner, (const R *)x, 2 * x_outer,
              2 * x_inner, 2 * x_step, y, y_outer, y_inner, y_step, true, workspace, bytes);
}
