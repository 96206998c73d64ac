/* Kernels of benchmarks/python_kernels.py that work on arrays, as a C programmer writes them: the same
 * algorithm, in place where Python is, and numbers of Python's widths. */

#include <stdbool.h>

#include "../common.h"

void cholesky(int64_t n, double *restrict a, int64_t *restrict failed)
{
    *failed = 0;
    for (int64_t j = 0; j < n; j++) {
        double s = a[j * n + j];
        for (int64_t k = 0; k < j; k++)
            s -= a[j * n + k] * a[j * n + k];
        if (s <= 0) {
            *failed = j + 1;
            return;
        }
        const double d = sqrt(s);
        a[j * n + j] = d;
        for (int64_t i = j + 1; i < n; i++) {
            double t = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                t -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = t / d;
            a[j * n + i] = 0;
        }
    }
}

void lu_with_pivoting(int64_t n, double *restrict a, int64_t *restrict order)
{
    for (int64_t k = 0; k < n - 1; k++) {
        int64_t p = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[p * n + k]))
                p = i;
        order[k] = p;
        if (p != k)
            for (int64_t j = 0; j < n; j++) {
                const double t = a[k * n + j];
                a[k * n + j] = a[p * n + j];
                a[p * n + j] = t;
            }
        if (a[k * n + k] != 0)
            for (int64_t i = k + 1; i < n; i++) {
                const double factor = a[i * n + k] /= a[k * n + k];
                for (int64_t j = k + 1; j < n; j++)
                    a[i * n + j] -= factor * a[k * n + j];
            }
    }
}

void thomas(int64_t n, const double *restrict lower, const double *restrict diagonal,
            const double *restrict upper, const double *restrict right, double *restrict x)
{
    static struct kept kept;
    double *restrict d = scratch(&kept, sizeof(double) * (size_t)n);
    memcpy(d, diagonal, sizeof(double) * (size_t)n);
    memcpy(x, right, sizeof(double) * (size_t)n);
    for (int64_t i = 1; i < n; i++) {
        const double w = lower[i] / d[i - 1];
        d[i] -= w * upper[i - 1];
        x[i] -= w * x[i - 1];
    }
    x[n - 1] /= d[n - 1];
    for (int64_t i = n - 2; i >= 0; i--)
        x[i] = (x[i] - upper[i] * x[i + 1]) / d[i];
}

void edit_distance(int64_t n, int64_t m, const int64_t *restrict a, const int64_t *restrict b,
                   int64_t *restrict distance)
{
    static struct kept kept;
    int64_t *restrict row = scratch(&kept, sizeof(int64_t) * (size_t)(m + 1));
    for (int64_t j = 0; j <= m; j++)
        row[j] = j;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = row[0];
        row[0] = i + 1;
        for (int64_t j = 0; j < m; j++) {
            int64_t cost = before + (a[i] != b[j]);
            before = row[j + 1];
            if (before + 1 < cost)
                cost = before + 1;
            if (row[j] + 1 < cost)
                cost = row[j] + 1;
            row[j + 1] = cost;
        }
    }
    *distance = row[m];
}

void knapsack(int64_t n, const int64_t *restrict weights, const int64_t *restrict values,
              int64_t capacity, int64_t *restrict most)
{
    int64_t best[1001] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t w = weights[i], v = values[i];
        for (int64_t c = capacity; c >= w; c--)
            if (best[c - w] + v > best[c])
                best[c] = best[c - w] + v;
    }
    *most = best[capacity];
}

void smith_waterman(int64_t n, int64_t m, const int64_t *restrict a, const int64_t *restrict b,
                    double *restrict score)
{
    static struct kept kept;
    const int64_t width = m + 1;
    double *restrict h = scratch(&kept, sizeof(double) * (size_t)((n + 1) * width));
    memset(h, 0, sizeof(double) * (size_t)((n + 1) * width));
    double best = 0;
    for (int64_t i = 1; i <= n; i++)
        for (int64_t j = 1; j <= m; j++) {
            double s = h[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 2.0 : -1.0);
            if (h[(i - 1) * width + j] - 1 > s)
                s = h[(i - 1) * width + j] - 1;
            if (h[i * width + j - 1] - 1 > s)
                s = h[i * width + j - 1] - 1;
            if (s < 0)
                s = 0;
            h[i * width + j] = s;
            if (s > best)
                best = s;
        }
    *score = best;
}

void jacobi(int64_t n, int64_t m, double *restrict u, const double *restrict f, int64_t steps)
{
    static struct kept kept;
    double *restrict new = scratch(&kept, sizeof(double) * (size_t)(n * m));
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                if (i == 0 || j == 0 || i == n - 1 || j == m - 1) {
                    new[i * m + j] = 0;
                } else {
                    const double s = u[(i - 1) * m + j] + u[(i + 1) * m + j] + u[i * m + j - 1] +
                                     u[i * m + j + 1];
                    new[i * m + j] = 0.25 * (s + f[i * m + j]);
                }
            }
        memcpy(u, new, sizeof(double) * (size_t)(n * m));
    }
}

void game_of_life(int64_t n, int64_t m, int64_t *restrict world, int64_t steps,
                  int64_t *restrict alive)
{
    static struct kept kept;
    int64_t *restrict old = scratch(&kept, sizeof(int64_t) * (size_t)(n * m));
    for (int64_t step = 0; step < steps; step++) {
        memcpy(old, world, sizeof(int64_t) * (size_t)(n * m));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                int64_t count = 0;
                for (int64_t di = -1; di <= 1; di++)
                    for (int64_t dj = -1; dj <= 1; dj++)
                        if (di != 0 || dj != 0)
                            count += old[(i + di + n) % n * m + (j + dj + m) % m];
                world[i * m + j] = count == 3 || (count == 2 && old[i * m + j] == 1);
            }
    }
    *alive = 0;
    for (int64_t i = 0; i < n * m; i++)
        *alive += world[i];
}

void sparse_product(int64_t n, const int64_t *restrict starts, const int64_t *restrict columns,
                    const double *restrict values, const double *restrict x, double *restrict y)
{
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int64_t k = starts[i]; k < starts[i + 1]; k++)
            s += values[k] * x[columns[k]];
        y[i] = s;
    }
}

void bellman_ford(int64_t edges, const int64_t *restrict sources, const int64_t *restrict targets,
                  const double *restrict weights, int64_t n, double *restrict distance)
{
    for (int64_t i = 0; i < 1000; i++)
        distance[i] = INFINITY;
    distance[0] = 0;
    for (int64_t round = 0; round < n; round++) {
        bool changed = false;
        for (int64_t e = 0; e < edges; e++) {
            const double d = distance[sources[e]] + weights[e];
            if (d < distance[targets[e]]) {
                distance[targets[e]] = d;
                changed = true;
            }
        }
        if (!changed)
            break;
    }
}

void kalman(int64_t n, const double *restrict observations, double q, double r,
            double *restrict out)
{
    double x = 0, p = 1;
    for (int64_t k = 0; k < n; k++) {
        p += q;
        const double z = observations[k];
        if (!isnan(z)) {
            const double gain = p / (p + r);
            x += gain * (z - x);
            p *= 1 - gain;
        }
        out[k] = x;
    }
}

void insertion_sort(int64_t n, double *restrict a)
{
    for (int64_t i = 1; i < n; i++) {
        const double key = a[i];
        int64_t j = i - 1;
        while (j >= 0 && a[j] > key) {
            a[j + 1] = a[j];
            j--;
        }
        a[j + 1] = key;
    }
}

void floyd_warshall(int64_t n, double *restrict d)
{
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (d[i * n + k] + d[k * n + j] < d[i * n + j])
                    d[i * n + j] = d[i * n + k] + d[k * n + j];
}

void matrix_product(int64_t n, int64_t m, int64_t p, const double *restrict a,
                    const double *restrict b, double *restrict c)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p; j++) {
            double s = 0;
            for (int64_t k = 0; k < m; k++)
                s += a[i * m + k] * b[k * p + j];
            c[i * p + j] = s;
        }
}

void bubble_network(int64_t n, double *restrict a)
{
    for (int64_t step = 0; step < n; step++)
        for (int64_t i = step % 2; i < n - 1; i += 2)
            if (a[i] > a[i + 1]) {
                const double t = a[i];
                a[i] = a[i + 1];
                a[i + 1] = t;
            }
}
