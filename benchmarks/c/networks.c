/* Matrix products and layers of networks. */

#include "layers.h"

void matmul_float32(int64_t rows, int64_t depth, int64_t columns, const float *restrict a,
                    const float *restrict b, float *restrict c)
{
    multiply_float(rows, depth, columns, matrix(a, depth), matrix(b, columns), c, NULL, NULL);
}

void matmul_float64(int64_t rows, int64_t depth, int64_t columns, const double *restrict a,
                    const double *restrict b, double *restrict c)
{
    const struct matrix_double left = {a, depth, 1}, right = {b, columns, 1};
    multiply_double(rows, depth, columns, left, right, c, NULL, NULL);
}

static void add_bias_relu(const void *bias, int64_t i, int64_t j, int64_t width,
                          float *restrict numbers)
{
    add_bias(bias, i, j, width, numbers);
    for (int64_t k = 0; k < width; k++)
        numbers[k] = numbers[k] > 0 ? numbers[k] : 0;
}

static void add_bias_gelu(const void *bias, int64_t i, int64_t j, int64_t width,
                          float *restrict numbers)
{
    (void)i;
    #pragma omp simd
    for (int64_t k = 0; k < width; k++) {
        const float y = numbers[k] + ((const float *)bias)[j + k];
        numbers[k] = 0.5f * y * (1 + tanhf(0.79788456f * (y + 0.044715f * y * y * y)));
    }
}

void dense_gelu(int64_t rows, int64_t depth, int64_t columns, const float *restrict x,
                const float *restrict w, const float *restrict bias, float *restrict out)
{
    multiply_float(rows, depth, columns, matrix(x, depth), matrix(w, columns), out, add_bias_gelu,
                   bias);
}

/* Layers 784-512-512-10. */
void mlp(int64_t batch, const float *restrict w1, const float *restrict b1,
         const float *restrict w2, const float *restrict b2, const float *restrict w3,
         const float *restrict b3, const float *restrict x, float *restrict out)
{
    static struct kept kept;
    float *first = scratch(&kept, sizeof(float) * 2 * 512 * (size_t)batch);
    float *second = first + 512 * batch;
    multiply_float(batch, 784, 512, matrix(x, 784), matrix(w1, 512), first, add_bias_relu, b1);
    multiply_float(batch, 512, 512, matrix(first, 512), matrix(w2, 512), second, add_bias_relu,
                   b2);
    multiply_float(batch, 512, 10, matrix(second, 512), matrix(w3, 10), out, add_bias, b3);
}

/* One layer for one vector; inlined, so that sizes are constants. */
static inline void small_layer(int inputs, int outputs, const float *restrict w,
                               const float *restrict bias, const float *restrict x,
                               float *restrict out)
{
    float sums[32];
    memcpy(sums, bias, sizeof(float) * (size_t)outputs);
    for (int k = 0; k < inputs; k++)
        for (int j = 0; j < outputs; j++)
            sums[j] += x[k] * w[k * outputs + j];
    memcpy(out, sums, sizeof(float) * (size_t)outputs);
}

static inline void relu(int n, float *x)
{
    for (int k = 0; k < n; k++)
        x[k] = x[k] > 0 ? x[k] : 0;
}

/* Layers 16-32-32-4 of one vector. */
void mlp_small(const float *restrict w1, const float *restrict b1, const float *restrict w2,
               const float *restrict b2, const float *restrict w3, const float *restrict b3,
               const float *restrict x, float *restrict out)
{
    float first[32], second[32];
    small_layer(16, 32, w1, b1, x, first);
    relu(32, first);
    small_layer(32, 32, w2, b2, first, second);
    relu(32, second);
    small_layer(32, 4, w3, b3, second, out);
}

/* Backwards through a small layer: gradients of its weights, and of its inputs, which were made by
 * a relu (`x` is zero where it was negative). */
static inline void small_layer_backwards(int inputs, int outputs, const float *restrict w,
                                         const float *restrict x, const float *restrict ct,
                                         float *restrict dw, float *restrict db,
                                         float *restrict dx)
{
    memcpy(db, ct, sizeof(float) * (size_t)outputs);
    for (int k = 0; k < inputs; k++) {
        float sum = 0;
        for (int j = 0; j < outputs; j++)
            dw[k * outputs + j] = x[k] * ct[j];
        #pragma omp simd reduction(+ : sum)
        for (int j = 0; j < outputs; j++)
            sum += w[k * outputs + j] * ct[j];
        if (dx)
            dx[k] = x[k] > 0 ? sum : 0;
    }
}

/* Layers 16-32-32-4 of one vector: the loss, and its gradient by the parameters. */
void mlp_gradient_small(const float *restrict w1, const float *restrict b1,
                        const float *restrict w2, const float *restrict b2,
                        const float *restrict w3, const float *restrict b3,
                        const float *restrict x, const float *restrict targets,
                        float *restrict loss, float *restrict dw1, float *restrict db1,
                        float *restrict dw2, float *restrict db2, float *restrict dw3,
                        float *restrict db3)
{
    float first[32], second[32], logits[4], d_first[32], d_second[32];
    small_layer(16, 32, w1, b1, x, first);
    relu(32, first);
    small_layer(32, 32, w2, b2, first, second);
    relu(32, second);
    small_layer(32, 4, w3, b3, second, logits);
    *loss = cross_entropy(1, 4, targets, logits);
    small_layer_backwards(32, 4, w3, second, logits, dw3, db3, d_second);
    small_layer_backwards(32, 32, w2, first, d_second, dw2, db2, d_first);
    small_layer_backwards(16, 32, w1, x, d_first, dw1, db1, NULL);
}

/* Numbers where the result of a relu was positive, zero elsewhere. */
struct mask {
    const float *values;
    int64_t columns;
};

static void apply_mask(const void *context, int64_t i, int64_t j, int64_t width,
                       float *restrict numbers)
{
    const struct mask *mask = context;
    const float *values = mask->values + i * mask->columns + j;
    for (int64_t k = 0; k < width; k++)
        numbers[k] = values[k] > 0 ? numbers[k] : 0;
}

/* ct_x = ct w' where x, which a relu has made, is positive. */
static void layer_backwards(int64_t batch, int64_t inputs, int64_t outputs,
                            const float *restrict ct, const float *restrict w,
                            const float *restrict x, float *restrict ct_x)
{
    const struct mask mask = {x, inputs};
    multiply_float(batch, outputs, inputs, matrix(ct, outputs), transposed(w, outputs), ct_x,
                   apply_mask, &mask);
}

/* Layers 784-512-512-10: the loss, and a step against its gradient, in place. */
void mlp_training_step(int64_t batch, float *restrict w1, float *restrict b1, float *restrict w2,
                       float *restrict b2, float *restrict w3, float *restrict b3,
                       const float *restrict x, const float *restrict targets,
                       float *restrict loss)
{
    static struct kept kept;
    const int64_t hidden = 512 * batch;
    float *first = scratch(&kept, sizeof(float) * (size_t)(4 * hidden + 10 * batch + 784 * 512));
    float *second = first + hidden, *ct_first = second + hidden, *ct_second = ct_first + hidden;
    float *logits = ct_second + hidden, *gradient = logits + 10 * batch;
    multiply_float(batch, 784, 512, matrix(x, 784), matrix(w1, 512), first, add_bias_relu, b1);
    multiply_float(batch, 512, 512, matrix(first, 512), matrix(w2, 512), second, add_bias_relu,
                   b2);
    multiply_float(batch, 512, 10, matrix(second, 512), matrix(w3, 10), logits, add_bias, b3);
    *loss = cross_entropy(batch, 10, targets, logits);
    layer_backwards(batch, 512, 10, logits, w3, second, ct_second);
    update_layer(batch, 512, 10, second, logits, gradient, w3, b3);
    layer_backwards(batch, 512, 512, ct_second, w2, first, ct_first);
    update_layer(batch, 512, 512, first, ct_second, gradient, w2, b2);
    update_layer(batch, 784, 512, x, ct_first, gradient, w1, b1);
}

/* 8 rows of softmax(scores) in place, and as much of the sums in `factor` as divides them. */
static inline void exponentials(int64_t length, float scale, float *restrict scores,
                                float factor[TILE_ROWS])
{
    for (int r = 0; r < TILE_ROWS; r++) {
        float *row = scores + r * length, largest = -INFINITY, sum = 0;
        #pragma omp simd reduction(max : largest)
        for (int64_t j = 0; j < length; j++)
            largest = row[j] > largest ? row[j] : largest;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < length; j++) {
            row[j] = expf((row[j] - largest) * scale);
            sum += row[j];
        }
        factor[r] = 1 / sum;
    }
}

/* Attention of heads of 256 x 64: for 8 queries at a time scores, exponentials and the mean of the
 * values, none of which leaves the nearest caches. */
void attention(int64_t heads, const float *restrict query, const float *restrict key,
               const float *restrict value, float *restrict out)
{
    enum { LENGTH = 256, SIZE = 64, WIDTH = 2 * LANES };
    #pragma omp parallel for
    for (int64_t head = 0; head < heads; head++) {
        const int64_t at = head * LENGTH * SIZE;
        float turned[SIZE][LENGTH], scores[TILE_ROWS][LENGTH], factor[TILE_ROWS];
        for (int j = 0; j < LENGTH; j++)
            for (int k = 0; k < SIZE; k++)
                turned[k][j] = key[at + j * SIZE + k];
        for (int i = 0; i < LENGTH; i += TILE_ROWS) {
            floats sums[TILE_ROWS][2];
            for (int j = 0; j < LENGTH; j += WIDTH) {
                tile_float(SIZE, query + at + i * SIZE, SIZE, 1, turned[0] + j, LENGTH, sums);
                store_float(sums, TILE_ROWS, WIDTH, 0, scores[0] + j, LENGTH);
            }
            exponentials(LENGTH, 0.125f, scores[0], factor);
            for (int j = 0; j < SIZE; j += WIDTH) {
                tile_float(LENGTH, scores[0], LENGTH, 1, value + at + j, SIZE, sums);
                for (int r = 0; r < TILE_ROWS; r++)
                    sums[r][0] *= factor[r], sums[r][1] *= factor[r];
                store_float(sums, TILE_ROWS, WIDTH, 0, out + at + i * SIZE + j, SIZE);
            }
        }
    }
}

/* Second derivatives of the sum of 100 (x[i + 1] - x[i]^2)^2 + (1 - x[i])^2. */
void rosenbrock_hessian(int64_t n, const double *restrict x, double *restrict out)
{
    memset(out, 0, sizeof(double) * (size_t)(n * n));
    for (int64_t i = 0; i < n; i++) {
        double *row = out + i * n;
        row[i] = i > 0 ? 200 : 0;
        if (i > 0)
            row[i - 1] = -400 * x[i - 1];
        if (i < n - 1) {
            row[i] += 1200 * x[i] * x[i] - 400 * x[i + 1] + 2;
            row[i + 1] = -400 * x[i];
        }
    }
}
