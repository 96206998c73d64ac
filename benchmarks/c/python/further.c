/* The kernels of benchmarks/further_kernels.py; as those of arrays.c. */

#include <stdbool.h>

#include "../common.h"

/* Python's rest of a division by a positive number. */
static inline int64_t rest_of(int64_t x, int64_t y)
{
    const int64_t rest = x % y;
    return rest < 0 ? rest + y : rest;
}

void area_table(int64_t n, int64_t m, const int64_t *restrict a, int64_t k,
                int64_t *restrict largest)
{
    static struct kept kept;
    const int64_t w = m + 1;
    int64_t *restrict table = scratch(&kept, sizeof(int64_t) * (size_t)((n + 1) * w));
    memset(table, 0, sizeof(int64_t) * (size_t)((n + 1) * w));
    for (int64_t i = 0; i < n; i++) {
        int64_t line = 0;
        for (int64_t j = 0; j < m; j++) {
            line += a[i * m + j];
            table[(i + 1) * w + j + 1] = table[i * w + j + 1] + line;
        }
    }
    int64_t best = -((int64_t)1 << 60);
    for (int64_t i = k; i <= n; i++)
        for (int64_t j = k; j <= m; j++) {
            const int64_t s = table[i * w + j] - table[(i - k) * w + j] - table[i * w + j - k] +
                              table[(i - k) * w + j - k];
            if (s > best)
                best = s;
        }
    *largest = best;
}

void three_sum(int64_t n, const int64_t *restrict a, int64_t target, int64_t *restrict triples)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n - 2; i++) {
        int64_t low = i + 1, high = n - 1;
        while (low < high) {
            const int64_t s = a[i] + a[low] + a[high];
            if (s < target) {
                low++;
            } else if (s > target) {
                high--;
            } else {
                count++;
                low++;
                high--;
            }
        }
    }
    *triples = count;
}

void heap_sort(int64_t n, double *restrict a)
{
    int64_t start = n / 2, end = n;
    while (end > 1) {
        double value;
        if (start > 0) {
            value = a[--start];
        } else {
            value = a[--end];
            a[end] = a[0];
        }
        int64_t hole = start, child = 2 * hole + 1;
        while (child < end) {
            if (child + 1 < end && a[child + 1] > a[child])
                child++;
            if (a[child] <= value)
                break;
            a[hole] = a[child];
            hole = child;
            child = 2 * hole + 1;
        }
        a[hole] = value;
    }
}

void breadth_first(int64_t n, const int64_t *restrict starts, const int64_t *restrict neighbours,
                   int64_t source, int64_t *restrict distance)
{
    static struct kept kept;
    int64_t *restrict queue = scratch(&kept, sizeof(int64_t) * (size_t)n);
    for (int64_t i = 0; i < n; i++)
        distance[i] = -1;
    queue[0] = source;
    distance[source] = 0;
    for (int64_t first = 0, last = 1; first < last; first++) {
        const int64_t v = queue[first];
        for (int64_t k = starts[v]; k < starts[v + 1]; k++) {
            const int64_t w = neighbours[k];
            if (distance[w] < 0) {
                distance[w] = distance[v] + 1;
                queue[last++] = w;
            }
        }
    }
}

void least_recently_used(int64_t n, int64_t slots, const int64_t *restrict pages,
                         int64_t *restrict held, int64_t *restrict used, int64_t *restrict hits)
{
    int64_t count = 0;
    for (int64_t t = 0; t < n; t++) {
        int64_t at = -1, oldest = 0;
        for (int64_t k = 0; k < slots; k++) {
            if (held[k] == pages[t]) {
                at = k;
                break;
            }
            if (used[k] < used[oldest])
                oldest = k;
        }
        if (at >= 0) {
            count++;
        } else {
            at = oldest;
            held[at] = pages[t];
        }
        used[at] = t + 1;
    }
    *hits = count;
}

void bit_counts(int64_t n, const int64_t *restrict a, int64_t *restrict counts)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t bits = 0;
        for (int64_t x = a[i]; x != 0; x &= x - 1)
            bits++;
        counts[bits]++;
    }
}

void reflecting_heat(int64_t n, int64_t m, double *restrict u, int64_t steps)
{
    static struct kept kept;
    double *restrict new = scratch(&kept, sizeof(double) * (size_t)(n * m));
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t up = i > 0 ? i - 1 : 1, down = i < n - 1 ? i + 1 : n - 2;
            for (int64_t j = 0; j < m; j++) {
                const int64_t left = j > 0 ? j - 1 : 1, right = j < m - 1 ? j + 1 : m - 2;
                const double s = u[up * m + j] + u[down * m + j] + u[i * m + left] +
                                 u[i * m + right];
                new[i * m + j] = u[i * m + j] + 0.2 * (s - 4 * u[i * m + j]);
            }
        }
        memcpy(u, new, sizeof(double) * (size_t)(n * m));
    }
}

void banded_solve(int64_t n, int64_t columns, double *restrict bands, double *restrict right,
                  int64_t width)
{
    for (int64_t k = 0; k < n - 1; k++)
        for (int64_t i = k + 1; i < least(n, k + width + 1); i++) {
            double *restrict own = bands + i * columns + width - i;
            const double *restrict pivot = bands + k * columns + width - k;
            const double factor = own[k] / pivot[k];
            for (int64_t j = k + 1; j < least(n, k + width + 1); j++)
                own[j] -= factor * pivot[j];
            right[i] -= factor * right[k];
        }
    for (int64_t i = n - 1; i >= 0; i--) {
        double s = right[i];
        for (int64_t j = i + 1; j < least(n, i + width + 1); j++)
            s -= bands[i * columns + width + j - i] * right[j];
        right[i] = s / bands[i * columns + width];
    }
}

void gauss_seidel(int64_t n, const double *restrict a, const double *restrict b,
                  double *restrict x, double tolerance, int64_t *restrict count)
{
    int64_t sweeps = 0;
    while (sweeps < 1000) {
        double largest = 0;
        for (int64_t i = 0; i < n; i++) {
            double s = b[i];
            for (int64_t j = 0; j < n; j++)
                if (j != i)
                    s -= a[i * n + j] * x[j];
            s /= a[i * n + i];
            const double change = fabs(s - x[i]);
            if (change > largest)
                largest = change;
            x[i] = s;
        }
        sweeps++;
        if (largest <= tolerance)
            break;
    }
    *count = sweeps;
}

static inline double rosenbrock(double x, double y)
{
    const double straight = 1 - x, curved = y - x * x;
    return straight * straight + 100 * (curved * curved);
}

void nelder_mead(double x, double y, int64_t limit, double *restrict least_value,
                 int64_t *restrict taken)
{
    double p[3][2], f[3];
    for (int i = 0; i < 3; i++) {
        p[i][0] = x + (i == 1 ? 0.5 : 0);
        p[i][1] = y + (i == 2 ? 0.5 : 0);
        f[i] = rosenbrock(p[i][0], p[i][1]);
    }
    int64_t steps = 0;
    while (steps < limit) {
        steps++;
        int low = 0, high = 0;
        for (int i = 1; i < 3; i++) {
            if (f[i] < f[low])
                low = i;
            if (f[i] >= f[high])
                high = i;
        }
        if (f[high] - f[low] < 1e-14)
            break;
        const int middle = 3 - low - high;
        const double cx = 0.5 * (p[low][0] + p[middle][0]);
        const double cy = 0.5 * (p[low][1] + p[middle][1]);
        double rx = 2 * cx - p[high][0], ry = 2 * cy - p[high][1], fr = rosenbrock(rx, ry);
        if (fr < f[middle] || fr < f[low]) {
            if (fr < f[low]) {
                const double ex = 3 * cx - 2 * p[high][0], ey = 3 * cy - 2 * p[high][1];
                const double fe = rosenbrock(ex, ey);
                if (fe < fr) {
                    rx = ex;
                    ry = ey;
                    fr = fe;
                }
            }
            p[high][0] = rx;
            p[high][1] = ry;
            f[high] = fr;
            continue;
        }
        const double kx = 0.5 * (cx + p[high][0]), ky = 0.5 * (cy + p[high][1]);
        const double fk = rosenbrock(kx, ky);
        if (fk < f[high]) {
            p[high][0] = kx;
            p[high][1] = ky;
            f[high] = fk;
            continue;
        }
        for (int i = 0; i < 3; i++)
            if (i != low) {
                p[i][0] = 0.5 * (p[i][0] + p[low][0]);
                p[i][1] = 0.5 * (p[i][1] + p[low][1]);
                f[i] = rosenbrock(p[i][0], p[i][1]);
            }
    }
    *least_value = fmin(f[0], fmin(f[1], f[2]));
    *taken = steps;
}

void coin_change(int64_t coins, int64_t amounts, const int64_t *restrict values,
                 int64_t *restrict ways)
{
    ways[0] = 1;
    for (int64_t i = 0; i < coins; i++)
        for (int64_t amount = values[i]; amount < amounts; amount++)
            ways[amount] = (ways[amount] + ways[amount - values[i]]) % 1000000007;
}

void string_search(int64_t n, int64_t m, const int64_t *restrict text,
                   const int64_t *restrict word, int64_t *restrict occurrences)
{
    static struct kept kept;
    int64_t *restrict border = scratch(&kept, sizeof(int64_t) * (size_t)m);
    border[0] = 0;
    int64_t k = 0, count = 0;
    for (int64_t i = 1; i < m; i++) {
        while (k > 0 && word[i] != word[k])
            k = border[k - 1];
        if (word[i] == word[k])
            k++;
        border[i] = k;
    }
    k = 0;
    for (int64_t i = 0; i < n; i++) {
        while (k > 0 && text[i] != word[k])
            k = border[k - 1];
        if (text[i] == word[k])
            k++;
        if (k == m) {
            count++;
            k = border[k - 1];
        }
    }
    *occurrences = count;
}

void rolling_hash(int64_t n, int64_t m, const int64_t *restrict text,
                  const int64_t *restrict word, int64_t *restrict occurrences)
{
    int64_t wanted = 0, own = 0, power = 1, count = 0;
    for (int64_t i = 0; i < m; i++) {
        wanted = (wanted * 256 + word[i]) % 1000003;
        own = (own * 256 + text[i]) % 1000003;
        if (i > 0)
            power = power * 256 % 1000003;
    }
    for (int64_t i = 0; i < n - m + 1; i++) {
        if (own == wanted) {
            int64_t j = 0;
            while (j < m && text[i + j] == word[j])
                j++;
            count += j == m;
        }
        if (i < n - m)
            own = rest_of((own - text[i] * power) * 256 + text[i + m], 1000003);
    }
    *occurrences = count;
}

void interpolation_search(int64_t n, int64_t queries, const int64_t *restrict a,
                          const int64_t *restrict keys, int64_t *restrict hits)
{
    int64_t count = 0;
    for (int64_t q = 0; q < queries; q++) {
        const int64_t key = keys[q];
        int64_t low = 0, high = n - 1;
        while (low <= high && a[low] <= key && key <= a[high]) {
            const int64_t middle = a[low] == a[high]
                ? low
                : low + (key - a[low]) * (high - low) / (a[high] - a[low]);
            if (a[middle] == key) {
                count++;
                break;
            }
            if (a[middle] < key)
                low = middle + 1;
            else
                high = middle - 1;
        }
    }
    *hits = count;
}

void lines(int64_t n, int64_t width, const int64_t *restrict x0, const int64_t *restrict y0,
           const int64_t *restrict x1, const int64_t *restrict y1, int64_t *restrict raster)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t x = x0[k], y = y0[k];
        const int64_t dx = llabs(x1[k] - x), dy = -llabs(y1[k] - y);
        const int64_t sx = x < x1[k] ? 1 : -1, sy = y < y1[k] ? 1 : -1;
        int64_t error = dx + dy;
        while (true) {
            raster[y * width + x]++;
            if (x == x1[k] && y == y1[k])
                break;
            const int64_t twice = 2 * error;
            if (twice >= dy) {
                error += dy;
                x += sx;
            }
            if (twice <= dx) {
                error += dx;
                y += sy;
            }
        }
    }
}

void flood_fill(int64_t n, int64_t m, int64_t *restrict picture, int64_t row, int64_t column,
                int64_t colour, int64_t *restrict area)
{
    static struct kept kept;
    int64_t *restrict stack = scratch(&kept, sizeof(int64_t) * (size_t)(4 * n * m + 4));
    const int64_t old = picture[row * m + column];
    int64_t top = 0, filled = 0;
    stack[top++] = row * m + column;
    while (top > 0) {
        const int64_t at = stack[--top], i = at / m, j = at % m;
        if (picture[at] != old)
            continue;
        picture[at] = colour;
        filled++;
        if (i > 0)
            stack[top++] = at - m;
        if (i < n - 1)
            stack[top++] = at + m;
        if (j > 0)
            stack[top++] = at - 1;
        if (j < m - 1)
            stack[top++] = at + 1;
    }
    *area = filled;
}

void collatz(int64_t n, int64_t *restrict number, int64_t *restrict longest)
{
    int64_t best = 0, most = 0;
    for (int64_t i = 1; i < n; i++) {
        int64_t length = 1;
        for (int64_t x = i; x != 1; length++)
            x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        if (length > most) {
            most = length;
            best = i;
        }
    }
    *number = best;
    *longest = most;
}

void pollard_rho(int64_t count, const int64_t *restrict numbers, int64_t *restrict factors)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = numbers[k];
        int64_t slow = 2, fast = 2, d = 1;
        while (d == 1) {
            slow = (slow * slow + 1) % n;
            fast = (fast * fast + 1) % n;
            fast = (fast * fast + 1) % n;
            int64_t x = llabs(slow - fast);
            d = n;
            while (x != 0) {
                const int64_t rest = d % x;
                d = x;
                x = rest;
            }
        }
        factors[k] = d;
    }
}

void largest_part(int64_t n, const double *restrict a, double *restrict sum,
                  int64_t *restrict from, int64_t *restrict to)
{
    double best = a[0], own = a[0];
    int64_t first = 0, last = 0, begin = 0;
    for (int64_t i = 1; i < n; i++) {
        if (own < 0) {
            own = a[i];
            begin = i;
        } else {
            own += a[i];
        }
        if (own > best) {
            best = own;
            first = begin;
            last = i;
        }
    }
    *sum = best;
    *from = first;
    *to = last;
}

void matrix_chain(int64_t n, const int64_t *restrict sizes, int64_t *restrict multiplications)
{
    static struct kept kept;
    int64_t *restrict cost = scratch(&kept, sizeof(int64_t) * (size_t)(n * n));
    memset(cost, 0, sizeof(int64_t) * (size_t)(n * n));
    for (int64_t length = 1; length < n; length++)
        for (int64_t i = 0; i < n - length; i++) {
            const int64_t j = i + length;
            int64_t best = (int64_t)1 << 60;
            for (int64_t k = i; k < j; k++) {
                const int64_t c = cost[i * n + k] + cost[(k + 1) * n + j] +
                                  sizes[i] * sizes[k + 1] * sizes[j + 1];
                if (c < best)
                    best = c;
            }
            cost[i * n + j] = best;
        }
    *multiplications = cost[n - 1];
}

void next_permutations(int64_t n, int64_t *restrict a, int64_t count, int64_t *restrict total)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = n - 2, j = n - 1;
        while (i >= 0 && a[i] >= a[i + 1])
            i--;
        if (i < 0)
            break;
        while (a[j] <= a[i])
            j--;
        int64_t other = a[i];
        a[i] = a[j];
        a[j] = other;
        for (int64_t low = i + 1, high = n - 1; low < high; low++, high--) {
            other = a[low];
            a[low] = a[high];
            a[high] = other;
        }
        sum += a[n - 1];
    }
    *total = sum;
}

void radix_sort(int64_t n, int64_t *restrict a, int64_t *restrict out)
{
    for (int64_t shift = 0; shift < 32; shift += 8) {
        int64_t first[257] = {0};
        for (int64_t i = 0; i < n; i++)
            first[((a[i] >> shift) & 255) + 1]++;
        for (int64_t digit = 0; digit < 256; digit++)
            first[digit + 1] += first[digit];
        for (int64_t i = 0; i < n; i++)
            out[first[(a[i] >> shift) & 255]++] = a[i];
        memcpy(a, out, 8 * (size_t)n);
    }
}
