/* The programs of benchmarks/loop_programs.py. */

#include "common.h"

/* LU without pivoting: L below the diagonal, U on it and above. */
void lu(int64_t n, const double *restrict matrix, double *restrict a)
{
    memcpy(a, matrix, sizeof(double) * (size_t)(n * n));
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

void floyd_warshall(int64_t n, const double *restrict lengths, double *restrict d)
{
    memcpy(d, lengths, sizeof(double) * (size_t)(n * n));
    for (int64_t k = 0; k < n; k++) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; i++) {
            if (i == k)
                continue;
            const double first = d[i * n + k];
            #pragma omp simd
            for (int64_t j = 0; j < n; j++) {
                const double through = first + d[k * n + j];
                d[i * n + j] = through < d[i * n + j] ? through : d[i * n + j];
            }
        }
    }
}

/* The table is kept a second time with rows and columns exchanged, so that both tables are read
 * along rows: `best[i][k]` and `turned[j][k]`, of which the latter is best[k][j]. */
void nussinov(int64_t n, const int64_t *restrict sequence, int64_t *restrict best)
{
    static struct kept kept;
    int64_t *restrict turned = scratch(&kept, sizeof(int64_t) * (size_t)(n * n));
    memset(best, 0, sizeof(int64_t) * (size_t)(n * n));
    memset(turned, 0, sizeof(int64_t) * (size_t)(n * n));
    for (int64_t d = 1; d < n; d++) {
        for (int64_t i = 0; i + d < n; i++) {
            const int64_t j = i + d;
            const int64_t *left = best + i * n, *right = turned + j * n + 1;
            int64_t most = best[(i + 1) * n + j - 1] + (sequence[i] + sequence[j] == 3);
            #pragma omp simd reduction(max : most)
            for (int64_t k = i; k < j; k++) {
                const int64_t both = left[k] + right[k];
                most = both > most ? both : most;
            }
            best[i * n + j] = turned[j * n + i] = most;
        }
    }
}

/* One step after the other, as the scan says, each waiting for a multiplication and an addition in
 * one. Eight steps at once, with powers of 0.99, would be another computation: it rounds elsewhere,
 * and can overflow where the steps do not. */
void moving_average(int64_t n, const double *restrict x, double *restrict out)
{
    const double decay = 0.99;
    double mean = x[0];
    for (int64_t i = 0; i < n; i++)
        out[i] = mean = fma(decay, mean, (1 - decay) * x[i]);
}

void newton(int64_t n, const double *restrict a, double *restrict x)
{
    double largest = INFINITY;
    for (int64_t i = 0; i < n; i++)
        x[i] = a[i] / 2;
    while (largest > 1e-12) {
        largest = 0;
        #pragma omp parallel for simd reduction(max : largest)
        for (int64_t i = 0; i < n; i++) {
            const double change = (x[i] * (x[i] * x[i] + 1) - a[i]) / (3 * x[i] * x[i] + 1);
            x[i] -= change;
            largest = fabs(change) > largest ? fabs(change) : largest;
        }
    }
}

enum { AT_ONCE = 10, TILE_HEIGHT = 64, TILE_WIDTH = 512, TILE_ROW = TILE_WIDTH + 32 };

/* A part of the plate and what reaches it within so many steps; two of them take turns. */
typedef float plate[TILE_HEIGHT + 2 * AT_ONCE][TILE_ROW];

/* 10 steps of one tile, which stays in a cache: the first of them for 9 more rows and columns on
 * each side, the last for the tile alone. The border of the whole plate does not change. */
static void stencil_tile(int64_t n, int64_t top, int64_t left, const float *restrict from,
                         float *restrict to, plate *restrict plates)
{
    const int64_t first = top < AT_ONCE ? 0 : top - AT_ONCE;
    const int64_t start = left < AT_ONCE ? 0 : left - AT_ONCE;
    const int64_t bottom = least(n, top + TILE_HEIGHT), right = least(n, left + TILE_WIDTH);
    const int64_t width = least(n, right + AT_ONCE) - start;
    for (int64_t i = first; i < least(n, bottom + AT_ONCE); i++)
        for (int turn = 0; turn < 2; turn++)
            memcpy(plates[turn][i - first], from + i * n + start, sizeof(float) * (size_t)width);
    for (int step = 0; step < AT_ONCE; step++) {
        const int64_t more = AT_ONCE - 1 - step;
        const int64_t low = top - more < 1 ? 1 : top - more;
        const int64_t near = left - more < 1 ? 1 : left - more;
        const int64_t far = least(n - 1, right + more) - start;
        for (int64_t i = low; i < least(n - 1, bottom + more); i++) {
            const float *at = plates[step % 2][i - first];
            float *next = plates[1 - step % 2][i - first];
            #pragma omp simd
            for (int64_t j = near - start; j < far; j++) {
                const float around = at[j - TILE_ROW] + at[j + TILE_ROW] + at[j - 1] + at[j + 1];
                next[j] = at[j] + 0.2f * (around - 4 * at[j]);
            }
        }
    }
    for (int64_t i = top; i < bottom; i++)
        memcpy(to + i * n + left, plates[AT_ONCE % 2][i - first] + (left - start),
               sizeof(float) * (size_t)(right - left));
}

/* 100 steps, ten at a time; `out` and a second plate take turns. */
void stencil(int64_t n, const float *restrict u, float *restrict out)
{
    static struct kept kept, kept_plates;
    float *other = scratch(&kept, sizeof(float) * (size_t)(n * n));
    plate *plates = scratch(&kept_plates, sizeof(plate) * 2 * (size_t)omp_get_max_threads());
    #pragma omp parallel
    for (int step = 0; step < 100; step += AT_ONCE) {
        const int odd = step / AT_ONCE % 2;
        const float *from = step == 0 ? u : odd ? other : out;
        #pragma omp for collapse(2) schedule(dynamic)
        for (int64_t top = 0; top < n; top += TILE_HEIGHT)
            for (int64_t left = 0; left < n; left += TILE_WIDTH)
                stencil_tile(n, top, left, from, odd ? out : other,
                             plates + 2 * omp_get_thread_num());
    }
}

/* 16 points at a time, until the last of them has left the circle. Products are rounded: the counts
 * of points near the border depend on it. */
__attribute__((optimize("fp-contract=off")))
void mandelbrot(int64_t n, const float *restrict real, const float *restrict imaginary,
                int32_t *restrict steps)
{
    #pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < n / LANES; i++) {
        const floats a = ((const floats *)real)[i], b = ((const floats *)imaginary)[i];
        floats x = {0}, y = {0};
        integers count = {0};
        for (int k = 0; k < 100; k++) {
            const integers inside = x * x + y * y < 4;
            int any = 0;
            for (int lane = 0; lane < LANES; lane++)
                any |= inside[lane];
            if (!any)
                break;
            const floats next = x * x - y * y + a;
            y = 2 * x * y + b;
            x = next;
            count -= inside;
        }
        ((integers *)steps)[i] = count;
    }
}
