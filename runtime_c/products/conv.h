/* Convolutions of neural networks, jax.lax.conv_general_dilated:
   out[n][o][p] = sum over c, k of x[n][c][p * stride + k * dilation - low] * w[o][c][k].

   The text is written once for the C type F: F stands for float and _F for _f32, then for double
   and _f64.

   Method: implicit matrix products. The matrix of im2col is not stored: its elements are those of
   the operand at precomputed offsets (M. Dukhan, "The indirect convolution algorithm",
   arXiv:1907.02129, 2019). The tiles are those of matmul.h: MATMUL_ROWS x MATMUL_COLUMNS of the
   result are accumulated in vector registers. There are two forms.
     planes    lanes are pixels, rows of the tile are features: adjacent pixels are one vector load.
               The operand is copied, an image or a few at a time, with its padding; where the
               stride is more than one, pixels that are a stride apart become adjacent. The pixels
               of the result are numbered as if its rows were as long as those of the copy, so that
               a tile may continue in the next row; pixels between the rows are discarded.
     features  lanes are features, rows of the tile are pixels, which are broadcast. The weights are
               packed into panels. The operand is copied if it has padding.
   Each element is a sum of chains of multiply-adds, whose order depends on neither the number of
   threads nor the vector width. */

/* Indices into a plan, an array of integers; spatial entries are three: z, y and x. Strides are in
   elements.
     FORM      0: planes, 1: features
     INNER     1: the channels are the innermost loop of the sum, 0: the outermost
     GROUPS    the number of groups
     FEATURES, CHANNELS: the features of the result and of the operand in a group
     TOGETHER  images that are copied at a time; 0: the operand is read in place
     IMAGE     the elements of the copy of one image
     PADDED    1 if the copy has zeros of padding
     OUT, WINDOW: the extents of the result and of the window
     FROM      strides of the operand: image, group, channel, z, y, x
     COPY      strides of the copy, likewise
     ORDER     these six axes by decreasing stride of the copy
     WALK      features: strides of the copy from pixel to pixel of the result;
               planes: y and x are the number and the length of the rows of the copy
     WEIGHTS   strides of the weights: group, feature, channel
     TO        strides of the result: image, group, feature, z, y, x
     X_TAPS, W_TAPS: for each axis the index in the plan of the offsets of its taps, in the copy and
               in the weights
     PARTS     for each axis the index in the plan of the parts in which it is copied: their number,
               then for each its first pixel, number of pixels, stride, and offset in the copy
     TERMS     features: the terms of the sum whose weights are packed at a time */
enum { CONV_FORM, CONV_INNER, CONV_GROUPS, CONV_FEATURES, CONV_CHANNELS, CONV_TOGETHER, CONV_IMAGE,
       CONV_PADDED, CONV_OUT = 8, CONV_WINDOW = 11, CONV_FROM = 14, CONV_COPY = 20, CONV_ORDER = 26,
       CONV_WALK = 32, CONV_WEIGHTS = 35, CONV_TO = 38, CONV_X_TAPS = 44, CONV_W_TAPS = 47,
       CONV_PARTS = 50, CONV_TERMS = 53 };

enum { CONV_BLOCK = 16, CONV_DEPTH = 512, CONV_ACROSS = 4, CONV_CHUNK = 64, CONV_FEW = 2,
       CONV_SMALL = 1 << 18 };

/* The offsets of the terms first .. first + count - 1 of the sum over channels and taps, in the
   operand or the weights, whose tables of taps are at the indices `taps` of the plan. */
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

/* Copies a box of pixels, by memcpy along the last axis where it is contiguous on both sides. */
static void conv_copy_part_F(const int64_t size[3], const int64_t from[3], const int64_t to[3],
                             const F *x, F *copy)
{
    for (int64_t i = 0; i < size[0]; i++) {
        for (int64_t j = 0; j < size[1]; j++) {
            const F *source = x + i * from[0] + j * from[1];
            F *target = copy + i * to[0] + j * to[1];
            if (from[2] == 1 && to[2] == 1) {
                memcpy(target, source, (size_t)size[2] * sizeof(F));
            } else {
                for (int64_t k = 0; k < size[2]; k++) {
                    target[k * to[2]] = source[k * from[2]];
                }
            }
        }
    }
}

/* Planes: copies one channel of one image: zeros, then part by part. */
static void conv_copy_plane_F(const int64_t *plan, const F *x, F *copy)
{
    const int64_t *from = plan + CONV_FROM + 3, *to = plan + CONV_COPY + 3;
    const int64_t *z_parts = plan + plan[CONV_PARTS], *y_parts = plan + plan[CONV_PARTS + 1];
    const int64_t *x_parts = plan + plan[CONV_PARTS + 2];
    if (plan[CONV_PADDED]) {
        memset(copy, 0, (size_t)plan[CONV_COPY + 2] * sizeof(F));
    }
    for (int64_t i = 0; i < z_parts[0] * y_parts[0] * x_parts[0]; i++) {
        const int64_t *a = z_parts + 1 + 4 * (i / x_parts[0] / y_parts[0]);
        const int64_t *b = y_parts + 1 + 4 * (i / x_parts[0] % y_parts[0]);
        const int64_t *c = x_parts + 1 + 4 * (i % x_parts[0]);
        const int64_t size[3] = {a[1], b[1], c[1]};
        const int64_t steps[3] = {a[2] * from[0], b[2] * from[1], c[2] * from[2]};
        conv_copy_part_F(size, steps, to, x + a[0] * from[0] + b[0] * from[1] + c[0] * from[2],
                         copy + a[3] + b[3] + c[3]);
    }
}

/* Features: copies some images with their padding; each axis is one part. */
static void conv_copy_F(const int64_t *plan, bool is_large, int64_t images, const F *x, F *copy)
{
    int64_t size[6] = {images, plan[CONV_GROUPS], plan[CONV_CHANNELS]}, from[6], to[6], extent[6];
    bool is_outermost = plan[CONV_COPY] == plan[CONV_IMAGE]; /* the axis of images */
    int64_t numbers = (is_outermost ? images : plan[CONV_TOGETHER]) * plan[CONV_IMAGE];
    #pragma omp parallel for NUM_THREADS schedule(static) if (is_large)
    for (int64_t i = 0; i < numbers; i += 4096) {
        memset(copy + i, 0, (size_t)matmul_min(4096, numbers - i) * sizeof(F));
    }
    for (int i = 0; i < 3; i++) {
        const int64_t *part = plan + plan[CONV_PARTS + i] + 1;
        size[3 + i] = part[1];
        x += part[0] * plan[CONV_FROM + 3 + i];
        copy += part[3];
    }
    for (int i = 0; i < 6; i++) {
        int64_t axis = plan[CONV_ORDER + i];
        extent[i] = size[axis];
        from[i] = plan[CONV_FROM + axis];
        to[i] = plan[CONV_COPY + axis];
    }
    #pragma omp parallel for NUM_THREADS schedule(static) collapse(3) if (is_large)
    for (int64_t a = 0; a < extent[0]; a++) {
        for (int64_t b = 0; b < extent[1]; b++) {
            for (int64_t c = 0; c < extent[2]; c++) {
                conv_copy_part_F(extent + 3, from + 3, to + 3,
                                 x + a * from[0] + b * from[1] + c * from[2],
                                 copy + a * to[0] + b * to[1] + c * to[2]);
            }
        }
    }
}

/* Packs a panel: panel[k][i] = w[at[k] + i * step] for i < size, and 0 for size <= i < width. */
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
    /* a block of terms at a time: each cache line of w is read once, the panel stays in cache */
    int64_t whole = count / CONV_BLOCK * CONV_BLOCK;
    for (int64_t start = 0; start < whole; start += CONV_BLOCK) {
        for (int64_t i = 0; i < size; i++) {
            const F *row = w + i * step;
            __builtin_prefetch(row + at[matmul_min(start + 2 * CONV_BLOCK, count - 1)]);
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
    lanes_F sum[MATMUL_ROWS][2] = {{{0}}};
    for (int64_t k = 0; k < count && wide; k++) {
        const lanes_F *pixels = (const lanes_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            lanes_F weight = lanes_of_F(panel[k * MATMUL_ROWS + i]);
            sum[i][0] = multiply_add_lanes_F(weight, pixels[0], sum[i][0]);
            sum[i][1] = multiply_add_lanes_F(weight, pixels[1], sum[i][1]);
        }
    }
    for (int64_t k = 0; k < count && !wide; k++) {
        const lanes_F *pixels = (const lanes_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            lanes_F weight = lanes_of_F(panel[k * MATMUL_ROWS + i]);
            sum[i][0] = multiply_add_lanes_F(weight, pixels[0], sum[i][0]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* tile[lane] = sum over k of panel[k][0] * x[at[k] + lane], for a whole band: few features need
   more pixels for enough independent sums. */
static void conv_band_F(int64_t count, const int64_t *at, const F *x, const F *panel,
                        F tile[CONV_ACROSS * MATMUL_COLUMNS_F])
{
    lanes_F sum[2 * CONV_ACROSS] = {{0}};
    for (int64_t k = 0; k < count; k++) {
        const lanes_F *pixels = (const lanes_F *)(x + at[k]);
        #pragma GCC unroll 8
        for (int i = 0; i < 2 * CONV_ACROSS; i++) {
            sum[i] = multiply_add_lanes_F(lanes_of_F(panel[k * MATMUL_ROWS]), pixels[i], sum[i]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* tile[i][lane] = sum over k of row[i][at[k]] * panel[k][lane]. */
static void conv_features_tile_F(int64_t count, const int64_t *at, const F *const row[MATMUL_ROWS],
                                 const F *panel, bool wide, F tile[MATMUL_ROWS * MATMUL_COLUMNS_F])
{
    lanes_F sum[MATMUL_ROWS][2] = {{{0}}};
    for (int64_t k = 0; k < count && wide; k++) {
        const lanes_F *w = (const lanes_F *)(panel + k * MATMUL_COLUMNS_F);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            lanes_F pixel = lanes_of_F(row[i][at[k]]);
            sum[i][0] = multiply_add_lanes_F(pixel, w[0], sum[i][0]);
            sum[i][1] = multiply_add_lanes_F(pixel, w[1], sum[i][1]);
        }
    }
    for (int64_t k = 0; k < count && !wide; k++) {
        const lanes_F *w = (const lanes_F *)(panel + k * MATMUL_COLUMNS_F);
        #pragma GCC unroll 8
        for (int i = 0; i < MATMUL_ROWS; i++) {
            sum[i][0] = multiply_add_lanes_F(lanes_of_F(row[i][at[k]]), w[0], sum[i][0]);
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* Stores a tile whose first lane is pixel `place`. Lanes between the rows of the result, which are
   shorter than those of the copy, are discarded. */
static void conv_planes_store_F(const int64_t *plan, int64_t features, int64_t columns,
                                int64_t place, const F *tile, F *out)
{
    int64_t height = plan[CONV_WALK + 1], width = plan[CONV_WALK + 2];
    const int64_t *to = plan + CONV_TO;
    for (int64_t lane = 0; lane < columns;) {
        int64_t x = (place + lane) % width, y = (place + lane) / width % height;
        int64_t z = (place + lane) / width / height;
        int64_t run = matmul_min(columns - lane, width - x);
        int64_t kept = y < plan[CONV_OUT + 1] ? matmul_min(run, plan[CONV_OUT + 2] - x) : 0;
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

/* The number of terms of each sum, and of elements in the panels of a group. */
static inline int64_t conv_terms(const int64_t *plan)
{
    return plan[CONV_CHANNELS] * plan[CONV_WINDOW] * plan[CONV_WINDOW + 1] * plan[CONV_WINDOW + 2];
}

static inline int64_t conv_panel(const int64_t *plan)
{
    return (plan[CONV_FEATURES] + MATMUL_ROWS - 1) / MATMUL_ROWS * MATMUL_ROWS * conv_terms(plan);
}

/* Planes: packs the weights of group g for the features of the tile from `i` on. */
static void conv_planes_panel_F(const int64_t *plan, int64_t g, int64_t i, const F *w,
                                const int64_t *w_at, F *panels)
{
    const int64_t *steps = plan + CONV_WEIGHTS;
    int64_t terms = conv_terms(plan);
    conv_pack_F(MATMUL_ROWS, matmul_min(MATMUL_ROWS, plan[CONV_FEATURES] - i), terms,
                w + g * steps[0] + i * steps[1], steps[1], w_at,
                panels + g * conv_panel(plan) + i * terms);
}

/* The end of the numbered pixels of an image, which are computed in bands of CONV_ACROSS tiles. */
static inline int64_t conv_planes_last(const int64_t *plan)
{
    const int64_t *walk = plan + CONV_WALK, *out = plan + CONV_OUT;
    return ((out[0] - 1) * walk[1] + out[1] - 1) * walk[2] + out[2];
}

/* One band of MATMUL_ROWS features, from `i` on, of group g, from the copy of one image to its
   result. */
static void conv_planes_band_F(const int64_t *plan, int64_t g, int64_t band, int64_t i,
                               const int64_t *at, const F *panels, const F *copy, F *out)
{
    const int64_t across = MATMUL_COLUMNS_F, *to = plan + CONV_TO;
    int64_t terms = conv_terms(plan), features = plan[CONV_FEATURES];
    int64_t start = band * CONV_ACROSS * across;
    int64_t end = matmul_min(conv_planes_last(plan), start + CONV_ACROSS * across);
    F tile[MATMUL_ROWS * MATMUL_COLUMNS_F];
    const F *source = copy + g * plan[CONV_COPY + 1];
    const F *weights = panels + g * conv_panel(plan) + i * terms;
    F *target = out + g * to[1] + i * to[2];
    for (int64_t j = 0; j < features && features <= CONV_FEW; j++) {
        conv_band_F(terms, at, source + start, weights + j, tile);
        conv_planes_store_F(plan, 1, end - start, start, tile, target + j * to[2]);
    }
    for (int64_t place = start; place < end && features > CONV_FEW; place += across) {
        int64_t columns = matmul_min(across, end - place);
        conv_planes_tile_F(terms, at, source + place, weights, columns > LANES_F, tile);
        conv_planes_store_F(plan, matmul_min(MATMUL_ROWS, features - i), columns, place, tile,
                            target);
    }
}

/* The convolution of `batch` images by a plan whose form is planes. `out` overlaps neither operand. `workspace` is of
   any alignment, and no other thread uses it meanwhile. */
static inline void conv_planes_F(const int64_t *plan, int64_t batch, int64_t operations, const F *x,
                                 const F *w, F *out, void *workspace)
{
    bool is_large = operations > CONV_SMALL; /* worth a parallel loop */
    const int64_t tall = MATMUL_ROWS, across = CONV_ACROSS * MATMUL_COLUMNS_F;
    const int64_t *from = plan + CONV_FROM, *copied = plan + CONV_COPY;
    int64_t groups = plan[CONV_GROUPS], features = plan[CONV_FEATURES];
    int64_t channels = plan[CONV_CHANNELS], terms = conv_terms(plan);
    int64_t bands = (conv_planes_last(plan) + across - 1) / across;
    int64_t *at = (int64_t *)((char *)workspace + (-(uintptr_t)workspace & 63));
    int64_t *w_at = at + (terms + 7) / 8 * 8;
    F *panels = (F *)(w_at + (terms + 7) / 8 * 8), *copy = panels + groups * conv_panel(plan);
    conv_offsets(plan, plan + CONV_X_TAPS, copied[2], 0, terms, at);
    conv_offsets(plan, plan + CONV_W_TAPS, plan[CONV_WEIGHTS + 2], 0, terms, w_at);
    #pragma omp parallel for NUM_THREADS schedule(static) collapse(2) if (is_large)
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t i = 0; i < features; i += tall) {
            conv_planes_panel_F(plan, g, i, w, w_at, panels);
        }
    }
    for (int64_t begin = 0; begin < batch; begin += plan[CONV_TOGETHER]) {
        int64_t images = matmul_min(plan[CONV_TOGETHER], batch - begin);
        #pragma omp parallel for NUM_THREADS schedule(dynamic, 4) if (is_large)
        for (int64_t plane = 0; plane < images * groups * channels; plane++) {
            int64_t n = plane / channels / groups, g = plane / channels % groups;
            int64_t c = plane % channels;
            conv_copy_plane_F(plan, x + (begin + n) * from[0] + g * from[1] + c * from[2],
                              copy + n * copied[0] + g * copied[1] + c * copied[2]);
        }
        #pragma omp parallel for NUM_THREADS schedule(dynamic) collapse(2) if (is_large)
        for (int64_t band = 0; band < images * groups * bands; band++) {
            for (int64_t i = 0; i < features; i += tall) {
                int64_t n = band / bands / groups, g = band / bands % groups;
                conv_planes_band_F(plan, g, band % bands, i, at, panels, copy + n * copied[0],
                                   out + (begin + n) * plan[CONV_TO]);
            }
        }
    }
}

/* The addresses of pixels pixel .. last - 1, at most MATMUL_ROWS, in the operand and in the result;
   missing ones repeat the last. */
static void conv_features_rows_F(const int64_t *plan, int64_t pixel, int64_t last, const F *x,
                                 F *out, const F *row[MATMUL_ROWS], F *place[MATMUL_ROWS])
{
    const int64_t *extent = plan + CONV_OUT, *walk = plan + CONV_WALK, *to = plan + CONV_TO;
    for (int i = 0; i < MATMUL_ROWS; i++) {
        int64_t rest = matmul_min(pixel + i, last - 1);
        int64_t p = rest % extent[2], q = rest / extent[2];
        int64_t y = q % extent[1], z = q / extent[1] % extent[0], n = q / extent[1] / extent[0];
        row[i] = x + n * plan[CONV_COPY] + z * walk[0] + y * walk[1] + p * walk[2];
        place[i] = out + n * to[0] + z * to[3] + y * to[4] + p * to[5];
    }
}

/* Features: pixels pixel .. last - 1 of CONV_ACROSS tiles of features from `start` on, of one
   group: the packed terms of the sum, CONV_DEPTH at a time, so that the panels stay in cache. */
static void conv_features_part_F(const int64_t *plan, int64_t start, int64_t pixel, int64_t last,
                                 int64_t count, const int64_t *at, const F *x, const F *panels,
                                 F *out, bool add)
{
    const int64_t across = MATMUL_COLUMNS_F, step = plan[CONV_TO + 2];
    int64_t end = matmul_min(plan[CONV_FEATURES], start + CONV_ACROSS * across);
    int64_t depth = matmul_part_length(count, CONV_DEPTH);
    for (int64_t k = 0; k < count; k += depth) {
        int64_t terms = matmul_min(depth, count - k);
        for (int64_t p = pixel; p < last; p += MATMUL_ROWS) {
            const F *row[MATMUL_ROWS];
            F *place[MATMUL_ROWS], tile[MATMUL_ROWS * MATMUL_COLUMNS_F];
            conv_features_rows_F(plan, p, last, x, out, row, place);
            for (int64_t j = start; j < end; j += across) {
                int64_t columns = matmul_min(across, end - j);
                conv_features_tile_F(terms, at + k, row, panels + j * count + k * across,
                                     columns > LANES_F, tile);
                for (int64_t i = 0; i < matmul_min(MATMUL_ROWS, last - p); i++) {
                    F *first = place[i] + j * step, *sum = tile + i * across;
                    for (int64_t lane = 0; lane < columns; lane++) {
                        first[lane * step] = add || k ? first[lane * step] + sum[lane] : sum[lane];
                    }
                }
            }
        }
    }
}

/* The convolution of `batch` images by a plan whose form is features. */
static inline void conv_features_F(const int64_t *plan, int64_t batch, int64_t operations,
                                   const F *x, const F *w, F *out, void *workspace)
{
    bool is_large = operations > CONV_SMALL;
    const int64_t across = MATMUL_COLUMNS_F, *weights = plan + CONV_WEIGHTS, *to = plan + CONV_TO;
    int64_t features = plan[CONV_FEATURES], together = plan[CONV_TOGETHER];
    int64_t block = together ? together : batch, part = plan[CONV_TERMS];
    int64_t image = plan[CONV_OUT] * plan[CONV_OUT + 1] * plan[CONV_OUT + 2];
    int64_t terms = conv_terms(plan), *at = (int64_t *)workspace, *w_at = at + (part + 7) / 8 * 8;
    F *panels = (F *)(w_at + (part + 7) / 8 * 8);
    F *copy = panels + (features + across - 1) / across * across * part;
    for (int64_t begin = 0; begin < batch; begin += block) {
        int64_t images = matmul_min(block, batch - begin), pixels = images * image;
        int64_t rows = matmul_min(CONV_CHUNK, pixels / 32) / (2 * MATMUL_ROWS);
        rows = rows ? rows * 2 * MATMUL_ROWS : 2 * MATMUL_ROWS;
        const F *source = x + begin * plan[CONV_FROM];
        if (together) {
            conv_copy_F(plan, is_large, images, source, copy);
            source = copy;
        }
        for (int64_t g = 0; g < plan[CONV_GROUPS]; g++) {
            for (int64_t k = 0; k < terms; k += part) {
                int64_t count = matmul_min(part, terms - k);
                conv_offsets(plan, plan + CONV_X_TAPS, plan[CONV_COPY + 2], k, count, at);
                conv_offsets(plan, plan + CONV_W_TAPS, weights[2], k, count, w_at);
                #pragma omp parallel for NUM_THREADS schedule(dynamic) collapse(2) if (is_large)
                for (int64_t j = 0; j < features; j += across) {
                    for (int64_t p = 0; p < count; p += CONV_DEPTH) {
                        conv_pack_F(across, matmul_min(across, features - j),
                                    matmul_min(CONV_DEPTH, count - p),
                                    w + g * weights[0] + j * weights[1], weights[1], w_at + p,
                                    panels + j * count + p * across);
                    }
                }
                #pragma omp parallel for NUM_THREADS schedule(dynamic) collapse(2) if (is_large)
                for (int64_t j = 0; j < features; j += CONV_ACROSS * across) {
                    for (int64_t p = 0; p < pixels; p += rows) {
                        conv_features_part_F(plan, j, p, matmul_min(pixels, p + rows), count,
                                             at, source + g * plan[CONV_COPY + 1], panels,
                                             out + begin * to[0] + g * to[1], k > 0);
                    }
                }
            }
        }
    }
}
