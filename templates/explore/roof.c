/* How fast this machine moves memory and multiplies: what no kernel can exceed. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

double seconds_of_triad(const double *a, const double *b, double *c, ptrdiff_t n, int threads);
double seconds_of_products(long rounds, int threads, int is_single, double *kept);

static int64_t clock_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return INT64_C(1000000000) * (int64_t)now.tv_sec + (int64_t)now.tv_nsec;
}

/* Three arrays of n elements: two are read, one is written. */
double seconds_of_triad(const double *a, const double *b, double *c, ptrdiff_t n, int threads)
{
    const int64_t begin = clock_now();
    #pragma omp parallel for simd num_threads(threads)
    for (ptrdiff_t i = 0; i < n; i++)
        c[i] = a[i] + 0.5 * b[i];
    return 1e-9 * (double)(clock_now() - begin);
}

/* Each thread multiplies and adds in ten chains of vectors: 2 * 10 * (512 bits) a round. */
#define CHAINS(type)                                                                             \
    {                                                                                            \
        typedef type lanes __attribute__((vector_size(64)));                                     \
        const lanes m = (lanes){0} + (type)0.999, s = (lanes){0} + (type)0.001;                  \
        lanes a = s, b = s + s, c = a + b, d = b + b, e = c + b, f = d + b, g = e + b, h = f + b, \
              i = g + b, j = h + b;                                                              \
        for (long k = 0; k < rounds; k++) {                                                      \
            a = a * m + s, b = b * m + s, c = c * m + s, d = d * m + s, e = e * m + s;           \
            f = f * m + s, g = g * m + s, h = h * m + s, i = i * m + s, j = j * m + s;           \
        }                                                                                        \
        const lanes sum = a + b + c + d + e + f + g + h + i + j;                                 \
        total += (double)sum[0];                                                                 \
    }

double seconds_of_products(long rounds, int threads, int is_single, double *kept)
{
    double total = 0.0;
    const int64_t begin = clock_now();
    #pragma omp parallel num_threads(threads) reduction(+:total)
    if (is_single)
        CHAINS(float)
    else
        CHAINS(double)
    const double seconds = 1e-9 * (double)(clock_now() - begin);
    *kept = total;
    return seconds;
}
