/* The programs of benchmarks/loop_programs.py, written by hand. Matrices are row-major; results are
 * written to the last argument. Compiled by benchmarks/hand_written.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

void nussinov(int64_t n, const int64_t *restrict sequence, int64_t *restrict best)
{
    memset(best, 0, sizeof(int64_t) * (size_t)(n * n));
    for (int64_t d = 1; d < n; d++) {
        for (int64_t i = 0; i + d < n; i++) {
            const int64_t j = i + d;
            int64_t most = best[(i + 1) * n + j - 1] + (sequence[i] + sequence[j] == 3);
            for (int64_t k = i; k < j; k++) {
                const int64_t both = best[i * n + k] + best[(k + 1) * n + j];
                most = both > most ? both : most;
            }
            best[i * n + j] = most;
        }
    }
}

void moving_average(int64_t n, const double *restrict x, double *restrict out)
{
    double mean = x[0];
    for (int64_t i = 0; i < n; i++) {
        mean = 0.99 * mean + (1 - 0.99) * x[i];
        out[i] = mean;
    }
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

/* 100 steps; `out` and a second plate take turns. */
void stencil(int64_t n, const double *restrict u, double *restrict out)
{
    const size_t size = sizeof(double) * (size_t)(n * n);
    double *other = malloc(size), *from = out, *to = other;
    memcpy(out, u, size);
    memcpy(other, u, size);
    for (int step = 0; step < 100; step++) {
        #pragma omp parallel for
        for (int64_t i = 1; i < n - 1; i++) {
            for (int64_t j = 1; j < n - 1; j++) {
                const double *at = from + i * n + j;
                const double around = at[-n] + at[n] + at[-1] + at[1];
                to[i * n + j] = at[0] + 0.2 * (around - 4 * at[0]);
            }
        }
        double *last = from;
        from = to;
        to = last;
    }
    if (from != out)
        memcpy(out, from, size);
    free(other);
}
