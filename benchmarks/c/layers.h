/* What ends a layer, and the loss of a classifier. */
#pragma once

#include "products.h"

static inline void add_bias(const void *bias, int64_t i, int64_t j, int64_t width,
                     float *restrict numbers)
{
    (void)i;
    for (int64_t k = 0; k < width; k++)
        numbers[k] += ((const float *)bias)[j + k];
}

/* The loss -sum(targets * log softmax(logits)) / batch, and its gradient in place of the logits. */
static inline float cross_entropy(int64_t batch, int64_t classes, const float *restrict targets,
                           float *restrict logits)
{
    float loss = 0;
    for (int64_t i = 0; i < batch; i++) {
        float *row = logits + i * classes, largest = row[0], sum = 0;
        for (int64_t j = 1; j < classes; j++)
            largest = row[j] > largest ? row[j] : largest;
        for (int64_t j = 0; j < classes; j++)
            sum += expf(row[j] - largest);
        const float normalizer = largest + logf(sum);
        for (int64_t j = 0; j < classes; j++) {
            const float target = targets[i * classes + j], logarithm = row[j] - normalizer;
            loss -= target * logarithm;
            row[j] = (expf(logarithm) - target) / (float)batch;
        }
    }
    return loss / (float)batch;
}

/* A step of gradient descent for numbers whose gradient is complete. */
struct update {
    float *values;
    int64_t columns;
};

static const float rate = 0.01f;

static inline void descend(const void *context, int64_t i, int64_t j, int64_t width,
                    float *restrict numbers)
{
    const struct update *update = context;
    float *values = update->values + i * update->columns + j;
    for (int64_t k = 0; k < width; k++)
        values[k] -= rate * numbers[k];
}

/* w -= rate x' ct, and bias -= rate (sums of ct's columns), whose terms are too small to be taken
 * from a bias one by one. */
static inline void update_layer(int64_t batch, int64_t inputs, int64_t outputs, const float *restrict x,
                         const float *restrict ct, float *restrict gradient, float *restrict w,
                         float *restrict bias)
{
    const struct update update = {w, outputs};
    multiply_float(inputs, batch, outputs, transposed(x, inputs), matrix(ct, outputs), gradient,
                   descend, &update);
    memset(gradient, 0, sizeof(float) * (size_t)outputs);
    for (int64_t i = 0; i < batch; i++)
        for (int64_t j = 0; j < outputs; j++)
            gradient[j] += ct[i * outputs + j];
    for (int64_t j = 0; j < outputs; j++)
        bias[j] -= rate * gradient[j];
}
