/* The loss of a transformer of a few layers, and its gradient by hand. */

#include "layers.h"

enum { HEADS = 8, WEIGHTS = 12 };

/* The parameters of a layer, or their gradients, in the order of their names. */
enum name {
    DOWN, DOWN_BIAS, KEY, OUT, QUERY, SCALE1, SCALE2, SHIFT1, SHIFT2, UP, UP_BIAS, VALUE
};

struct sizes {
    int64_t batch, length, width, rows; /* rows: batch * length */
};

/* What the way forward of a layer leaves; matrices of `rows` rows, of which `up` and `gelu` have
 * four times the width, and `mixed`, the weights of attention, length * HEADS. */
struct passed {
    float *x, *normal1, *factor1, *scaled1, *query, *key, *value, *mixed, *heads, *middle;
    float *normal2, *factor2, *scaled2, *up, *gelu;
};

static void layer_norm(struct sizes size, const float *restrict x, const float *restrict scale,
                       const float *restrict shift, float *restrict normal,
                       float *restrict factor, float *restrict out)
{
    const int64_t n = size.width;
    #pragma omp parallel for
    for (int64_t i = 0; i < size.rows; i++) {
        float sum = 0, squares = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < n; j++)
            sum += x[i * n + j];
        const float mean = sum / (float)n;
        #pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < n; j++)
            squares += (x[i * n + j] - mean) * (x[i * n + j] - mean);
        factor[i] = 1 / sqrtf(squares / (float)n + 1e-5f);
        #pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            normal[i * n + j] = (x[i * n + j] - mean) * factor[i];
            out[i * n + j] = normal[i * n + j] * scale[j] + shift[j];
        }
    }
}

/* Add to ct_x what comes through a layer norm; gradients of scale and shift. */
static void layer_norm_backwards(struct sizes size, const float *restrict ct,
                                 const float *restrict normal, const float *restrict factor,
                                 const float *restrict scale, float *restrict ct_scale,
                                 float *restrict ct_shift, float *restrict ct_x)
{
    const int64_t n = size.width;
    memset(ct_scale, 0, sizeof(float) * (size_t)n);
    memset(ct_shift, 0, sizeof(float) * (size_t)n);
    for (int64_t i = 0; i < size.rows; i++) {
        const float *c = ct + i * n, *y = normal + i * n;
        float sum = 0, product = 0;
        #pragma omp simd reduction(+ : sum, product)
        for (int64_t j = 0; j < n; j++) {
            ct_shift[j] += c[j];
            ct_scale[j] += c[j] * y[j];
            sum += c[j] * scale[j];
            product += c[j] * scale[j] * y[j];
        }
        const float mean = sum / (float)n, along = product / (float)n;
        #pragma omp simd
        for (int64_t j = 0; j < n; j++)
            ct_x[i * n + j] += factor[i] * (c[j] * scale[j] - mean - y[j] * along);
    }
}

/* One product of a part of a head: `rows` (a multiple of 8) and `columns` (one of 32) of matrices
 * whose rows are so far apart. */
static void multiply_part(int64_t rows, int64_t depth, int64_t columns, const float *a,
                          int64_t a_row, int64_t a_step, const float *b, int64_t b_row, float *c,
                          int64_t c_row)
{
    for (int64_t i = 0; i < rows; i += TILE_ROWS) {
        for (int64_t j = 0; j < columns; j += WIDTH_float) {
            floats sums[TILE_ROWS][2];
            tile_float(depth, a + i * a_row, a_row, a_step, b + j, b_row, sums);
            store_float(sums, TILE_ROWS, WIDTH_float, 0, c + i * c_row + j, c_row);
        }
    }
}

static void turn_part(int64_t rows, int64_t columns, const float *restrict from, int64_t row,
                      float *restrict to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * row + j];
}

/* softmax(query key' / sqrt(size)) value of each head. */
static void attend(struct sizes size, struct passed to)
{
    const int64_t n = size.length, part = size.width / HEADS;
    const float scale = 1 / sqrtf((float)part);
    #pragma omp parallel for
    for (int64_t head = 0; head < size.batch * HEADS; head++) {
        const int64_t at = head / HEADS * n * size.width + head % HEADS * part;
        float turned[part * n], *mixed = to.mixed + head * n * n;
        turn_part(n, part, to.key + at, size.width, turned);
        multiply_part(n, part, n, to.query + at, size.width, 1, turned, n, mixed, n);
        for (int64_t i = 0; i < n; i++) {
            float *row = mixed + i * n, largest = -INFINITY, sum = 0;
            #pragma omp simd reduction(max : largest)
            for (int64_t j = 0; j < n; j++)
                largest = row[j] > largest ? row[j] : largest;
            #pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < n; j++) {
                row[j] = expf((row[j] - largest) * scale);
                sum += row[j];
            }
            for (int64_t j = 0; j < n; j++)
                row[j] /= sum;
        }
        multiply_part(n, n, part, mixed, n, 1, to.value + at, size.width, to.heads + at,
                      size.width);
    }
}

/* From cotangents of the heads to those of query, key and value. */
static void attend_backwards(struct sizes size, struct passed from, const float *restrict ct,
                             float *restrict ct_query, float *restrict ct_key,
                             float *restrict ct_value)
{
    const int64_t n = size.length, part = size.width / HEADS, row = size.width;
    const float scale = 1 / sqrtf((float)part);
    #pragma omp parallel for
    for (int64_t head = 0; head < size.batch * HEADS; head++) {
        const int64_t at = head / HEADS * n * row + head % HEADS * part;
        const float *mixed = from.mixed + head * n * n;
        float turned[part * n], scores[n * n];
        turn_part(n, part, from.value + at, row, turned);
        multiply_part(n, part, n, ct + at, row, 1, turned, n, scores, n);
        multiply_part(n, n, part, mixed, 1, n, ct + at, row, ct_value + at, row);
        for (int64_t i = 0; i < n; i++) {
            float sum = 0;
            #pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < n; j++)
                sum += scores[i * n + j] * mixed[i * n + j];
            for (int64_t j = 0; j < n; j++)
                scores[i * n + j] = (scores[i * n + j] - sum) * mixed[i * n + j] * scale;
        }
        multiply_part(n, n, part, scores, n, 1, from.key + at, row, ct_query + at, row);
        multiply_part(n, n, part, scores, 1, n, from.query + at, row, ct_key + at, row);
    }
}

static const float root = 0.79788456f, cubic = 0.044715f;

/* gelu(y), and y in place of the product without bias. */
static void gelu(int64_t rows, int64_t columns, const float *restrict bias, float *restrict y,
                 float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        #pragma omp simd
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = i * columns + j;
            const float value = y[at] + bias[j];
            y[at] = value;
            out[at] = 0.5f * value * (1 + tanhf(root * (value + cubic * value * value * value)));
        }
    }
}

/* The cotangent of gelu's result becomes that of its argument. */
static void gelu_backwards(int64_t count, const float *restrict y, float *restrict ct)
{
    #pragma omp parallel for simd
    for (int64_t k = 0; k < count; k++) {
        const float bent = tanhf(root * (y[k] + cubic * y[k] * y[k] * y[k]));
        const float slope = root * (1 + 3 * cubic * y[k] * y[k]) * (1 - bent * bent);
        ct[k] *= 0.5f * (1 + bent + y[k] * slope);
    }
}

static void add(int64_t count, const float *restrict x, float *restrict sum)
{
    #pragma omp parallel for simd
    for (int64_t k = 0; k < count; k++)
        sum[k] += x[k];
}

static void sum_rows(int64_t rows, int64_t columns, const float *restrict x, float *restrict out)
{
    memset(out, 0, sizeof(float) * (size_t)columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            out[j] += x[i * columns + j];
}

/* out = a w, of so many inputs and outputs. */
static void dense(int64_t rows, int64_t inputs, int64_t outputs, const float *a, const float *w,
                  float *out)
{
    multiply_float(rows, inputs, outputs, matrix(a, inputs), matrix(w, outputs), out, NULL, NULL);
}

/* Its way back: the gradient x' ct of the weights, and ct w' for the inputs. */
static void dense_backwards(int64_t rows, int64_t inputs, int64_t outputs, const float *x,
                            const float *w, const float *ct, float *ct_w, float *ct_x)
{
    multiply_float(inputs, rows, outputs, transposed(x, inputs), matrix(ct, outputs), ct_w, NULL,
                   NULL);
    multiply_float(rows, outputs, inputs, matrix(ct, outputs), transposed(w, outputs), ct_x, NULL,
                   NULL);
}

/* One layer; `out` is what it adds up to. */
static void forwards(struct sizes size, float *const weights[WEIGHTS], struct passed to,
                     float *out)
{
    const int64_t rows = size.rows, n = size.width, count = rows * n;
    layer_norm(size, to.x, weights[SCALE1], weights[SHIFT1], to.normal1, to.factor1, to.scaled1);
    dense(rows, n, n, to.scaled1, weights[QUERY], to.query);
    dense(rows, n, n, to.scaled1, weights[KEY], to.key);
    dense(rows, n, n, to.scaled1, weights[VALUE], to.value);
    attend(size, to);
    dense(rows, n, n, to.heads, weights[OUT], to.middle);
    add(count, to.x, to.middle);
    layer_norm(size, to.middle, weights[SCALE2], weights[SHIFT2], to.normal2, to.factor2,
               to.scaled2);
    dense(rows, n, 4 * n, to.scaled2, weights[UP], to.up);
    gelu(rows, 4 * n, weights[UP_BIAS], to.up, to.gelu);
    multiply_float(rows, 4 * n, n, matrix(to.gelu, 4 * n), matrix(weights[DOWN], n), out, add_bias,
                   weights[DOWN_BIAS]);
    add(count, to.middle, out);
}

/* One layer backwards: `ct` goes from its result to its argument; `work` is 8 matrices. */
static void backwards(struct sizes size, float *const weights[WEIGHTS], struct passed from,
                      float *const ct_weights[WEIGHTS], float *restrict ct, float *restrict work)
{
    const int64_t rows = size.rows, n = size.width, count = rows * n;
    float *wide = work, *narrow = work + 4 * count, *ct_query = narrow + count;
    float *ct_key = ct_query + count, *ct_value = ct_key + count;
    sum_rows(rows, n, ct, ct_weights[DOWN_BIAS]);
    dense_backwards(rows, 4 * n, n, from.gelu, weights[DOWN], ct, ct_weights[DOWN], wide);
    gelu_backwards(4 * count, from.up, wide);
    sum_rows(rows, 4 * n, wide, ct_weights[UP_BIAS]);
    dense_backwards(rows, n, 4 * n, from.scaled2, weights[UP], wide, ct_weights[UP], narrow);
    layer_norm_backwards(size, narrow, from.normal2, from.factor2, weights[SCALE2],
                         ct_weights[SCALE2], ct_weights[SHIFT2], ct);
    dense_backwards(rows, n, n, from.heads, weights[OUT], ct, ct_weights[OUT], narrow);
    attend_backwards(size, from, narrow, ct_query, ct_key, ct_value);
    dense_backwards(rows, n, n, from.scaled1, weights[QUERY], ct_query, ct_weights[QUERY], narrow);
    dense_backwards(rows, n, n, from.scaled1, weights[KEY], ct_key, ct_weights[KEY], wide);
    add(count, wide, narrow);
    dense_backwards(rows, n, n, from.scaled1, weights[VALUE], ct_value, ct_weights[VALUE], wide);
    add(count, wide, narrow);
    layer_norm_backwards(size, narrow, from.normal1, from.factor1, weights[SCALE1],
                         ct_weights[SCALE1], ct_weights[SHIFT1], ct);
}

/* Places for what a layer leaves, one after the other. */
static struct passed place(struct sizes size, float **memory)
{
    const int64_t count = size.rows * size.width;
    struct passed to;
    float **const narrow[] = {&to.x, &to.normal1, &to.scaled1, &to.query, &to.key, &to.value,
                              &to.heads, &to.middle, &to.normal2, &to.scaled2};
    for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++, *memory += count)
        *narrow[k] = *memory;
    to.factor1 = *memory, *memory += size.rows;
    to.factor2 = *memory, *memory += size.rows;
    to.up = *memory, *memory += 4 * count;
    to.gelu = *memory, *memory += 4 * count;
    to.mixed = *memory, *memory += size.rows * HEADS * size.length;
    return to;
}

/* The mean of the squared errors, and its gradient by the parameters of two layers. */
void attention_training_step(int64_t batch, int64_t length, int64_t width,
                             float *const weights[2 * WEIGHTS], const float *restrict x,
                             const float *restrict target, float *restrict loss,
                             float *const ct_weights[2 * WEIGHTS])
{
    static struct kept kept;
    const struct sizes size = {batch, length, width, batch * length};
    const int64_t count = size.rows * width, most = 20 * count + size.rows * (2 + HEADS * length);
    float *memory = scratch(&kept, sizeof(float) * (size_t)(2 * most + 10 * count));
    struct passed first = place(size, &memory), second = place(size, &memory);
    float *out = memory, *ct = out + count, *work = ct + count, sum = 0;
    memcpy(first.x, x, sizeof(float) * (size_t)count);
    forwards(size, weights, first, second.x);
    forwards(size, weights + WEIGHTS, second, out);
    #pragma omp parallel for simd reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) {
        const float error = out[k] - target[k];
        sum += error * error;
        ct[k] = 2 * error / (float)count;
    }
    *loss = sum / (float)count;
    backwards(size, weights + WEIGHTS, second, ct_weights + WEIGHTS, ct, work);
    backwards(size, weights, first, ct_weights, ct, work);
}
