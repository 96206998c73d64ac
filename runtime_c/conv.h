/* Convolutions of neural networks, as `conv_general_dilated` has them in the program's graph:
   out[n][o][p] = sum over c, k of x[n][c][p * stride + k * dilation - low] * w[o][c][k].

   The text is written once for the C type F: F stands for float and _F for _f32, then for double
   and _f64.

   Method: matrix products whose left or right matrix is nowhere stored, since its elements are
   those of the operand at offsets known beforehand: M. Dukhan, "The indirect convolution algorithm"
   (arXiv:1907.02129, 2019). The tiles are those of matmul.h: MATMUL_ROWS x MATMUL_COLUMNS of the
   result are summed in vector registers. There are two forms.
     planes    lanes are pixels: rows of the tile are features, a step loads adjacent pixels. The
               operand is copied, an image or a few at a time, with its padding; where the stride is
               more than one, pixels that are a stride apart become neighbours. The pixels of
               the result are walked as if its rows were as long as those of the copy, so that a tile
               may go on in the next row; what lies between the rows is not kept.
     features  lanes are features: rows of the tile are pixels, whose numbers are read one by one.
               The weights are copied into panels, CONV_DEPTH steps of the sum at a time. The
               operand is copied if it has padding.
   Each element is a sum of chains of multiply-adds, whose order depends on neither the number of
   threads nor the vector width. */

/* The places in a plan, an array of whole numbers; where it speaks of space, three follow each other:
   z, y and x. Steps are in elements.
     FORM      0: planes, 1: features
     INNER     whether the channels are the innermost loop of the sum, else they are the outermost
     BATCH, GROUPS, FEATURES, CHANNELS: images; groups; those of the result and of the operand in one
     TOGETHER  images that are copied at a time; 0: the operand is read where it is
     IMAGE     the numbers in the copy, for one image of those
     PADDED    whether there are zeros among them
     OUT, WINDOW: the extents of the result and of the window
     FROM      steps of the operand: image, group, channel, z, y, x
     COPY      steps of the copy, likewise
     ORDER     these six axes, the longest step of the copy first
     WALK      features: steps of the copy from pixel to pixel of the result;
               planes: y and x are the number and the length of the rows of the copy
     WEIGHTS   steps of the weights: group, feature, channel
     TO        steps of the result: image, group, feature, z, y, x
     X_TAPS, W_TAPS: for each axis where the offsets of its taps stand in the plan, for the copy and
               for the weights
     PARTS     for each axis where the parts stand in which it is copied: their number; then
               the first pixel, the number of pixels, their step, and their place in the copy */
enum { CONV_FORM, CONV_INNER, CONV_BATCH, CONV_GROUPS, CONV_FEATURES, CONV_CHANNELS, CONV_TOGETHER,
       CONV_IMAGE, CONV_PADDED, CONV_OUT = 9, CONV_WINDOW = 12, CONV_FROM = 15, CONV_COPY = 21,
       CONV_ORDER = 27, CONV_WALK = 33, CONV_WEIGHTS = 36, CONV_TO = 39, CONV_X_TAPS = 45,
       CONV_W_TAPS = 48, CONV_PARTS = 51 };

enum { CONV_BLOCK = 16, CONV_DEPTH = 512, CONV_ACROSS = 4, CONV_FEW = 2, CONV_SMALL = 1 << 18 };

/* The offsets of the terms first .. first + count of a sum over channels and taps, in the operand
   or the weights, of which `taps` are the places of the tables. */
static void conv_offsets(const int64_t *plan, const int64_t *taps, int64_t channel_step,
                         int64_t first, int64_t count, int64_t *offsets)
{
    int64_t channels = plan[CONV_CHANNELS], height = plan[CONV_WINDOW + 1];
    int64_t width = plan[CONV_WINDOW + 2], size = plan[CONV_WINDOW] * height * width;
    int64_t c = plan[CONV_INNER] ? first % channels : first / size;
    int64_t tap = plan[CONV_INNER] ? first / channels : first % size;
    int64_t x = tap % width, y = tap / width % height, z = tap / width / height;
    for (int64_t k = 0; k < count; k++) {
        offsets[k] = c * channel_step + plan[taps[0] + z] + plan[taps[1] + y] + plan[taps[2] + x];
        if (plan[CONV_INNER] && ++c < channels) {
            continue;
        }
        c = plan[CONV_INNER] ? 0 : c;
        if (++x == width) {
            x = 0;
            y++;
        }
        if (y == height) {
            y = 0;
            z++;
        }
        if (z == plan[CONV_WINDOW]) {
            z = 0;
            c++;
        }
    }
}

/* The copy of the pixels in one part of each axis of space; the threads share the work. */
static void conv_copy_part_F(const int64_t *plan, int64_t images, const int64_t *const part[3],
                             const F *x, F *copy)
{
    const int64_t all[6] = {images, plan[CONV_GROUPS], plan[CONV_CHANNELS],
                            part[0][1], part[1][1], part[2][1]};
    int64_t size[6], from[6], to[6];
    for (int i = 0; i < 6; i++) {
        int64_t axis = plan[CONV_ORDER + i];
        size[i] = all[axis];
        from[i] = plan[CONV_FROM + axis] * (axis < 3 ? 1 : part[axis - 3][2]);
        to[i] = plan[CONV_COPY + axis];
    }
    for (int i = 0; i < 3; i++) {
        x += part[i][0] * plan[CONV_FROM + 3 + i];
        copy += part[i][3];
    }
    #pragma omp for schedule(static) collapse(3) nowait
    for (int64_t a = 0; a < size[0]; a++) {
        for (int64_t b = 0; b < size[1]; b++) {
            for (int64_t c = 0; c < size[2]; c++) {
                for (int64_t d = 0; d < size[3]; d++) {
                    for (int64_t e = 0; e < size[4]; e++) {
                        const F *source = x + a * from[0] + b * from[1] + c * from[2]
                                          + d * from[3] + e * from[4];
                        F *target = copy + a * to[0] + b * to[1] + c * to[2] + d * to[3]
                                    + e * to[4];
                        if (from[5] == 1 && to[5] == 1) {
                            memcpy(target, source, (size_t)size[5] * sizeof(F));
                        } else {
                            for (int64_t f = 0; f < size[5]; f++) {
                                target[f * to[5]] = source[f * from[5]];
                            }
                        }
                    }
                }
            }
        }
    }
}

/* The copy of some images with their padding. */
static void conv_copy_F(const int64_t *plan, int64_t images, const F *x, F *copy)
{
    const int64_t *part[3], *parts[3];
    if (plan[CONV_PADDED]) {
        int64_t size = plan[CONV_TOGETHER] * plan[CONV_IMAGE];
        #pragma omp for schedule(static)
        for (int64_t i = 0; i < size; i += 4096) {
            memset(copy + i, 0, (size_t)matmul_smaller(4096, size - i) * sizeof(F));
        }
    }
    for (int i = 0; i < 3; i++) {
        parts[i] = plan + plan[CONV_PARTS + i];
    }
    for (int64_t z = 0; z < parts[0][0]; z++) {
        for (int64_t y = 0; y < parts[1][0]; y++) {
            for (int64_t p = 0; p < parts[2][0]; p++) {
                part[0] = parts[0] + 1 + 4 * z;
                part[1] = parts[1] + 1 + 4 * y;
                part[2] = parts[2] + 1 + 4 * p;
                conv_copy_part_F(plan, images, part, x, copy);
            }
        }
    }
    #pragma omp barrier
}

/* panel[k][i] = w[at[k] + i * step] for i < size, and 0 for size <= i < width. */
static void conv_pack_F(int64_t width, int64_t size, int64_t count, const F *w, int64_t step,
                        const int64_t *at, F *panel)
{
    if (size < width) {
        memset(panel, 0, (size_t)(count * width) * sizeof(F));
    }
    if (step == 1) {
        for (int64_t k = 0; k < count; k++) {
            memcpy(panel + k * width, w + at[k], (size_t)size * sizeof(F));
        }
        return;
    }
    /* A block of terms at a time: the cache lines of w are read once, the panel stays in cache. */
    int64_t whole = count / CONV_BLOCK * CONV_BLOCK;
    for (int64_t start = 0; start < whole; start += CONV_BLOCK) {
        for (int64_t i = 0; i < size; i++) {
            const F *row = w + i * step;
            __builtin_prefetch(row + at[matmul_smaller(start + 2 * CONV_BLOCK, count - 1)]);
            #pragma GCC unroll 16
            for (int k = 0; k < CONV_BLOCK; k++) {
                panel[(start + k) * width + i] = row[at[start + k]];
            }
        }
    }
    for (int64_t k = whole; k < count; k++) {
        for (int64_t i = 0; i < size; i++) {
            panel[k * width + i] = w[at[k] + i * step];
        }
    }
}

/* tile[i][lane] = sum over k of panel[k][i] * x[at[k] + lane]. */
static void conv_planes_tile_F(int64_t count, const int64_t *at, const F *x, const F *panel,
                               bool wide, F tile[MATMUL_ROWS * MATMUL_COLUMNS_F])
{
    matmul_vector_F sum[MATMUL_ROWS][2] = {{{0}}};
    for (int64_t k = 0; k < count && wide; k++) {
        const matmul_vector_F *pixels = (const matmul_vector_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            sum[i][0] = matmul_multiply_add_F(panel[k * MATMUL_ROWS + i], pixels[0], sum[i][0]);
            sum[i][1] = matmul_multiply_add_F(panel[k * MATMUL_ROWS + i], pixels[1], sum[i][1]);
        }
    }
    for (int64_t k = 0; k < count && !wide; k++) {
        const matmul_vector_F *pixels = (const matmul_vector_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            sum[i][0] = matmul_multiply_add_F(panel[k * MATMUL_ROWS + i], pixels[0], sum[i][0]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* tile[lane] = sum over k of panel[k][0] * x[at[k] + lane], for a whole band: where there are few
   features, more pixels keep the processor busy. */
static void conv_band_F(int64_t count, const int64_t *at, const F *x, const F *panel,
                        F tile[CONV_ACROSS * MATMUL_COLUMNS_F])
{
    matmul_vector_F sum[2 * CONV_ACROSS] = {{0}};
    for (int64_t k = 0; k < count; k++) {
        const matmul_vector_F *pixels = (const matmul_vector_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < 2 * CONV_ACROSS; i++) {
            sum[i] = matmul_multiply_add_F(panel[k * MATMUL_ROWS], pixels[i], sum[i]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* tile[i][lane] = sum over k of row[i][at[k]] * panel[k][lane]. */
static void conv_features_tile_F(int64_t count, const int64_t *at, const F *const row[MATMUL_ROWS],
                                 const F *panel, bool wide, F tile[MATMUL_ROWS * MATMUL_COLUMNS_F])
{
    matmul_vector_F sum[MATMUL_ROWS][2] = {{{0}}};
    for (int64_t k = 0; k < count && wide; k++) {
        const matmul_vector_F *w = (const matmul_vector_F *)(panel + k * MATMUL_COLUMNS_F);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            sum[i][0] = matmul_multiply_add_F(row[i][at[k]], w[0], sum[i][0]);
            sum[i][1] = matmul_multiply_add_F(row[i][at[k]], w[1], sum[i][1]);
        }
    }
    for (int64_t k = 0; k < count && !wide; k++) {
        const matmul_vector_F *w = (const matmul_vector_F *)(panel + k * MATMUL_COLUMNS_F);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            sum[i][0] = matmul_multiply_add_F(row[i][at[k]], w[0], sum[i][0]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* Put the lanes of a tile that are pixels of the result, the first being `place`, into it: rows of
   the copy are longer than those of the result. */
static void conv_planes_store_F(const int64_t *plan, int64_t features, int64_t columns,
                                int64_t place, const F *tile, F *out)
{
    int64_t height = plan[CONV_WALK + 1], width = plan[CONV_WALK + 2];
    const int64_t *to = plan + CONV_TO;
    for (int64_t lane = 0; lane < columns;) {
        int64_t x = (place + lane) % width, y = (place + lane) / width % height;
        int64_t z = (place + lane) / width / height;
        int64_t run = matmul_smaller(columns - lane, width - x);
        int64_t kept = y < plan[CONV_OUT + 1] ? matmul_smaller(run, plan[CONV_OUT + 2] - x) : 0;
        F *first = out + z * to[3] + y * to[4] + x * to[5];
        for (int64_t i = 0; i < features && kept > 0; i++) {
            const F *row = tile + i * MATMUL_COLUMNS_F + lane;  /* a band has one feature */
            if (to[5] == 1) {
                memcpy(first + i * to[2], row, (size_t)kept * sizeof(F));
            } else {
                for (int64_t j = 0; j < kept; j++) {
                    first[i * to[2] + j * to[5]] = row[j];
                }
            }
        }
        lane += run;
    }
}

/* Lanes are pixels. All threads of the team come here; the loops marked `omp for` share the work. */
static void conv_planes_team_F(const int64_t *plan, const F *x, const F *w, F *out, char *workspace)
{
    const int64_t tall = MATMUL_ROWS, across = MATMUL_COLUMNS_F;
    const int64_t *copied = plan + CONV_COPY, *to = plan + CONV_TO;
    int64_t groups = plan[CONV_GROUPS], features = plan[CONV_FEATURES];
    int64_t terms = plan[CONV_CHANNELS] * plan[CONV_WINDOW] * plan[CONV_WINDOW + 1]
                    * plan[CONV_WINDOW + 2];
    int64_t last = ((plan[CONV_OUT] - 1) * plan[CONV_WALK + 1] + plan[CONV_OUT + 1] - 1)
                   * plan[CONV_WALK + 2] + plan[CONV_OUT + 2];
    int64_t bands = (last + CONV_ACROSS * across - 1) / (CONV_ACROSS * across);
    int64_t panel = (features + tall - 1) / tall * tall * terms;
    int64_t *at = (int64_t *)workspace, *w_at = at + (terms + 7) / 8 * 8;
    F *panels = (F *)(w_at + (terms + 7) / 8 * 8), *copy = panels + groups * panel;
    #pragma omp single
    {
        conv_offsets(plan, plan + CONV_X_TAPS, copied[2], 0, terms, at);
        conv_offsets(plan, plan + CONV_W_TAPS, plan[CONV_WEIGHTS + 2], 0, terms, w_at);
    }
    #pragma omp for schedule(static) collapse(2)
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < features; i += tall) {
            const F *first = w + g * plan[CONV_WEIGHTS] + i * plan[CONV_WEIGHTS + 1];
            conv_pack_F(tall, matmul_smaller(tall, features - i), terms, first,
                        plan[CONV_WEIGHTS + 1], w_at, panels + g * panel + i * terms);
        }
    }
    for (int64_t begin = 0; begin < plan[CONV_BATCH]; begin += plan[CONV_TOGETHER]) {
        int64_t images = matmul_smaller(plan[CONV_TOGETHER], plan[CONV_BATCH] - begin);
        conv_copy_F(plan, images, x + begin * plan[CONV_FROM], copy);
        #pragma omp for schedule(static) collapse(2)
        for (int64_t band = 0; band < images * groups * bands; band++) {
            for (int64_t i = 0; i < features; i += tall) {
                int64_t n = band / bands / groups, g = band / bands % groups;
                int64_t start = band % bands * CONV_ACROSS * across;
                int64_t end = matmul_smaller(last, start + CONV_ACROSS * across);
                F tile[MATMUL_ROWS * MATMUL_COLUMNS_F];
                const F *source = copy + n * copied[0] + g * copied[1];
                const F *weights = panels + g * panel + i * terms;
                F *target = out + (begin + n) * to[0] + g * to[1] + i * to[2];
                for (int64_t j = 0; j < features && features <= CONV_FEW; j++) {
                    conv_band_F(terms, at, source + start, weights + j, tile);
                    conv_planes_store_F(plan, 1, end - start, start, tile, target + j * to[2]);
                }
                for (int64_t place = start; place < end && features > CONV_FEW; place += across) {
                    int64_t columns = matmul_smaller(across, end - place);
                    conv_planes_tile_F(terms, at, source + place, weights,
                                       columns > MATMUL_LANES_F, tile);
                    conv_planes_store_F(plan, matmul_smaller(tall, features - i), columns, place,
                                        tile, target);
                }
            }
        }
    }
}

/* The first numbers of up to MATMUL_ROWS pixels, from `pixel` on, and their places in the result;
   missing ones repeat the last. */
static void conv_features_rows_F(const int64_t *plan, int64_t pixel, int64_t pixels, const F *x,
                                 F *out, const F *row[MATMUL_ROWS], F *place[MATMUL_ROWS])
{
    const int64_t *extent = plan + CONV_OUT, *walk = plan + CONV_WALK, *to = plan + CONV_TO;
    for (int i = 0; i < MATMUL_ROWS; i++) {
        int64_t rest = matmul_smaller(pixel + i, pixels - 1);
        int64_t p = rest % extent[2], q = rest / extent[2];
        int64_t y = q % extent[1], z = q / extent[1] % extent[0], n = q / extent[1] / extent[0];
        row[i] = x + n * plan[CONV_COPY] + z * walk[0] + y * walk[1] + p * walk[2];
        place[i] = out + n * to[0] + z * to[3] + y * to[4] + p * to[5];
    }
}

/* Lanes are features, of some images and one group, whose numbers x and places out are; `add` up
   `count` terms of the sum. */
static void conv_features_part_F(const int64_t *plan, int64_t images, int64_t count, const int64_t *at,
                                 const F *x, const F *panels, F *out, bool add)
{
    const int64_t across = MATMUL_COLUMNS_F, step = plan[CONV_TO + 2];
    int64_t pixels = images * plan[CONV_OUT] * plan[CONV_OUT + 1] * plan[CONV_OUT + 2];
    #pragma omp for schedule(static) collapse(2)
    for (int64_t start = 0; start < plan[CONV_FEATURES]; start += CONV_ACROSS * across) {
        for (int64_t pixel = 0; pixel < pixels; pixel += MATMUL_ROWS) {
            int64_t end = matmul_smaller(plan[CONV_FEATURES], start + CONV_ACROSS * across);
            int64_t rows = matmul_smaller(MATMUL_ROWS, pixels - pixel);
            const F *row[MATMUL_ROWS];
            F *place[MATMUL_ROWS], tile[MATMUL_ROWS * MATMUL_COLUMNS_F];
            conv_features_rows_F(plan, pixel, pixels, x, out, row, place);
            for (int64_t j = start; j < end; j += across) {
                int64_t columns = matmul_smaller(across, end - j);
                conv_features_tile_F(count, at, row, panels + j * count, columns > MATMUL_LANES_F,
                                     tile);
                for (int64_t i = 0; i < rows; i++) {
                    F *first = place[i] + j * step, *sum = tile + i * across;
                    for (int64_t lane = 0; lane < columns; lane++) {
                        first[lane * step] = add ? first[lane * step] + sum[lane] : sum[lane];
                    }
                }
            }
        }
    }
}

/* Lanes are features. All threads of the team come here. */
static void conv_features_team_F(const int64_t *plan, const F *x, const F *w, F *out, char *workspace)
{
    const int64_t across = MATMUL_COLUMNS_F;
    const int64_t *weights = plan + CONV_WEIGHTS;
    int64_t features = plan[CONV_FEATURES], together = plan[CONV_TOGETHER];
    int64_t terms = plan[CONV_CHANNELS] * plan[CONV_WINDOW] * plan[CONV_WINDOW + 1]
                    * plan[CONV_WINDOW + 2];
    int64_t part = matmul_part(terms, CONV_DEPTH), block = together ? together : plan[CONV_BATCH];
    int64_t *at = (int64_t *)workspace, *w_at = at + (part + 7) / 8 * 8;
    F *panels = (F *)(w_at + (part + 7) / 8 * 8), *copy = panels + (features + across - 1) / across * across * part;
    for (int64_t begin = 0; begin < plan[CONV_BATCH]; begin += block) {
        int64_t images = matmul_smaller(block, plan[CONV_BATCH] - begin);
        const F *source = x + begin * plan[CONV_FROM];
        if (together) {
            conv_copy_F(plan, images, source, copy);
            source = copy;
        }
        for (int64_t g = 0; g < plan[CONV_GROUPS]; g++) {
            for (int64_t k = 0; k < terms; k += part) {
                int64_t count = matmul_smaller(part, terms - k);
                #pragma omp single
                {
                    conv_offsets(plan, plan + CONV_X_TAPS, plan[CONV_COPY + 2], k, count, at);
                    conv_offsets(plan, plan + CONV_W_TAPS, weights[2], k, count, w_at);
                }
                #pragma omp for schedule(static)
                for (int64_t j = 0; j < features; j += across) {
                    conv_pack_F(across, matmul_smaller(across, features - j), count,
                                w + g * weights[0] + j * weights[1], weights[1], w_at,
                                panels + j * count);
                }
                conv_features_part_F(plan, images, count, at, source + g * plan[CONV_COPY + 1], panels,
                                     out + begin * plan[CONV_TO] + g * plan[CONV_TO + 1], k > 0);
            }
        }
    }
}

/* The convolution that a plan in the form of planes describes; `out` overlaps with neither operand.
   `workspace` is of any alignment, and this call's alone while it runs. */
static inline void conv_planes_F(const int64_t *plan, int64_t operations, const F *x, const F *w,
                                 F *out, void *workspace)
{
    char *aligned = (char *)workspace + (-(uintptr_t)workspace & 63);
    #pragma omp parallel if (operations > CONV_SMALL)
    conv_planes_team_F(plan, x, w, out, aligned);
}

/* The same for a plan in the form of features. */
static inline void conv_features_F(const int64_t *plan, int64_t operations, const F *x, const F *w,
                                   F *out, void *workspace)
{
    char *aligned = (char *)workspace + (-(uintptr_t)workspace & 63);
    #pragma omp parallel if (operations > CONV_SMALL)
    conv_features_team_F(plan, x, w, out, aligned);
}
