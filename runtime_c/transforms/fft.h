/* numpy.fft.fft and its kin: X[k] = sum over j of x[j] exp(-2 pi i j k / n), of any length n.

   Everything is a transform in lanes (fft_lanes.h): FFT_LANES transforms of one length side by side
   in vector registers. What fills the lanes is
     - many transforms of one length (FFT_TOGETHER); or, for a single one of length n = rows x
       columns, its own parts (FFT_SPLIT): transforms along the columns, a factor
       exp(-2 pi i j k / n) each, a transposition, transforms along the rows (D. H. Bailey, "FFTs in
       external or hierarchical memory", Journal of Supercomputing 4(1), 1990). All of a large
       transform then happens in the cache but for two walks through memory.
     - lengths with a large prime factor become the convolution with a chirp exp(pi i k^2 / n)
       (L. Bluestein, IEEE Transactions on Audio and Electroacoustics 18(4), 1970), of a length that
       splits well (FFT_CHIRP).
   2n real numbers are transformed as n complex ones (fft_pairs.h). An inverse transform is a forward
   one with real and imaginary parts exchanged.

   `plan` holds whole numbers and `table` the factors, made by transpile/library/fft.py to the last bit;
   the names below say where in `plan` things are, and where in `table` it says that parts begin.
   Error: at most 0.6 eps sqrt(log2 n) in the 2-norm, measured for each n up to 300 and many larger
   ones against transforms in extended precision. */

/* Places in a plan. FFT_LENGTH is that of the real transform, FFT_CORE that of the complex one. */
enum {
    FFT_KIND, FFT_METHOD, FFT_LENGTH, FFT_CORE, FFT_ROWS, FFT_COLUMNS, FFT_BLOCK, FFT_INSIDE,
    FFT_SLOTS, FFT_ROW_RADICES, FFT_COLUMN_RADICES, FFT_ROW_TABLE, FFT_COLUMN_TABLE, FFT_FINE,
    FFT_COARSE, FFT_REAL_TABLE, FFT_CHIRP_TABLE, FFT_SPECTRUM
};

enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_HERMITIAN };

enum { FFT_TOGETHER, FFT_SPLIT, FFT_CHIRP };

/* Fewer elements are not shared among threads. */
enum { FFT_SHARED = 32768 };

static inline int64_t fft_smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t fft_larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Between the steps of a split transform: `rows` pairs times their factors (a row of them every
   `block`, imaginary parts behind real ones by `plane`; and where the block is not the first, those
   of `turn`), transposed; the first `count` go to `out`. */
static inline void fft_twist_F(int64_t rows, const fft_pair_F *x, const F *w, int64_t block,
                               int64_t plane, const F *turn, fft_pair_F *out, int64_t count)
{
    fft_vector_F re[FFT_LANES_F], im[FFT_LANES_F], zero = {0};
    #pragma GCC unroll 16
    for (int64_t l = 0; l < FFT_LANES_F; l++) {
        re[l] = im[l] = zero;
        if (l < rows) {
            fft_pair_F factor = {*(const fft_vector_F *)(w + l * block),
                                 *(const fft_vector_F *)(w + l * block + plane)};
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
    if (count == FFT_LANES_F) {
        #pragma GCC unroll 16
        for (int64_t l = 0; l < FFT_LANES_F; l++) {
            out[l] = (fft_pair_F){re[l], im[l]};
        }
    }
    for (int64_t l = 0; l < count && count < FFT_LANES_F; l++) {
        out[l] = (fft_pair_F){re[l], im[l]};
    }
}

/* Step one of a split transform: the columns [from, to) in groups of lanes, element (j, k) of the
   (rows, columns) matrix at (j * columns + k) * step; each result times exp(-2 pi i j k / n), and
   transposed: `middle` gets, for each group of rows, columns pairs with the rows in lanes. */
__attribute__((noinline))
static void fft_columns_F(const int64_t *plan, const F *table, const F *re, const F *im,
                          int64_t step, fft_pair_F *middle, fft_pair_F *scratch, int64_t from,
                          int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], block = plan[FFT_BLOCK];
    const F *fine = table + plan[FFT_FINE];
    for (int64_t group = from; group < to; group++) {
        int64_t column = group * FFT_LANES_F, lane[FFT_LANES_F];
        if (block == columns && columns >= FFT_LANES_F) {
            column = fft_smaller(column, columns - FFT_LANES_F);
        }
        int64_t count = fft_smaller(FFT_LANES_F, columns - column);
        for (int64_t l = 0; l < FFT_LANES_F; l++) {
            lane[l] = fft_smaller(l, count - 1) * step;
        }
        int64_t first = column * step, within = column % block;
        fft_load_F(rows, re == NULL ? re : re + first, im == NULL ? im : im + first,
                   columns * step, lane, scratch);
        const fft_pair_F *x = fft_lanes_F(rows, plan + plan[FFT_ROW_RADICES],
                                          table + plan[FFT_ROW_TABLE], scratch, scratch + rows);
        const F *coarse = table + plan[FFT_COARSE] + 2 * rows * (column / block);
        for (int64_t row = 0; row < rows; row += FFT_LANES_F) {
            int64_t end = fft_smaller(FFT_LANES_F, rows - row);
            const F *w = fine + row * block + within;
            const F *turn = block < columns ? coarse + 2 * row : NULL;
            fft_pair_F *out = middle + row / FFT_LANES_F * columns + column;
            if (end == FFT_LANES_F) {
                fft_twist_F(FFT_LANES_F, x + row, w, block, rows * block, turn, out, count);
            } else {
                fft_twist_F(end, x + row, w, block, rows * block, turn, out, count);
            }
        }
    }
}

/* Step two: the rows of the groups [from, to); element row + rows * k of the result goes to that
   multiple of `step`, if it is below `limit`. */
__attribute__((noinline))
static void fft_rows_F(const int64_t *plan, const F *table, fft_pair_F *middle,
                       fft_pair_F *scratch, F *re, F *im, int64_t step, int64_t limit,
                       int64_t from, int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], lane[FFT_LANES_F];
    int64_t whole = limit / rows, rest = limit - whole * rows;
    for (int64_t l = 0; l < FFT_LANES_F; l++) {
        lane[l] = l * step;
    }
    for (int64_t group = from; group < to; group++) {
        const fft_pair_F *x = fft_lanes_F(columns, plan + plan[FFT_COLUMN_RADICES],
                                          table + plan[FFT_COLUMN_TABLE],
                                          middle + group * columns, scratch);
        int64_t row = group * FFT_LANES_F, count = fft_smaller(FFT_LANES_F, rows - row);
        F *to_re = re == NULL ? re : re + row * step, *to_im = im == NULL ? im : im + row * step;
        fft_store_F(whole, x, table[0], to_re, to_im, rows * step, lane, count);
        if (rest > row) {
            int64_t end = whole * rows * step;
            fft_store_F(1, x + whole, table[0], re == NULL ? re : to_re + end,
                        im == NULL ? im : to_im + end, step, lane, fft_smaller(count, rest - row));
        }
    }
}

/* A split transform of elements `step` apart; `slots` threads have scratch memory of `room` pairs
   each. The operand has been read when the first result is written. */
__attribute__((noinline))
static void fft_split_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots)
{
    int64_t columns = (plan[FFT_COLUMNS] + FFT_LANES_F - 1) / FFT_LANES_F;
    int64_t rows = (plan[FFT_ROWS] + FFT_LANES_F - 1) / FFT_LANES_F;
    if (slots == 1) {
        fft_columns_F(plan, table, re, im, step, middle, scratch, 0, columns);
        fft_rows_F(plan, table, middle, scratch, to_re, to_im, to_step, limit, 0, rows);
        return;
    }
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_columns_F(plan, table, re, im, step, middle, scratch + slot * room,
                      columns * slot / slots, columns * (slot + 1) / slots);
    }
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_rows_F(plan, table, middle, scratch + slot * room, to_re, to_im, to_step, limit,
                   rows * slot / slots, rows * (slot + 1) / slots);
    }
}

/* The same by a convolution with a chirp, whose transforms, of length rows x columns, happen in
   `buffer`. */
__attribute__((noinline))
static void fft_chirp_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots,
                        F *buffer)
{
    int64_t n = plan[FFT_CORE], m = plan[FFT_ROWS] * plan[FFT_COLUMNS];
    const F *chirp = table + plan[FFT_CHIRP_TABLE], *spectrum = table + plan[FFT_SPECTRUM];
    F scale = table[1];
    for (int64_t k = 0; k < n; k++) {
        F x = re != NULL ? re[k * step] : 0, y = im != NULL ? im[k * step] : 0;
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
        if (to_re != NULL) {
            to_re[k * to_step] = x * chirp[2 * k] - y * chirp[2 * k + 1];
        }
        if (to_im != NULL) {
            to_im[k * to_step] = x * chirp[2 * k + 1] + y * chirp[2 * k];
        }
    }
}

/* As many transforms as lanes, whose operands and results begin at these places. */
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

/* One transform, split or by a chirp. `buffer` holds FFT_CORE complex numbers where the operand is
   half of a Hermitian one, and after them those of a chirp. */
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

/* The pairs of scratch memory for one thread: of all, of the middle, and of the lanes. */
static inline void fft_rooms_F(const int64_t *plan, int64_t *rooms)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], core = plan[FFT_CORE];
    bool together = plan[FFT_METHOD] == FFT_TOGETHER;
    int64_t numbers = plan[FFT_METHOD] == FFT_CHIRP ? rows * columns : 0;
    numbers += plan[FFT_KIND] == FFT_HERMITIAN ? core : 0;
    rooms[2] = 2 * (fft_larger(rows, columns) + 1);
    rooms[1] = together ? 0 : (rows + FFT_LANES_F - 1) / FFT_LANES_F * columns;
    rooms[0] = rooms[1] + rooms[2] + (together ? 0 : numbers / FFT_LANES_F + 1);
}

/* The bytes that fft needs for scratch. */
static inline int64_t fft_workspace_F(const int64_t *plan)
{
    int64_t rooms[3], slots = plan[FFT_SLOTS];
    fft_rooms_F(plan, rooms);
    int64_t pairs = plan[FFT_INSIDE] ? rooms[0] + (slots - 1) * rooms[2] : slots * rooms[0];
    return pairs * 2 * FFT_BYTES + 64;
}

/* Transform (i, j) of outer x inner ones reads the numbers of x that begin at i * x_outer +
   j * x_inner and are x_step apart, and writes those of y likewise; all in units of F. x may be y,
   if their places are the same. `workspace`: fft_workspace(plan) bytes, of any alignment, this
   call's alone while it runs. */
__attribute__((noinline))
static void fft_all_F(const int64_t *plan, const F *table, int64_t outer, int64_t inner,
                      const F *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                      F *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                      bool is_complex, void *workspace)
{
    fft_pair_F *scratch = (fft_pair_F *)((char *)workspace + (-(uintptr_t)workspace & 63));
    int64_t rooms[3], total = outer * inner;
    bool together = plan[FFT_METHOD] == FFT_TOGETHER, inside = plan[FFT_INSIDE] != 0;
    int64_t groups = together ? (total + FFT_LANES_F - 1) / FFT_LANES_F : total;
    int64_t slots = thread_count(plan[FFT_SLOTS]);
    slots = total * plan[FFT_LENGTH] < FFT_SHARED ? 1 : slots;
    fft_rooms_F(plan, rooms);
    if (inside) {
        fft_pair_F *buffer = scratch + rooms[1] + slots * rooms[2];
        for (int64_t t = 0; t < total; t++) {
            int64_t i = t / inner, j = t % inner;
            fft_alone_F(plan, table, x + i * x_outer + j * x_inner, x_step,
                        y + i * y_outer + j * y_inner, y_step, is_complex, scratch,
                        scratch + rooms[1], rooms[2], slots, (F *)buffer);
        }
        return;
    }
    slots = fft_smaller(slots, groups);
    #pragma omp parallel for schedule(static) if (slots > 1)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_pair_F *middle = scratch + slot * rooms[0], *lanes = middle + rooms[1];
        for (int64_t g = groups * slot / slots; g < groups * (slot + 1) / slots; g++) {
            int64_t first = together ? g * FFT_LANES_F : g, i = first / inner, j = first % inner;
            int64_t lane[FFT_LANES_F], to_lane[FFT_LANES_F], from = i * x_outer + j * x_inner;
            int64_t to = i * y_outer + j * y_inner;
            if (!together) {
                fft_alone_F(plan, table, x + from, x_step, y + to, y_step, is_complex, middle,
                            lanes, rooms[2], 1, (F *)(lanes + rooms[2]));
                continue;
            }
            for (int64_t l = 0; l < FFT_LANES_F; l++) {
                lane[l] = i * x_outer + j * x_inner - from;
                to_lane[l] = i * y_outer + j * y_inner - to;
                if (first + l + 1 < total && ++j == inner) {
                    j = 0;
                    i++;
                }
            }
            fft_together_F(plan, table, x + from, x_step, lane, y + to, y_step, to_lane,
                           fft_smaller(FFT_LANES_F, total - first), is_complex, lanes);
        }
    }
}

/* numpy.fft.fft and ifft of complex numbers, strides in numbers. */
static inline void fft_complex_C(const int64_t *plan, const R *table, int64_t outer, int64_t inner,
                                 const C *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                                 C *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                                 void *workspace)
{
    fft_all_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
              (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, true, workspace);
}

/* numpy.fft.rfft, fft and ifft of real numbers. */
static inline void fft_real_C(const int64_t *plan, const R *table, int64_t outer, int64_t inner,
                              const R *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                              C *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                              void *workspace)
{
    fft_all_R(plan, table, outer, inner, x, x_outer, x_inner, x_step,
              (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, false, workspace);
}

/* numpy.fft.irfft. */
static inline void fft_hermitian_C(const int64_t *plan, const R *table, int64_t outer,
                                   int64_t inner, const C *x, int64_t x_outer, int64_t x_inner,
                                   int64_t x_step, R *y, int64_t y_outer, int64_t y_inner,
                                   int64_t y_step, void *workspace)
{
    fft_all_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
              y, y_outer, y_inner, y_step, true, workspace);
}
