/* A convolution, and a training step of a network of two of them and a dense layer. */

#include "convolution.h"
#include "layers.h"

void conv2d(int64_t pictures, int64_t channels, int64_t height, int64_t width, int64_t filters,
            const float *restrict x, const float *restrict kernel, float *restrict out)
{
    static struct kept kept_pictures, kept_filters;
    const int64_t size = padded_size(channels, height, width), pixels = height * width;
    float *padded = scratch(&kept_pictures, sizeof(float) * (size_t)(pictures * size));
    float *packed = scratch(&kept_filters, sizeof(float) * (size_t)(filters * channels * 9));
    pack_filters(filters, channels * 9, kernel, packed);
    #pragma omp parallel for
    for (int64_t picture = 0; picture < pictures; picture++) {
        float *own = padded + picture * size;
        memset(own, 0, sizeof(float) * (size_t)size);
        pad(channels, height, width, x + picture * channels * pixels, own);
        convolve(channels, height, width, filters, own, packed,
                 out + picture * filters * pixels, pixels, width);
    }
}

/* The network: 28 x 28, 16 filters, 14 x 14, 32 filters, 7 x 7, 10 classes. */
enum {
    SIDE = 28,
    FIRST = 16,
    HALF = 14,
    SECOND = 32,
    QUARTER = 7,
    FLAT = SECOND * QUARTER * QUARTER,
    CLASSES = 10,
    TAPS = 9,
    HALF_ROW = HALF + 2,
    HALF_PLANE = HALF_ROW * HALF_ROW,
    SIDE_ROW = SIDE + 2,
    SIDE_PLANE = 848, /* 28 rows of 30, and zeros up to whole vectors */
};

/* What the way forward of one picture leaves. Padded pictures have room for reads beyond the end. */
struct passed {
    float x[SIDE_ROW * SIDE_ROW + 2 * PLACES];
    float first[FIRST][SIDE][SIDE];
    float between[FIRST * HALF_PLANE + 2 * PLACES];
    float second[SECOND][HALF][HALF];
    float ct_second[SECOND * HALF_PLANE + 2 * PLACES];
    float ct_between[FIRST][HALF][HALF];
    float ct_first[FIRST * SIDE_PLANE];
};

/* Sums of gradients of the filters, a lane apart from the others. */
struct sums {
    floats first[FIRST][TAPS], second[SECOND][FIRST][TAPS];
};

/* The largest of 2 x 2 numbers, at least 0. */
static inline float pooled(const float *x, int64_t row)
{
    const float top = x[0] > x[1] ? x[0] : x[1], low = x[row] > x[row + 1] ? x[row] : x[row + 1];
    const float largest = top > low ? top : low;
    return largest > 0 ? largest : 0;
}

static void forwards(const float *restrict x, const float *restrict first,
                     const float *restrict second, struct passed *restrict to,
                     float *restrict flat)
{
    pad(1, SIDE, SIDE, x, to->x);
    convolve(1, SIDE, SIDE, FIRST, to->x, first, to->first[0][0], SIDE * SIDE, SIDE);
    for (int f = 0; f < FIRST; f++)
        for (int i = 0; i < HALF; i++)
            for (int j = 0; j < HALF; j++)
                to->between[f * HALF_PLANE + (i + 1) * HALF_ROW + j + 1] =
                    pooled(&to->first[f][2 * i][2 * j], SIDE);
    convolve(FIRST, HALF, HALF, SECOND, to->between, second, to->second[0][0], HALF * HALF, HALF);
    for (int f = 0; f < SECOND; f++)
        for (int i = 0; i < QUARTER; i++)
            for (int j = 0; j < QUARTER; j++)
                flat[(f * QUARTER + i) * QUARTER + j] =
                    pooled(&to->second[f][2 * i][2 * j], HALF);
}

/* Backwards through the largest of 2 x 2 and relu: the cotangent goes to the first of the largest,
 * if it is positive. */
static inline void unpool(const float *x, int64_t row, float ct, float *to, int64_t to_row)
{
    const float largest = pooled(x, row);
    int open = largest > 0;
    for (int k = 0; k < 4; k++) {
        const int here = open && x[k / 2 * row + k % 2] == largest;
        to[k / 2 * to_row + k % 2] = here ? ct : 0;
        open = open && !here;
    }
}

/* Products of 8 cotangents and what a tap has read, for all places; those at the ends of rows have
 * zeros for cotangents. */
static inline void add_products(int64_t size, const float *restrict ct, int64_t ct_plane,
                                const float *restrict x, floats *restrict sums, int64_t step)
{
    floats own[TILE_ROWS] = {0};
    for (int64_t at = 0; at < size; at += LANES) {
        const floats read = *(const floats *)(x + at);
        #pragma GCC unroll 8
        for (int r = 0; r < TILE_ROWS; r++)
            own[r] += read * *(const floats *)(ct + r * ct_plane + at);
    }
    #pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++)
        sums[r * step] += own[r];
}

/* The way back of one picture: `turned` has the second filters with channels exchanged and taps in
 * the opposite order. */
static void backwards(const float *restrict ct_flat, const float *restrict turned,
                      struct passed *restrict passed, struct sums *restrict sums)
{
    for (int f = 0; f < SECOND; f++)
        for (int i = 0; i < QUARTER; i++)
            for (int j = 0; j < QUARTER; j++)
                unpool(&passed->second[f][2 * i][2 * j], HALF,
                       ct_flat[(f * QUARTER + i) * QUARTER + j],
                       passed->ct_second + f * HALF_PLANE + (2 * i + 1) * HALF_ROW + 2 * j + 1,
                       HALF_ROW);
    convolve(SECOND, HALF, HALF, FIRST, passed->ct_second, turned, passed->ct_between[0][0],
             HALF * HALF, HALF);
    for (int f = 0; f < FIRST; f++)
        for (int i = 0; i < HALF; i++)
            for (int j = 0; j < HALF; j++)
                unpool(&passed->first[f][2 * i][2 * j], SIDE, passed->ct_between[f][i][j],
                       passed->ct_first + f * SIDE_PLANE + 2 * i * SIDE_ROW + 2 * j, SIDE_ROW);
    const float *ct = passed->ct_second + HALF_ROW + 1;
    for (int f = 0; f < SECOND; f += TILE_ROWS)
        for (int c = 0; c < FIRST; c++)
            for (int k = 0; k < TAPS; k++)
                add_products(HALF * HALF_ROW, ct + f * HALF_PLANE, HALF_PLANE,
                             passed->between + c * HALF_PLANE + k / 3 * HALF_ROW + k % 3,
                             &sums->second[f][c][k], FIRST * TAPS);
    for (int f = 0; f < FIRST; f += TILE_ROWS)
        for (int k = 0; k < TAPS; k++)
            add_products(SIDE_PLANE, passed->ct_first + f * SIDE_PLANE, SIDE_PLANE,
                         passed->x + k / 3 * SIDE_ROW + k % 3, &sums->first[f][k], TAPS);
}

/* Filters of `count` numbers -= rate * (sums of their gradients over lanes and threads). */
static void descend_filters(int64_t count, int threads, const struct sums *sums, int64_t start,
                            float *restrict filters)
{
    for (int64_t k = 0; k < count; k++) {
        float gradient = 0;
        for (int thread = 0; thread < threads; thread++) {
            const floats own = ((const floats *)(sums + thread))[start + k];
            for (int lane = 0; lane < LANES; lane++)
                gradient += own[lane];
        }
        filters[k] -= rate * gradient;
    }
}

/* Filters with channels exchanged and taps in the opposite order. */
static void turn(const float *restrict filters, float *restrict to)
{
    for (int f = 0; f < SECOND; f++)
        for (int c = 0; c < FIRST; c++)
            for (int k = 0; k < TAPS; k++)
                to[(c * SECOND + f) * TAPS + TAPS - 1 - k] = filters[(f * FIRST + c) * TAPS + k];
}

/* What a step needs beside its arguments. */
struct work {
    float first[FIRST * TAPS], second[SECOND * FIRST * TAPS], turned[SECOND * FIRST * TAPS];
    float exchanged[SECOND * FIRST * TAPS], gradient[FLAT * CLASSES];
};

/* The loss, and a step against its gradient, in place. */
void convolutional_training_step(int64_t batch, float *restrict bias, float *restrict dense,
                                 float *restrict first, float *restrict second,
                                 const float *restrict x, const float *restrict targets,
                                 float *restrict loss)
{
    static struct kept kept_passed, kept_sums, kept_work, kept_flat;
    const int threads = omp_get_max_threads();
    const int is_new = kept_passed.size < sizeof(struct passed) * (size_t)batch;
    struct passed *passed = scratch(&kept_passed, sizeof *passed * (size_t)batch);
    struct sums *sums = scratch(&kept_sums, sizeof *sums * (size_t)threads);
    struct work *work = scratch(&kept_work, sizeof *work);
    float *flat = scratch(&kept_flat, sizeof(float) * (size_t)(batch * (2 * FLAT + CLASSES)));
    float *ct_flat = flat + batch * FLAT, *logits = ct_flat + batch * FLAT;
    if (is_new) /* borders are never written */
        memset(passed, 0, sizeof *passed * (size_t)batch);
    memset(sums, 0, sizeof *sums * (size_t)threads);
    pack_filters(FIRST, TAPS, first, work->first);
    pack_filters(SECOND, FIRST * TAPS, second, work->second);
    turn(second, work->exchanged);
    pack_filters(FIRST, SECOND * TAPS, work->exchanged, work->turned);
    #pragma omp parallel for
    for (int64_t i = 0; i < batch; i++)
        forwards(x + i * SIDE * SIDE, work->first, work->second, passed + i, flat + i * FLAT);
    multiply_float(batch, FLAT, CLASSES, matrix(flat, FLAT), matrix(dense, CLASSES), logits,
                   add_bias, bias);
    *loss = cross_entropy(batch, CLASSES, targets, logits);
    multiply_float(batch, CLASSES, FLAT, matrix(logits, CLASSES), transposed(dense, CLASSES),
                   ct_flat, NULL, NULL);
    update_layer(batch, FLAT, CLASSES, flat, logits, work->gradient, dense, bias);
    #pragma omp parallel for
    for (int64_t i = 0; i < batch; i++)
        backwards(ct_flat + i * FLAT, work->turned, passed + i, sums + omp_get_thread_num());
    descend_filters(FIRST * TAPS, threads, sums, 0, first);
    descend_filters(SECOND * FIRST * TAPS, threads, sums, FIRST * TAPS, second);
}
