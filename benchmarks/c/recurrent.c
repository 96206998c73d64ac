/* The loss of an LSTM and its gradient, backwards through time by hand. */

#include "layers.h"

struct sizes {
    int64_t length, batch, inputs, hidden;
};

/* What the steps leave for the way back: rows (time, sequence). Gates are input, forget, new memory
 * and output, side by side; hidden and memory have one more time, the zeros before the first. */
struct states {
    float *gates, *hidden, *memory;
};

static inline float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* One step of 8 sequences. The gates have what the inputs give. */
static void step(int64_t n, const float *restrict weights, float *restrict gates,
                 const float *restrict hidden, const float *restrict memory,
                 float *restrict next_hidden, float *restrict next_memory)
{
    for (int64_t j = 0; j < 4 * n; j += WIDTH_float) {
        floats sums[TILE_ROWS][2];
        tile_float(n, hidden, n, 1, weights + j, 4 * n, sums);
        store_float(sums, TILE_ROWS, WIDTH_float, 1, gates + j, 4 * n);
    }
    for (int64_t r = 0; r < TILE_ROWS; r++) {
        float *i = gates + r * 4 * n, *f = i + n, *g = f + n, *o = g + n;
        #pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            i[k] = sigmoid(i[k]), f[k] = sigmoid(f[k]), g[k] = tanhf(g[k]), o[k] = sigmoid(o[k]);
            const float kept = f[k] * memory[r * n + k] + i[k] * g[k];
            next_memory[r * n + k] = kept;
            next_hidden[r * n + k] = o[k] * tanhf(kept);
        }
    }
}

/* The step backwards: cotangents of hidden and memory go from after it to before it, and those of
 * the gates take the places of the gates. */
static void step_backwards(int64_t n, const float *restrict turned_weights,
                           float *restrict gates, const float *restrict memory,
                           const float *restrict next_memory, float *restrict ct_hidden,
                           float *restrict ct_memory)
{
    for (int64_t r = 0; r < TILE_ROWS; r++) {
        float *i = gates + r * 4 * n, *f = i + n, *g = f + n, *o = g + n;
        #pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = r * n + k;
            const float bent = tanhf(next_memory[at]), was_f = f[k];
            const float ct = ct_memory[at] + ct_hidden[at] * o[k] * (1 - bent * bent);
            const float ct_g = ct * i[k] * (1 - g[k] * g[k]);
            o[k] = ct_hidden[at] * bent * o[k] * (1 - o[k]);
            f[k] = ct * memory[at] * f[k] * (1 - f[k]);
            i[k] = ct * g[k] * i[k] * (1 - i[k]);
            g[k] = ct_g;
            ct_memory[at] = ct * was_f;
        }
    }
    for (int64_t j = 0; j < n; j += WIDTH_float) {
        floats sums[TILE_ROWS][2];
        tile_float(4 * n, gates, 4 * n, 1, turned_weights + j, n, sums);
        store_float(sums, TILE_ROWS, WIDTH_float, 0, ct_hidden + j, n);
    }
}

/* All steps of 8 sequences, forwards and backwards; the sum of their squared errors. */
static float through_time(struct sizes size, int64_t first, const float *weights,
                          const float *turned_weights, const float *target, struct states states)
{
    const int64_t n = size.hidden, row = size.batch * n;
    float *hidden = states.hidden + first * n, *memory = states.memory + first * n;
    float *gates = states.gates + first * 4 * n;
    memset(hidden, 0, sizeof(float) * (size_t)(TILE_ROWS * n));
    memset(memory, 0, sizeof(float) * (size_t)(TILE_ROWS * n));
    for (int64_t t = 0; t < size.length; t++)
        step(n, weights, gates + t * 4 * row, hidden + t * row, memory + t * row,
             hidden + (t + 1) * row, memory + (t + 1) * row);
    float ct_hidden[TILE_ROWS * n], ct_memory[TILE_ROWS * n], sum = 0;
    for (int64_t k = 0; k < TILE_ROWS * n; k++) {
        const float error = hidden[size.length * row + k] - target[first * n + k];
        sum += error * error;
        ct_hidden[k] = 2 * error / (float)row;
        ct_memory[k] = 0;
    }
    for (int64_t t = size.length - 1; t >= 0; t--)
        step_backwards(n, turned_weights, gates + t * 4 * row, memory + t * row,
                       memory + (t + 1) * row, ct_hidden, ct_memory);
    return sum;
}

/* For a batch that is a multiple of 8 and hidden numbers that are one of 32. */
void lstm_gradient(int64_t length, int64_t batch, int64_t inputs, int64_t hidden,
                   const float *restrict bias, const float *restrict weights,
                   const float *restrict input_weights, const float *restrict xs,
                   const float *restrict target, float *restrict loss, float *restrict ct_bias,
                   float *restrict ct_weights, float *restrict ct_input_weights)
{
    static struct kept kept;
    const struct sizes size = {length, batch, inputs, hidden};
    const int64_t rows = length * batch, gates = 4 * hidden, all = (rows + batch) * hidden;
    float *turned = scratch(
        &kept, sizeof(float) * (size_t)(gates * hidden + rows * gates + 2 * all));
    struct states states = {.gates = turned + gates * hidden};
    states.hidden = states.gates + rows * gates;
    states.memory = states.hidden + all;
    for (int64_t k = 0; k < hidden; k++)
        for (int64_t j = 0; j < gates; j++)
            turned[j * hidden + k] = weights[k * gates + j];
    multiply_float(rows, inputs, gates, matrix(xs, inputs), matrix(input_weights, gates),
                   states.gates, add_bias, bias);
    float sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int64_t first = 0; first < batch; first += TILE_ROWS)
        sum += through_time(size, first, weights, turned, target, states);
    *loss = sum / (float)(batch * hidden);
    multiply_float(hidden, rows, gates, transposed(states.hidden, hidden),
                   matrix(states.gates, gates), ct_weights, NULL, NULL);
    multiply_float(inputs, rows, gates, transposed(xs, inputs), matrix(states.gates, gates),
                   ct_input_weights, NULL, NULL);
    memset(ct_bias, 0, sizeof(float) * (size_t)gates);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < gates; j++)
            ct_bias[j] += states.gates[i * gates + j];
}
