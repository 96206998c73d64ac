/* Kernels of benchmarks/python_kernels.py that are chains of numbers, searches and sieves; as those of
 * arrays.c. */

#include <stdbool.h>

#include "../common.h"

void mandelbrot(int64_t n, int64_t m, const double *restrict real,
                const double *restrict imaginary, int64_t limit, int64_t *restrict counts)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double x = 0, y = 0;
            int64_t k = 0;
            while (k < limit && x * x + y * y <= 4) {
                const double next = x * x - y * y + real[j];
                y = 2 * x * y + imaginary[i];
                x = next;
                k++;
            }
            counts[i * m + j] = k;
        }
}

void queens(int64_t n, int64_t *restrict solutions)
{
    const int64_t full = ((int64_t)1 << n) - 1;
    int64_t columns[32] = {0}, left[32] = {0}, right[32] = {0}, free[32] = {full};
    int64_t row = 0, count = 0;
    while (row >= 0) {
        if (free[row] == 0) {
            row--;
            continue;
        }
        const int64_t bit = free[row] & -free[row];
        free[row] ^= bit;
        if (row == n - 1) {
            count++;
        } else {
            columns[row + 1] = columns[row] | bit;
            left[row + 1] = (left[row] | bit) << 1;
            right[row + 1] = (right[row] | bit) >> 1;
            row++;
            free[row] = full & ~(columns[row] | left[row] | right[row]);
        }
    }
    *solutions = count;
}

void crc32(int64_t n, const int64_t *restrict data, int64_t *restrict checksum)
{
    int64_t crc = 0xFFFFFFFF;
    for (int64_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0xEDB88320 : crc >> 1;
    }
    *checksum = crc ^ 0xFFFFFFFF;
}

void bisection(double low, double high, double tolerance, double *restrict root)
{
    double f = low * low * low - low - 2;
    while (high - low > tolerance) {
        const double middle = 0.5 * (low + high);
        const double g = middle * middle * middle - middle - 2;
        if (g == 0) {
            *root = middle;
            return;
        }
        if ((g > 0) == (f > 0)) {
            low = middle;
            f = g;
        } else {
            high = middle;
        }
    }
    *root = 0.5 * (low + high);
}

void adaptive_ode(double y, double end, double tolerance, double *restrict last,
                  int64_t *restrict accepted)
{
    double t = 0, h = 0.1;
    int64_t steps = 0;
    while (t < end) {
        if (t + h > end)
            h = end - t;
        const double k1 = -2 * t * y;
        const double k2 = -2 * (t + h / 2) * (y + h / 2 * k1);
        const double k3 = -2 * (t + 0.75 * h) * (y + 0.75 * h * k2);
        const double new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9;
        const double k4 = -2 * (t + h) * new;
        const double error = fabs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8));
        if (error <= tolerance) {
            t += h;
            y = new;
            steps++;
        }
        if (error == 0) {
            h *= 2;
        } else {
            const double scale = 0.9 * pow(tolerance / error, 1.0 / 3);
            h *= scale > 5 ? 5 : scale < 0.2 ? 0.2 : scale;
        }
    }
    *last = y;
    *accepted = steps;
}

void rejection(int64_t seed, int64_t n, double *restrict pi)
{
    int64_t state = seed, inside = 0, tried = 0;
    while (inside < n) {
        double xy = 0;
        for (int k = 0; k < 2; k++) {
            state ^= (state << 13) & 0xFFFFFFFF;
            state ^= state >> 17;
            state ^= (state << 5) & 0xFFFFFFFF;
            const double u = (double)state / 4294967296.0;
            xy += u * u;
        }
        tried++;
        if (xy <= 1)
            inside++;
    }
    *pi = 4.0 * (double)inside / (double)tried;
}

void ray_march(double width, int64_t limit, double *restrict depths)
{
    for (int64_t i = 0; i < 48; i++)
        for (int64_t j = 0; j < 48; j++) {
            const double dx = ((double)j - 23.5) / width, dy = ((double)i - 23.5) / width;
            const double norm = sqrt(dx * dx + dy * dy + 1);
            double t = 0;
            for (int64_t step = 0; step < limit; step++) {
                const double px = t * dx / norm, py = t * dy / norm, pz = t / norm - 3;
                const double d = sqrt(px * px + py * py + pz * pz) - 1;
                if (d < 1e-6)
                    break;
                t += d;
                if (t > 10) {
                    t = INFINITY;
                    break;
                }
            }
            depths[i * 48 + j] = t;
        }
}

void sieve(int64_t n, bool *restrict flags, int64_t *restrict primes)
{
    for (int64_t p = 2; p * p < n; p++)
        if (flags[p])
            for (int64_t q = p * p; q < n; q += p)
                flags[q] = false;
    *primes = 0;
    for (int64_t i = 0; i < n; i++)
        *primes += flags[i];
}

void euclid(int64_t n, const int64_t *restrict a, const int64_t *restrict b, int64_t *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t x = a[i], y = b[i];
        while (y != 0) {
            const int64_t rest = x % y;
            x = y;
            y = rest;
        }
        out[i] = x;
    }
}

void histogram(int64_t n, int64_t bins, const double *restrict x, double low, double high,
               int64_t *restrict counts)
{
    const double width = (high - low) / (double)bins;
    for (int64_t i = 0; i < n; i++)
        if (low <= x[i] && x[i] < high) {
            const int64_t k = (int64_t)((x[i] - low) / width);
            counts[k >= bins ? bins - 1 : k]++;
        }
}

void newton_raphson(int64_t n, const double *restrict a, double x, double *restrict roots)
{
    for (int64_t i = 0; i < n; i++) {
        double y = x;
        for (int k = 0; k < 50; k++) {
            const double step = (a[i] * (y * y * y) + y - 1) / (3 * a[i] * (y * y) + 1);
            y -= step;
            if (fabs(step) < 1e-13)
                break;
        }
        roots[i] = y;
    }
}

void longest_increasing(int64_t n, const double *restrict a, int64_t *restrict length)
{
    static struct kept kept;
    double *restrict tails = scratch(&kept, sizeof(double) * (size_t)n);
    int64_t size = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t low = 0, high = size;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (tails[middle] < a[i])
                low = middle + 1;
            else
                high = middle;
        }
        tails[low] = a[i];
        if (low == size)
            size++;
    }
    *length = size;
}

void union_find(int64_t edges, const int64_t *restrict a, const int64_t *restrict b, int64_t n,
                int64_t *restrict components)
{
    int64_t parent[1000], count = n;
    for (int64_t i = 0; i < 1000; i++)
        parent[i] = i;
    for (int64_t e = 0; e < edges; e++) {
        int64_t i = a[e], j = b[e];
        while (parent[i] != i)
            i = parent[i] = parent[parent[i]];
        while (parent[j] != j)
            j = parent[j] = parent[parent[j]];
        if (i != j) {
            parent[i] = j;
            count--;
        }
    }
    *components = count;
}

void logistic_map(double r, double x, int64_t steps, double *restrict exponent)
{
    double s = 0;
    for (int64_t k = 0; k < steps; k++) {
        x = r * x * (1 - x);
        s += log(fabs(r * (1 - 2 * x)));
    }
    *exponent = s / (double)steps;
}

void simpson(double low, double high, int64_t n, double *restrict integral)
{
    const double h = (high - low) / (double)n;
    double total = exp(-low * low) + exp(-high * high);
    for (int64_t k = 1; k < n; k++) {
        const double x = low + (double)k * h;
        total += (k % 2 == 1 ? 4.0 : 2.0) * exp(-x * x);
    }
    *integral = total * h / 3;
}
