/* Random numbers that are those of jax.random: word `i` of a key is the exclusive or of the two
 * words that Threefry-2x32 makes of the counter `i` (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011). */

#include "common.h"

struct pair {
    uint32_t first, second;
};

static inline uint32_t rotate(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static inline struct pair threefry(struct pair key, struct pair counter)
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
    uint32_t x = counter.first + keys[0], y = counter.second + keys[1];
    #pragma GCC unroll 5
    for (uint32_t group = 0; group < 5; group++) {
        #pragma GCC unroll 4
        for (int round = 0; round < 4; round++) {
            x += y;
            y = rotate(y, rotations[group % 2][round]) ^ x;
        }
        x += keys[(group + 1) % 3];
        y += keys[(group + 2) % 3] + group + 1;
    }
    return (struct pair){x, y};
}

/* A number in [1, 2) of 23 random bits. Counters are smaller than 2^32 here. */
static inline float from_one_to_two(struct pair key, uint32_t counter)
{
    const struct pair words = threefry(key, (struct pair){0, counter});
    const uint32_t bits = (words.first ^ words.second) >> 9 | 0x3F800000u;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* M. Giles, "Approximating the erfinv function", 2010: a polynomial in the middle and one for the
 * tails. */
static inline float inverse_error_function(float x)
{
    const float w = -logf((1 - x) * (1 + x)), m = w - 2.5f, t = sqrtf(w) - 3;
    float middle = 2.81022636e-08f, tail = -0.000200214257f;
    middle = middle * m + 3.43273939e-07f, tail = tail * t + 0.000100950558f;
    middle = middle * m - 3.5233877e-06f, tail = tail * t + 0.00134934322f;
    middle = middle * m - 4.39150654e-06f, tail = tail * t - 0.00367342844f;
    middle = middle * m + 0.00021858087f, tail = tail * t + 0.00573950773f;
    middle = middle * m - 0.00125372503f, tail = tail * t - 0.0076224613f;
    middle = middle * m - 0.00417768164f, tail = tail * t + 0.00943887047f;
    middle = middle * m + 0.246640727f, tail = tail * t + 1.00167406f;
    middle = middle * m + 1.50140941f, tail = tail * t + 2.83297682f;
    return (w < 5 ? middle : tail) * x;
}

void normals(int64_t n, const uint32_t *restrict key, float *restrict out)
{
    const struct pair pair = {key[0], key[1]};
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        const float uniform = (from_one_to_two(pair, (uint32_t)i) - 1) * 2 - 0.99999994f;
        out[i] = 1.41421356f * inverse_error_function(uniform);
    }
}

void monte_carlo(int64_t n, const uint32_t *restrict key, double *restrict out)
{
    const struct pair pair = {key[0], key[1]};
    const struct pair for_x = threefry(pair, (struct pair){0, 0});
    const struct pair for_y = threefry(pair, (struct pair){0, 1});
    int32_t inside = 0;
    #pragma omp parallel for simd reduction(+ : inside)
    for (int64_t i = 0; i < n; i++) {
        const float x = from_one_to_two(for_x, (uint32_t)i) - 1;
        const float y = from_one_to_two(for_y, (uint32_t)i) - 1;
        inside += x * x + y * y < 1;
    }
    *out = (double)inside / (double)n;
}
