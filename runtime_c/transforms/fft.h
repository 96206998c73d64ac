/* numpy.fft.fft, ifft, rfft and irfft, of any length n:
   X[k] = sum over j of x[j] exp(-2 pi i j k / n).

   The kernel is a transform in lanes (fft_lanes.h): LANES transforms of one length side by side
   in vector registers. There are three methods to fill the lanes.
     FFT_TOGETHER  many transforms of one length.
     FFT_SPLIT     one transform of length n = rows x columns, the four-step method: transforms
                   along the columns, twiddle factors exp(-2 pi i j k / n), a transposition,
                   transforms along the rows (D. H. Bailey, "FFTs in external or hierarchical
                   memory", Journal of Supercomputing 4(1), 1990). A large transform passes over
                   memory only twice.
     FFT_CHIRP     lengths with a large prime factor: the convolution with a chirp exp(pi i k^2 / n)
                   (L. Bluestein, IEEE Transactions on Audio and Electroacoustics 18(4), 1970), by
                   split transforms of a length with small prime factors.
   2n real numbers are transformed as n complex ones (fft_pairs.h). An inverse transform is a forward
   one with real and imaginary parts exchanged.

   `plan` holds integers and `table` twiddle factors, which transpile/library/fft.py computes in
   extended precision. The names below are indices into `plan`; those that end in _TABLE, and
   FFT_FINE, FFT_COARSE and FFT_SPECTRUM, hold offsets into `table`.
   Error: at most 0.6 eps sqrt(log2 n) in the 2-norm, measured for each n up to 300 and many larger
   ones against transforms in extended precision. */

/* Indices into a plan. FFT_LENGTH is the length of the transform, FFT_CORE that of the complex
   transform that computes it. */
enum {
    FFT_KIND, FFT_METHOD, FFT_LENGTH, FFT_CORE, FFT_ROWS, FFT_COLUMNS, FFT_BLOCK, FFT_INSIDE,
    FFT_SLOTS, FFT_ROW_RADICES, FFT_COLUMN_RADICES, FFT_ROW_TABLE, FFT_COLUMN_TABLE, FFT_FINE,
    FFT_COARSE, FFT_REAL_TABLE, FFT_CHIRP_TABLE, FFT_SPECTRUM
};

enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_HERMITIAN };

enum { FFT_TOGETHER, FFT_SPLIT, FFT_CHIRP };

/* With fewer elements, one thread is faster than several. */
enum { FFT_SHARED = 32768 };

static inline int64_t fft_min(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t fft_max(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Twiddle and transpose a block between the two steps of a split transform: `rows` vectors times
   the factors at w (row stride `block`, imaginary parts at offset `plane`) and, unless `turn` is
   NULL, the factor of each row there, transposed; the first `count` vectors go to `out`. */
static inline void fft_twiddle_F(int64_t rows, const fft_pair_F *x, const F *w, int64_t block,
                                 int64_t plane, const F *turn, fft_pair_F *out, int64_t count)
{
    lanes_F re[LANES_F], im[LANES_F], zero = {0};
    #pragma GCC unroll 16
    for (int64_t l = 0; l < LANES_F; l++) {
        re[l] = im[l] = zero;
        if (l < rows) {
            fft_pair_F factor = {*(const lanes_F *)(w + l * block),
                                 *(const lanes_F *)(w + l * block + plane)};
            factor = fft_times_all_F(x[l], factor);
            if (turn != NULL) {
                factor = fft_times_F(factor, turn + 2 * l);
            }
            re[l] = factor.re;
            im[l] = factor.im;
        }
    }
    fft_transpose_F(re);
    fft_transpose_F(im);
    if (count == LANES_F) {
        #pragma GCC unroll 16
        for (int64_t l = 0; l < LANES_F; l++) {
            out[l] = (fft_pair_F){re[l], im[l]};
        }
    }
    for (int64_t l = 0; l < count && count < LANES_F; l++) {
        out[l] = (fft_pair_F){re[l], im[l]};
    }
}

/* First step of a split transform: the groups [from, to) of LANES columns. Element (j, k) of
   the (rows, columns) matrix is at (j * columns + k) * step. Results times exp(-2 pi i j k / n) are
   transposed into `middle`: for each group of rows `columns` pairs with the rows in lanes. */
__attribute__((noinline))
static void fft_columns_F(const int64_t *plan, const F *table, const F *re, const F *im,
                          int64_t step, fft_pair_F *middle, fft_pair_F *scratch, int64_t from,
                          int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], block = plan[FFT_BLOCK];
    const F *fine = table + plan[FFT_FINE];
    for (int64_t group = from; group < to; group++) {
        int64_t column = group * LANES_F, lane[LANES_F];
        if (block == columns && columns >= LANES_F) {
            column = fft_min(column, columns - LANES_F);
        }
        int64_t count = fft_min(LANES_F, columns - column);
        for (int64_t l = 0; l < LANES_F; l++) {
            lane[l] = fft_min(l, count - 1) * step;
        }
        int64_t first = column * step, within = column % block;
        fft_load_F(rows, re == NULL ? re : re + first, im == NULL ? im : im + first,
                   columns * step, lane, scratch);
        const fft_pair_F *x = fft_lanes_F(rows, plan + plan[FFT_ROW_RADICES],
                                          table + plan[FFT_ROW_TABLE], scratch, scratch + rows);
        const F *coarse = table + plan[FFT_COARSE] + 2 * rows * (column / block);
        for (int64_t row = 0; row < rows; row += LANES_F) {
            int64_t end = fft_min(LANES_F, rows - row);
            const F *w = fine + row * block + within;
            const F *turn = block < columns ? coarse + 2 * row : NULL;
            fft_pair_F *out = middle + row / LANES_F * columns + column;
            if (end == LANES_F) {
                fft_twiddle_F(LANES_F, x + row, w, block, rows * block, turn, out, count);
            } else {
                fft_twiddle_F(end, x + row, w, block, rows * block, turn, out, count);
            }
        }
    }
}

/* Second step: the groups [from, to) of LANES rows. Element row + rows * k of the result goes
   to that multiple of `step` if it is below `limit`. */
__attribute__((noinline))
static void fft_rows_F(const int64_t *plan, const F *table, fft_pair_F *middle,
                       fft_pair_F *scratch, F *re, F *im, int64_t step, int64_t limit,
                       int64_t from, int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], lane[LANES_F];
    int64_t whole = limit / rows, rest = limit - whole * rows;
    for (int64_t l = 0; l < LANES_F; l++) {
        lane[l] = l * step;
    }
    for (int64_t group = from; group < to; group++) {
        const fft_pair_F *x = fft_lanes_F(columns, plan + plan[FFT_COLUMN_RADICES],
                                          table + plan[FFT_COLUMN_TABLE],
                                          middle + group * columns, scratch);
        int64_t row = group * LANES_F, count = fft_min(LANES_F, rows - row);
        F *to_re = re == NULL ? re : re + row * step, *to_im = im == NULL ? im : im + row * step;
        fft_store_F(whole, x, table[0], to_re, to_im, rows * step, lane, count);
        if (rest > row) {
            int64_t end = whole * rows * step;
            fft_store_F(1, x + whole, table[0], re == NULL ? re : to_re + end,
                        im == NULL ? im : to_im + end, step, lane, fft_min(count, rest - row));
        }
    }
}

/* A split transform of elements of stride `step`, by `slots` threads with `room` pairs of scratch
   memory each. The whole operand is read before the first result is written. */
__attribute__((noinline))
static void fft_split_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots)
{
    int64_t columns = (plan[FFT_COLUMNS] + LANES_F - 1) / LANES_F;
    int64_t rows = (plan[FFT_ROWS] + LANES_F - 1) / LANES_F;
    if (slots == 1) {
        fft_columns_F(plan, table, re, im, step, middle, scratch, 0, columns);
        fft_rows_F(plan, table, middle, scratch, to_re, to_im, to_step, limit, 0, rows);
        return;
    }
    #pragma omp parallel for NUM_THREADS schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_columns_F(plan, table, re, im, step, middle, scratch + slot * room,
                      columns * slot / slots, columns * (slot + 1) / slots);
    }
    #pragma omp parallel for NUM_THREADS schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_rows_F(plan, table, middle, scratch + slot * room, to_re, to_im, to_step, limit,
                   rows * slot / slots, rows * (slot + 1) / slots);
    }
}

/* The same by Bluestein's convolution with a chirp, whose split transforms, of length rows x
   columns, are in place in `buffer`. */
__attribute__((noinline))
static void fft_chirp_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots,
                        F *buffer)
{
    int64_t n = plan[FFT_CORE], m = plan[FFT_ROWS] * plan[FFT_COLUMNS];
    const F *chirp = table + plan[FFT_CHIRP_TABLE], *spectrum = table + plan[FFT_SPECTRUM];
    const F zero = 0, *from_re = re != NULL ? re : &zero, *from_im = im != NULL ? im : &zero;
    int64_t re_step = re != NULL ? step : 0, im_step = im != NULL ? step : 0;
    F scale = table[1];
    for (int64_t k = 0; k < n; k++) {
        F x = from_re[k * re_step], y = from_im[k * im_step];
        buffer[2 * k] = x * chirp[2 * k] - y * chirp[2 * k + 1];
        buffer[2 * k + 1] = x * chirp[2 * k + 1] + y * chirp[2 * k];
    }
    memset(buffer + 2 * n, 0, (size_t)(m - n) * 2 * sizeof(F));
    fft_split_F(plan, table, buffer, buffer + 1, 2, buffer, buffer + 1, 2, m, middle, scratch,
                room, slots);
    for (int64_t k = 0; k < m; k++) {
        F x = buffer[2 * k], y = buffer[2 * k + 1];
        buffer[2 * k] = x * spectrum[2 * k] - y * spectrum[2 * k + 1];
        buffer[2 * k + 1] = x * spectrum[2 * k + 1] + y * spectrum[2 * k];
    }
    fft_split_F(plan, table, buffer + 1, buffer, 2, buffer + 1, buffer, 2, n, middle, scratch,
                room, slots);
    for (int64_t k = 0; k < limit; k++) {
        F x = scale * buffer[2 * k], y = scale * buffer[2 * k + 1];
        to_re[k * to_step] = x * chirp[2 * k] - y * chirp[2 * k + 1];
        if (to_im != NULL) {
            to_im[k * to_step] = x * chirp[2 * k + 1] + y * chirp[2 * k];
        }
    }
}

/* LANES transforms, whose operands and results begin at offsets `lane` and `to_lane`. */
__attribute__((noinline))
static void fft_together_F(const int64_t *plan, const F *table, const F *x, int64_t step,
                           const int64_t *lane, F *y, int64_t to_step, const int64_t *to_lane,
                           int64_t count, bool is_complex, fft_pair_F *scratch)
{
    int64_t n = plan[FFT_LENGTH], core = plan[FFT_CORE], kind = plan[FFT_KIND];
    const int64_t *radices = plan + plan[FFT_ROW_RADICES];
    const F *w = table + plan[FFT_ROW_TABLE], *turns = table + plan[FFT_REAL_TABLE];
    fft_pair_F *other = scratch + core + 1, *z;
    const F *x_im = is_complex ? x + 1 : NULL;
    F scale = table[0];
    if (kind == FFT_FORWARD) {
        fft_load_F(core, x, x_im, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (kind == FFT_INVERSE) {
        fft_load_F(core, x_im, x, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y + 1, y, to_step, to_lane, count);
    } else if (kind == FFT_REAL && core < n) {
        fft_load_F(core, x, x + step, 2 * step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_lanes_from_pairs_F(core, z, turns);
        fft_store_F(core + 1, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (kind == FFT_REAL) {
        fft_load_F(core, x, NULL, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(n / 2 + 1, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (core < n) {
        fft_load_F(core + 1, x, x + 1, step, lane, scratch);
        fft_lanes_to_pairs_F(core, scratch, turns);
        for (int64_t k = 0; k < core; k++) {
            scratch[k] = (fft_pair_F){scratch[k].im, scratch[k].re};
        }
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y + to_step, y, 2 * to_step, to_lane, count);
    } else {
        fft_load_F(n / 2 + 1, x, x + 1, step, lane, scratch);
        scratch[0].im -= scratch[0].im;
        for (int64_t k = 1; k <= n / 2; k++) {
            scratch[n - k] = scratch[k];
            scratch[k].im = -scratch[k].im;
        }
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(n, z, scale, y, NULL, to_step, to_lane, count);
    }
}

/* One transform, split or by a chirp. `buffer` holds FFT_CORE complex numbers for a Hermitian
   operand, then those of the chirp. */
__attribute__((noinline))
static void fft_alone_F(const int64_t *plan, const F *table, const F *x, int64_t step, F *y,
                        int64_t to_step, bool is_complex, fft_pair_F *middle, fft_pair_F *scratch,
                        int64_t room, int64_t slots, F *buffer)
{
    int64_t n = plan[FFT_LENGTH], core = plan[FFT_CORE], kind = plan[FFT_KIND], limit = core;
    const F *re = x, *im = is_complex ? x + 1 : NULL, *turns = table + plan[FFT_REAL_TABLE];
    F *to_re = y, *to_im = y + 1, *chirp = buffer;
    int64_t out_step = to_step;
    if (kind == FFT_INVERSE) {
        re = im;
        im = x;
        to_re = y + 1;
        to_im = y;
    } else if (kind == FFT_REAL && core < n) {
        im = x + step;
        step *= 2;
    } else if (kind == FFT_REAL) {
        limit = n / 2 + 1;
    } else if (kind == FFT_HERMITIAN) {
        chirp = buffer + 2 * core;
        if (core < n) {
            fft_to_pairs_F(core, x, step, turns, buffer);
            re = buffer + 1;
            im = buffer;
            to_re = y + to_step;
            to_im = y;
            out_step = 2 * to_step;
        } else {
            buffer[0] = x[0];
            buffer[1] = 0;
            for (int64_t k = 1; k <= n / 2; k++) {
                F part[2] = {x[k * step], x[k * step + 1]};
                buffer[2 * k] = buffer[2 * (n - k)] = part[0];
                buffer[2 * k + 1] = -part[1];
                buffer[2 * (n - k) + 1] = part[1];
            }
            re = buffer;
            im = buffer + 1;
            to_im = NULL;
        }
        step = 2;
    }
    if (plan[FFT_METHOD] == FFT_CHIRP) {
        fft_chirp_F(plan, table, re, im, step, to_re, to_im, out_step, limit, middle, scratch,
                    room, slots, chirp);
    } else {
        fft_split_F(plan, table, re, im, step, to_re, to_im, out_step, limit, middle, scratch,
                    room, slots);
    }
    if (kind == FFT_REAL && core < n) {
        fft_from_pairs_F(core, y, to_step, turns);
    }
}

/* Sizes of scratch memory for one thread, in pairs: in all, of `middle`, and of the lanes. */
static inline void fft_scratch_sizes_F(const int64_t *plan, int64_t *rooms)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], core = plan[FFT_CORE];
    bool together = plan[FFT_METHOD] == FFT_TOGETHER;
    int64_t numbers = plan[FFT_METHOD] == FFT_CHIRP ? rows * columns : 0;
    numbers += plan[FFT_KIND] == FFT_HERMITIAN ? core : 0;
    rooms[2] = 2 * (fft_max(rows, columns) + 1);
    rooms[1] = together ? 0 : (rows + LANES_F - 1) / LANES_F * columns;
    rooms[0] = rooms[1] + rooms[2] + (together ? 0 : numbers / LANES_F + 1);
}

/* The threads for so many transforms of a plan. */
static inline int64_t fft_slots(const int64_t *plan, int64_t total)
{
    return total * plan[FFT_LENGTH] < FFT_SHARED ? 1 : thread_count(plan[FFT_SLOTS]);
}

/* The size in bytes of the workspace of all transforms of a plan. */
static inline int64_t fft_workspace_F(const int64_t *plan)
{
    int64_t rooms[3], slots = plan[FFT_SLOTS];
    fft_scratch_sizes_F(plan, rooms);
    int64_t pairs = plan[FFT_INSIDE] ? rooms[0] + (slots - 1) * rooms[2] : slots * rooms[0];
    return pairs * 2 * LANES_BYTES + 64;
}

/* All transforms of a plan, LANES of them side by side: number (i, j) of outer x inner ones reads x
   from i * x_outer + j * x_inner on with stride x_step, and writes y likewise; strides are in units
   of F. x may be y if the strides are equal. `workspace`: fft_workspace(plan) bytes, of any
   alignment, which no other thread uses meanwhile. */
__attribute__((noinline))
static void fft_all_together_F(const int64_t *plan, const F *table, int64_t outer, int64_t inner,
                               const F *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                               F *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                               bool is_complex, void *workspace)
{
    fft_pair_F *scratch = (fft_pair_F *)((char *)workspace + (-(uintptr_t)workspace & 63));
    int64_t rooms[3], total = outer * inner, groups = (total + LANES_F - 1) / LANES_F;
    int64_t slots = fft_min(fft_slots(plan, total), groups);
    fft_scratch_sizes_F(plan, rooms);
    #pragma omp parallel for NUM_THREADS schedule(static) if (slots > 1)
    for (int64_t slot = 0; slot < slots; slot++) {
        for (int64_t g = groups * slot / slots; g < groups * (slot + 1) / slots; g++) {
            int64_t first = g * LANES_F, i = first / inner, j = first % inner;
            int64_t lane[LANES_F], to_lane[LANES_F], from = i * x_outer + j * x_inner;
            int64_t to = i * y_outer + j * y_inner;
            for (int64_t l = 0; l < LANES_F; l++) {
                lane[l] = i * x_outer + j * x_inner - from;
                to_lane[l] = i * y_outer + j * y_inner - to;
                if (first + l + 1 < total && ++j == inner) {
                    j = 0;
                    i++;
                }
            }
            fft_together_F(plan, table, x + from, x_step, lane, y + to, y_step, to_lane,
                           fft_min(LANES_F, total - first), is_complex,
                           scratch + slot * rooms[0] + rooms[1]);
        }
    }
}

/* As fft_all_together, one transform after the other, each by itself. */
__attribute__((noinline))
static void fft_all_alone_F(const int64_t *plan, const F *table, int64_t outer, int64_t inner,
                            const F *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                            F *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                            bool is_complex, void *workspace)
{
    fft_pair_F *scratch = (fft_pair_F *)((char *)workspace + (-(uintptr_t)workspace & 63));
    int64_t rooms[3], total = outer * inner, slots = fft_slots(plan, total);
    fft_scratch_sizes_F(plan, rooms);
    if (plan[FFT_INSIDE]) {
        fft_pair_F *buffer = scratch + rooms[1] + slots * rooms[2];
        for (int64_t t = 0; t < total; t++) {
            int64_t i = t / inner, j = t % inner;
            fft_alone_F(plan, table, x + i * x_outer + j * x_inner, x_step,
                        y + i * y_outer + j * y_inner, y_step, is_complex, scratch,
                        scratch + rooms[1], rooms[2], slots, (F *)buffer);
        }
        return;
    }
    slots = fft_min(slots, total);
    #pragma omp parallel for NUM_THREADS schedule(static) if (slots > 1)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_pair_F *middle = scratch + slot * rooms[0], *lanes = middle + rooms[1];
        for (int64_t t = total * slot / slots; t < total * (slot + 1) / slots; t++) {
            int64_t i = t / inner, j = t % inner;
            fft_alone_F(plan, table, x + i * x_outer + j * x_inner, x_step,
                        y + i * y_outer + j * y_inner, y_step, is_complex, middle, lanes,
                        rooms[2], 1, (F *)(lanes + rooms[2]));
        }
    }
}

/* numpy.fft.fft and ifft of complex numbers; strides are in elements. */
static inline void fft_complex_together_C(const int64_t *plan, const R *table, int64_t outer,
                                          int64_t inner, const C *x, int64_t x_outer,
                                          int64_t x_inner, int64_t x_step, C *y, int64_t y_outer,
                                          int64_t y_inner, int64_t y_step, void *workspace)
{
    fft_all_together_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner,
                       2 * x_step, (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, true, workspace);
}

/* numpy.fft.rfft, and fft and ifft of real numbers; strides are in elements. */
static inline void fft_real_together_C(const int64_t *plan, const R *table, int64_t outer,
                                       int64_t inner, const R *x, int64_t x_outer, int64_t x_inner,
                                       int64_t x_step, C *y, int64_t y_outer, int64_t y_inner,
                                       int64_t y_step, void *workspace)
{
    fft_all_together_R(plan, table, outer, inner, x, x_outer, x_inner, x_step, (R *)y, 2 * y_outer,
                       2 * y_inner, 2 * y_step, false, workspace);
}

/* numpy.fft.irfft; strides are in elements. */
static inline void fft_hermitian_together_C(const int64_t *plan, const R *table, int64_t outer,
                                            int64_t inner, const C *x, int64_t x_outer,
                                            int64_t x_inner, int64_t x_step, R *y, int64_t y_outer,
                                            int64_t y_inner, int64_t y_step, void *workspace)
{
    fft_all_together_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner,
                       2 * x_step, y, y_outer, y_inner, y_step, true, workspace);
}

/* numpy.fft.fft and ifft of complex numbers; strides are in elements. */
static inline void fft_complex_alone_C(const int64_t *plan, const R *table, int64_t outer,
                                       int64_t inner, const C *x, int64_t x_outer, int64_t x_inner,
                                       int64_t x_step, C *y, int64_t y_outer, int64_t y_inner,
                                       int64_t y_step, void *workspace)
{
    fft_all_alone_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
                    (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, true, workspace);
}

/* numpy.fft.rfft, and fft and ifft of real numbers; strides are in elements. */
static inline void fft_real_alone_C(const int64_t *plan, const R *table, int64_t outer,
                                    int64_t inner, const R *x, int64_t x_outer, int64_t x_inner,
                                    int64_t x_step, C *y, int64_t y_outer, int64_t y_inner,
                                    int64_t y_step, void *workspace)
{
    fft_all_alone_R(plan, table, outer, inner, x, x_outer, x_inner, x_step, (R *)y, 2 * y_outer,
                    2 * y_inner, 2 * y_step, false, workspace);
}

/* numpy.fft.irfft; strides are in elements. */
static inline void fft_hermitian_alone_C(const int64_t *plan, const R *table, int64_t outer,
                                         int64_t inner, const C *x, int64_t x_outer,
                                         int64_t x_inner, int64_t x_step, R *y, int64_t y_outer,
                                         int64_t y_inner, int64_t y_step, void *workspace)
{
    fft_all_alone_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
                    y, y_outer, y_inner, y_step, true, workspace);
}
