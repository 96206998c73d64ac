/* Kernels of benchmarks/textbook_kernels.py and graph_kernels.py; as those of arrays.c. */

#include <math.h>
#include <stdbool.h>

#include "../common.h"

void prim(int64_t n, const double *restrict weights, int64_t *restrict parent,
          double *restrict total)
{
    static struct kept kept_done, kept_near;
    bool *restrict done = scratch(&kept_done, (size_t)n);
    double *restrict near = scratch(&kept_near, sizeof(double) * (size_t)n);
    for (int64_t v = 0; v < n; v++) {
        done[v] = false;
        near[v] = INFINITY;
    }
    near[0] = 0.0;
    *total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t best = -1;
        for (int64_t v = 0; v < n; v++)
            if (!done[v] && (best < 0 || near[v] < near[best]))
                best = v;
        done[best] = true;
        *total += near[best];
        for (int64_t v = 0; v < n; v++)
            if (!done[v] && weights[best * n + v] < near[v]) {
                near[v] = weights[best * n + v];
                parent[v] = best;
            }
    }
}

void z_function(int64_t n, const int64_t *restrict text, int64_t *restrict z)
{
    int64_t left = 0, right = 0;
    z[0] = n;
    for (int64_t i = 1; i < n; i++) {
        int64_t k = 0;
        if (i < right)
            k = right - i < z[i - left] ? right - i : z[i - left];
        while (i + k < n && text[k] == text[i + k])
            k++;
        z[i] = k;
        if (i + k > right) {
            left = i;
            right = i + k;
        }
    }
}

void inversions(int64_t n, const int64_t *restrict a, int64_t *restrict result)
{
    static struct kept kept;
    int64_t *restrict tree = scratch(&kept, sizeof(int64_t) * (size_t)(n + 1));
    memset(tree, 0, sizeof(int64_t) * (size_t)(n + 1));
    int64_t count = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = a[i]; k > 0; k -= k & -k)
            count += tree[k];
        for (int64_t k = a[i] + 1; k <= n; k += k & -k)
            tree[k]++;
    }
    *result = count;
}

void givens_qr(int64_t m, int64_t n, double *restrict a, double *restrict q)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = m - 1; i > j; i--) {
            double *restrict above = a + (i - 1) * n, *restrict below = a + i * n;
            double *restrict high = q + (i - 1) * m, *restrict low = q + i * m;
            const double x = above[j], y = below[j];
            if (y == 0.0)
                continue;
            const double length = sqrt(x * x + y * y), c = x / length, s = y / length;
            for (int64_t k = j; k < n; k++) {
                const double u = above[k], v = below[k];
                above[k] = c * u + s * v;
                below[k] = c * v - s * u;
            }
            for (int64_t k = 0; k < m; k++) {
                const double u = high[k], v = low[k];
                high[k] = c * u + s * v;
                low[k] = c * v - s * u;
            }
        }
}

void lempel_ziv(int64_t n, const int64_t *restrict text, int64_t window,
                int64_t *restrict offsets, int64_t *restrict lengths, int64_t *restrict result)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < n;) {
        int64_t best = 0, offset = 0;
        for (int64_t start = i > window ? i - window : 0; start < i; start++) {
            int64_t k = 0;
            while (i + k < n && k < 255 && text[start + k] == text[i + k])
                k++;
            if (k > best) {
                best = k;
                offset = i - start;
            }
        }
        offsets[tokens] = offset;
        lengths[tokens++] = best;
        i += best > 1 ? best : 1;
    }
    *result = tokens;
}

void adler32(int64_t n, const int64_t *restrict data, int64_t *restrict result)
{
    int64_t a = 1, b = 0;
    for (int64_t k = 0; k < n; k++) {
        a = (a + data[k]) % 65521;
        b = (b + a) % 65521;
    }
    *result = b * 65536 + a;
}

void k_means(int64_t n, int64_t d, int64_t k, const double *restrict points,
             double *restrict centres, int64_t *restrict labels, int64_t limit,
             int64_t *restrict rounds)
{
    static struct kept kept_sums, kept_sizes;
    double *restrict sums = scratch(&kept_sums, sizeof(double) * (size_t)(k * d));
    int64_t *restrict sizes = scratch(&kept_sizes, sizeof(int64_t) * (size_t)k);
    for (*rounds = 0; *rounds < limit; ++*rounds) {
        int64_t changed = 0;
        memset(sums, 0, sizeof(double) * (size_t)(k * d));
        memset(sizes, 0, sizeof(int64_t) * (size_t)k);
        for (int64_t i = 0; i < n; i++) {
            int64_t best = -1;
            double least = INFINITY;
            for (int64_t c = 0; c < k; c++) {
                double distance = 0.0;
                for (int64_t j = 0; j < d; j++) {
                    const double t = points[i * d + j] - centres[c * d + j];
                    distance += t * t;
                }
                if (distance < least) {
                    least = distance;
                    best = c;
                }
            }
            changed += labels[i] != best;
            labels[i] = best;
            sizes[best]++;
            for (int64_t j = 0; j < d; j++)
                sums[best * d + j] += points[i * d + j];
        }
        if (changed == 0)
            return;
        for (int64_t c = 0; c < k; c++)
            for (int64_t j = 0; j < d; j++)
                if (sizes[c] > 0)
                    centres[c * d + j] = sums[c * d + j] / (double)sizes[c];
    }
}

void topological_sort(int64_t n, int64_t edges, const int64_t *restrict starts,
                      const int64_t *restrict targets, int64_t *restrict order,
                      int64_t *restrict sorted)
{
    static struct kept kept;
    int64_t *restrict degrees = scratch(&kept, sizeof(int64_t) * (size_t)n);
    memset(degrees, 0, sizeof(int64_t) * (size_t)n);
    for (int64_t e = 0; e < edges; e++)
        degrees[targets[e]]++;
    int64_t first = 0, last = 0;
    for (int64_t v = 0; v < n; v++)
        if (degrees[v] == 0)
            order[last++] = v;
    while (first < last) {
        const int64_t v = order[first++];
        for (int64_t e = starts[v]; e < starts[v + 1]; e++)
            if (--degrees[targets[e]] == 0)
                order[last++] = targets[e];
    }
    *sorted = last;
}

void heap_permutations(int64_t n, int64_t *restrict a, int64_t *restrict result)
{
    static struct kept kept;
    int64_t *restrict counters = scratch(&kept, sizeof(int64_t) * (size_t)n);
    memset(counters, 0, sizeof(int64_t) * (size_t)n);
    int64_t checksum = a[0], i = 1;
    while (i < n)
        if (counters[i] < i) {
            int64_t *other = i % 2 == 0 ? a : a + counters[i];
            const int64_t t = *other;
            *other = a[i];
            a[i] = t;
            checksum = (3 * checksum + a[0]) % 1000003;
            counters[i]++;
            i = 1;
        } else {
            counters[i++] = 0;
        }
    *result = checksum;
}

void palindromes(int64_t n, const int64_t *restrict text, int64_t *restrict radius,
                 int64_t *restrict result)
{
    int64_t centre = 0, right = -1, longest = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 1;
        if (i <= right) {
            const int64_t mirrored = radius[2 * centre - i];
            k = mirrored < right - i + 1 ? mirrored : right - i + 1;
        }
        while (i - k >= 0 && i + k < n && text[i - k] == text[i + k])
            k++;
        radius[i] = k;
        if (i + k - 1 > right) {
            centre = i;
            right = i + k - 1;
        }
        if (2 * k - 1 > longest)
            longest = 2 * k - 1;
    }
    *result = longest;
}

void levinson_durbin(int64_t count, const double *restrict r, double *restrict a,
                     double *restrict result)
{
    static struct kept kept;
    double *restrict old = scratch(&kept, sizeof(double) * (size_t)count);
    double error = r[0];
    a[0] = 1.0;
    for (int64_t m = 1; m < count; m++) {
        double s = 0.0;
        for (int64_t k = 0; k < m; k++)
            s += a[k] * r[m - k];
        const double reflection = -s / error;
        for (int64_t k = 0; k <= m; k++)
            old[k] = k < m ? a[k] : 0.0;
        for (int64_t k = 1; k <= m; k++)
            a[k] = old[k] + reflection * old[m - k];
        error *= 1.0 - reflection * reflection;
    }
    *result = error;
}

void maximum_flow(int64_t n, int64_t *restrict capacity, int64_t *restrict result)
{
    static struct kept kept_before, kept_queue;
    int64_t *restrict before = scratch(&kept_before, sizeof(int64_t) * (size_t)n);
    int64_t *restrict queue = scratch(&kept_queue, sizeof(int64_t) * (size_t)n);
    for (*result = 0;;) {
        for (int64_t v = 0; v < n; v++)
            before[v] = -1;
        before[0] = 0;
        queue[0] = 0;
        for (int64_t first = 0, last = 1; first < last && before[n - 1] < 0;) {
            const int64_t v = queue[first++];
            for (int64_t w = 0; w < n; w++)
                if (before[w] < 0 && capacity[v * n + w] > 0) {
                    before[w] = v;
                    queue[last++] = w;
                }
        }
        if (before[n - 1] < 0)
            return;
        int64_t least = INT64_MAX;
        for (int64_t w = n - 1; w != 0; w = before[w])
            if (capacity[before[w] * n + w] < least)
                least = capacity[before[w] * n + w];
        for (int64_t w = n - 1; w != 0; w = before[w]) {
            capacity[before[w] * n + w] -= least;
            capacity[w * n + before[w]] += least;
        }
        *result += least;
    }
}

void mersenne_twister(int64_t n, int64_t *restrict state, int64_t *restrict out)
{
    for (int64_t i = 0; i < 624; i++) {
        const int64_t y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t y = state[i % 624];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680;
        y ^= (y << 15) & 0xefc60000;
        y &= 0xffffffff;
        out[i] = y ^ (y >> 18);
    }
}
