/* Sums and counts at places that the data name, sorting, cumulative sums. */

#include "common.h"

void gather(int64_t n, const float *restrict table, const int64_t *restrict index,
            float *restrict out)
{
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++)
        out[i] = table[index[i]];
}

/* Each thread adds into sums of its own. */
void scatter(int64_t n, int64_t sums, const float *restrict values, const int64_t *restrict index,
             float *restrict out)
{
    static struct kept kept;
    const int threads = omp_get_max_threads();
    float *parts = scratch(&kept, sizeof(float) * (size_t)(threads * sums));
    #pragma omp parallel num_threads(threads)
    {
        float *own = parts + omp_get_thread_num() * sums;
        memset(own, 0, sizeof(float) * (size_t)sums);
        #pragma omp for
        for (int64_t i = 0; i < n; i++)
            own[index[i]] += values[i];
        #pragma omp for
        for (int64_t k = 0; k < sums; k++) {
            float sum = 0;
            for (int thread = 0; thread < threads; thread++)
                sum += parts[thread * sums + k];
            out[k] = sum;
        }
    }
}

/* 256 bins of equal width from -4 to 4, whose edges floats represent exactly. Each thread has four
 * tables, so that equal neighbours do not wait for each other; the last place of a table takes what
 * is outside. */
void histogram(int64_t n, const float *restrict x, int64_t *restrict out)
{
    enum { BINS = 256, BLOCK = 1024, TABLES = 4 };
    memset(out, 0, sizeof(int64_t) * BINS);
    #pragma omp parallel
    {
        int64_t count[TABLES][BINS + 1] = {0};
        #pragma omp for
        for (int64_t start = 0; start < n; start += BLOCK) {
            const int64_t size = least(BLOCK, n - start);
            int32_t bin[BLOCK];
            #pragma omp simd
            for (int64_t i = 0; i < size; i++) {
                const float value = x[start + i];
                const float place = value == 4 ? BINS - 1 : (value + 4) * (BINS / 8);
                bin[i] = value >= -4 && value <= 4 ? (int32_t)place : BINS;
            }
            for (int64_t i = 0; i < size; i++)
                count[i % TABLES][bin[i]]++;
        }
        #pragma omp critical
        for (int k = 0; k < BINS; k++)
            out[k] += count[0][k] + count[1][k] + count[2][k] + count[3][k];
    }
}

/* The sums of 16 numbers and those before them; four steps of doubling. */
static inline floats prefix_sums(floats x)
{
    const floats zero = {0};
    x += __builtin_shuffle(
        zero, x, (integers){0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30});
    x += __builtin_shuffle(
        zero, x, (integers){0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29});
    x += __builtin_shuffle(
        zero, x, (integers){0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27});
    return x + __builtin_shuffle(
        zero, x, (integers){0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23});
}

/* Blocks that fit into a cache: each thread sums its own, and then, when all sums before it are
 * known, goes over it again. */
void cumulative_sum(int64_t n, const float *restrict x, float *restrict out)
{
    enum { BLOCK = 1 << 16 };
    const int threads = omp_get_max_threads();
    double sums[threads + 1], before = 0;
    #pragma omp parallel num_threads(threads)
    for (int64_t start = 0; start < n; start += threads * BLOCK) {
        const int own = omp_get_thread_num();
        const int64_t from = least(n, start + own * BLOCK), to = least(n, from + BLOCK);
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < to; i++)
            sum += x[i];
        sums[own] = (double)sum;
        #pragma omp barrier
        double carry = before;
        for (int thread = 0; thread < own; thread++)
            carry += sums[thread];
        float last = (float)carry;
        int64_t i = from;
        for (; i + LANES <= to; i += LANES) {
            const floats next = prefix_sums(*(const floats *)(x + i)) + last;
            *(floats *)(out + i) = next;
            last = next[LANES - 1];
        }
        for (; i < to; i++)
            out[i] = last += x[i];
        #pragma omp barrier
        #pragma omp single
        for (int thread = 0; thread < threads; thread++)
            before += sums[thread];
    }
}

/* Bits whose order as integers is the order of the floats, and back. */
static inline uint32_t ordered(uint32_t bits)
{
    return bits ^ ((uint32_t)-(int32_t)(bits >> 31) | 0x80000000u);
}

static inline uint32_t original(uint32_t bits)
{
    return bits ^ (((bits >> 31) - 1) | 0x80000000u);
}

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One pass of a radix sort: stable, by the digit at `shift`. Every thread counts and moves a part
 * of its own. */
static void sort_by_digit(int64_t n, int shift, const uint32_t *restrict from,
                          uint32_t *restrict to, int64_t (*counts)[DIGITS])
{
    #pragma omp parallel
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t start = n * thread / threads, end = n * (thread + 1) / threads;
        int64_t *own = counts[thread];
        memset(own, 0, sizeof counts[0]);
        for (int64_t i = start; i < end; i++)
            own[from[i] >> shift & (DIGITS - 1)]++;
        #pragma omp barrier
        #pragma omp single
        for (int64_t digit = 0, place = 0; digit < DIGITS; digit++) {
            for (int k = 0; k < threads; k++) {
                const int64_t count = counts[k][digit];
                counts[k][digit] = place;
                place += count;
            }
        }
        for (int64_t i = start; i < end; i++)
            to[own[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

void sort(int64_t n, const float *restrict x, float *restrict out)
{
    static struct kept kept_keys, kept_other, kept_counts;
    uint32_t *keys = scratch(&kept_keys, sizeof(uint32_t) * (size_t)n);
    uint32_t *other = scratch(&kept_other, sizeof(uint32_t) * (size_t)n);
    int64_t (*counts)[DIGITS] =
        scratch(&kept_counts, sizeof *counts * (size_t)omp_get_max_threads());
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        keys[i] = ordered(bits);
    }
    sort_by_digit(n, 0, keys, other, counts);
    sort_by_digit(n, DIGIT_BITS, other, keys, counts);
    sort_by_digit(n, 2 * DIGIT_BITS, keys, other, counts);
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = original(other[i]);
        memcpy(out + i, &bits, sizeof bits);
    }
}

/* 16 points at a time, one in each lane; then each is added to the sums of its centre. */
void kmeans_step(int64_t points, const float *restrict point, const float *restrict centre,
                 float *restrict out)
{
    enum { WIDTH = 8, CENTRES = 16 };
    float sums[CENTRES][WIDTH] = {0}, counts[CENTRES] = {0};
    #pragma omp parallel for reduction(+ : sums, counts)
    for (int64_t start = 0; start < points; start += LANES) {
        const int64_t count = least(LANES, points - start);
        float own[WIDTH][LANES] = {0}, nearest[LANES];
        int32_t member[LANES];
        for (int64_t lane = 0; lane < count; lane++)
            for (int k = 0; k < WIDTH; k++)
                own[k][lane] = point[(start + lane) * WIDTH + k];
        #pragma omp simd
        for (int lane = 0; lane < LANES; lane++) {
            nearest[lane] = INFINITY;
            member[lane] = 0;
            for (int c = 0; c < CENTRES; c++) {
                float distance = 0;
                for (int k = 0; k < WIDTH; k++) {
                    const float difference = own[k][lane] - centre[c * WIDTH + k];
                    distance += difference * difference;
                }
                member[lane] = distance < nearest[lane] ? c : member[lane];
                nearest[lane] = distance < nearest[lane] ? distance : nearest[lane];
            }
        }
        for (int64_t lane = 0; lane < count; lane++) {
            for (int k = 0; k < WIDTH; k++)
                sums[member[lane]][k] += point[(start + lane) * WIDTH + k];
            counts[member[lane]] += 1;
        }
    }
    for (int c = 0; c < CENTRES; c++)
        for (int k = 0; k < WIDTH; k++)
            out[c * WIDTH + k] = sums[c][k] / (counts[c] > 1 ? counts[c] : 1);
}
