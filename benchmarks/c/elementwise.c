/* Functions of one element at a time, and of a row or a column. */

#include "common.h"

void elementwise(int64_t n, const float *restrict x, const float *restrict y, float *restrict out)
{
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++)
        out[i] = expf(-x[i] * x[i]) * sinf(y[i]) + 0.5f * x[i];
}

/* The same of few elements, on one thread. */
void small_expression(int64_t n, const float *restrict x, const float *restrict y,
                      float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = expf(-x[i] * x[i]) * sinf(y[i]) + 0.5f * x[i];
}

void small_call(int64_t n, const double *restrict x, double *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * 2 + 1;
}

void tiny_chain(int64_t n, const float *restrict x, float *restrict out)
{
    memcpy(out, x, sizeof(float) * (size_t)n);
    for (int k = 0; k < 50; k++) {
        const float factor = 1 + (float)k / 200;
        #pragma omp simd
        for (int64_t i = 0; i < n; i++)
            out[i] = fabsf(sinf(out[i]) * factor - 0.5f);
    }
}

void ten_arguments(int64_t n, const double *restrict a, const double *restrict b,
                   const double *restrict c, const double *restrict d, const double *restrict e,
                   const double *restrict f, const double *restrict g, const double *restrict h,
                   const double *restrict i, const double *restrict j, double *restrict out)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = a[k] + b[k] + c[k] + d[k] + e[k] + f[k] + g[k] + h[k] + i[k] + j[k];
}

/* The upper tail of the normal distribution beyond |x|: Abramowitz and Stegun 26.2.17. */
static inline double upper_tail(double x)
{
    const double t = 1 / (1 + 0.2316419 * fabs(x));
    double p = 1.330274429;
    p = p * t - 1.821255978;
    p = p * t + 1.781477937;
    p = p * t - 0.356563782;
    p = p * t + 0.319381530;
    return exp(-x * x / 2) * 0.3989422804014327 * t * p;
}

void black_scholes(int64_t n, const double *restrict spot, const double *restrict strike,
                   const double *restrict years, double *restrict call, double *restrict put)
{
    const double rate = 0.03, volatility = 0.25;
    #pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        const double spread = volatility * sqrt(years[i]);
        const double drift = (rate + volatility * volatility / 2) * years[i];
        const double d1 = (log(spot[i] / strike[i]) + drift) / spread, d2 = d1 - spread;
        const double tail1 = upper_tail(d1), tail2 = upper_tail(d2);
        const double discounted = strike[i] * exp(-rate * years[i]);
        const double price = spot[i] * (d1 < 0 ? tail1 : 1 - tail1)
                             - discounted * (d2 < 0 ? tail2 : 1 - tail2);
        call[i] = price;
        put[i] = price - spot[i] + discounted;
    }
}

static inline float largest_of(int64_t n, const float *restrict x)
{
    float largest = -INFINITY;
    #pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < n; j++)
        largest = x[j] > largest ? x[j] : largest;
    return largest;
}

void softmax(int64_t rows, int64_t columns, const float *restrict x, float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float *to = out + i * columns;
        const float largest = largest_of(columns, from);
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++) {
            to[j] = expf(from[j] - largest);
            sum += to[j];
        }
        const float factor = 1 / sum;
        #pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            to[j] *= factor;
    }
}

void logsumexp(int64_t rows, int64_t columns, const float *restrict x, float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        const float largest = largest_of(columns, from);
        float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++)
            sum += expf(from[j] - largest);
        out[i] = logf(sum) + largest;
    }
}

void layer_norm(int64_t rows, int64_t columns, const float *restrict x,
                const float *restrict scale, const float *restrict shift, float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float *to = out + i * columns, sum = 0, squares = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < columns; j++)
            sum += from[j];
        const float mean = sum / (float)columns;
        #pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < columns; j++)
            squares += (from[j] - mean) * (from[j] - mean);
        const float factor = 1 / sqrtf(squares / (float)columns + 1e-5f);
        #pragma omp simd
        for (int64_t j = 0; j < columns; j++)
            to[j] = (from[j] - mean) * factor * scale[j] + shift[j];
    }
}

void row_statistics(int64_t rows, int64_t columns, const float *restrict x, float *restrict mean,
                    float *restrict deviation, float *restrict smallest, float *restrict largest)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        const float *from = x + i * columns;
        float sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        #pragma omp simd reduction(+ : sum) reduction(min : low) reduction(max : high)
        for (int64_t j = 0; j < columns; j++) {
            sum += from[j];
            low = from[j] < low ? from[j] : low;
            high = from[j] > high ? from[j] : high;
        }
        const float centre = sum / (float)columns;
        #pragma omp simd reduction(+ : squares)
        for (int64_t j = 0; j < columns; j++)
            squares += (from[j] - centre) * (from[j] - centre);
        mean[i] = centre;
        deviation[i] = sqrtf(squares / (float)columns);
        smallest[i] = low;
        largest[i] = high;
    }
}

/* Columns by bands that stay in the nearest cache, four rows at a time. Squares are of differences
 * from the first row, so that one pass is enough and little cancels. */
void column_statistics(int64_t rows, int64_t columns, const float *restrict x,
                       float *restrict mean, float *restrict deviation, float *restrict smallest,
                       float *restrict largest)
{
    enum { BAND = 512, STEP = 4 };
    #pragma omp parallel for
    for (int64_t start = 0; start < columns; start += BAND) {
        const int64_t width = least(BAND, columns - start);
        const float *first = x + start;
        float sum[BAND] = {0}, squares[BAND] = {0}, low[BAND], high[BAND];
        memcpy(low, first, sizeof(float) * (size_t)width);
        memcpy(high, first, sizeof(float) * (size_t)width);
        for (int64_t i = 0; i < rows; i += STEP) {
            const float *from = x + i * columns + start;
            const int64_t count = least(STEP, rows - i);
            #pragma omp simd
            for (int64_t j = 0; j < width; j++) {
                float s = sum[j], q = squares[j], l = low[j], h = high[j];
                for (int64_t k = 0; k < STEP; k++) {
                    const float value = from[(k < count ? k : 0) * columns + j];
                    const float difference = k < count ? value - first[j] : 0;
                    s += k < count ? value : 0;
                    q += difference * difference;
                    l = value < l ? value : l;
                    h = value > h ? value : h;
                }
                sum[j] = s, squares[j] = q, low[j] = l, high[j] = h;
            }
        }
        for (int64_t j = 0; j < width; j++) {
            const float centre = sum[j] / (float)rows, shift = centre - first[j];
            mean[start + j] = centre;
            deviation[start + j] = sqrtf(squares[j] / (float)rows - shift * shift);
            smallest[start + j] = low[j];
            largest[start + j] = high[j];
        }
    }
}

/* x + y.T of square matrices, by tiles that fit into registers. */
void transposed_add(int64_t n, const float *restrict x, const float *restrict y,
                    float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i += LANES) {
        for (int64_t j = 0; j < n; j += LANES) {
            floats tile[LANES];
            for (int k = 0; k < LANES; k++)
                tile[k] = *(const floats *)(y + (j + k) * n + i);
            transpose_tile(tile);
            for (int k = 0; k < LANES; k++) {
                const int64_t at = (i + k) * n + j;
                *(floats *)(out + at) = *(const floats *)(x + at) + tile[k];
            }
        }
    }
}

void stencil_step(int64_t n, const float *restrict u, float *restrict out)
{
    #pragma omp parallel for
    for (int64_t i = 1; i < n - 1; i++) {
        float *to = out + (i - 1) * (n - 2) - 1;
        #pragma omp simd
        for (int64_t j = 1; j < n - 1; j++) {
            const float *at = u + i * n + j;
            to[j] = at[0] + 0.2f * (at[-n] + at[n] + at[-1] + at[1] - 4 * at[0]);
        }
    }
}

void nbody(int64_t n, const float *restrict position, const float *restrict mass,
           float *restrict out)
{
    static struct kept kept;
    float *restrict x = scratch(&kept, sizeof(float) * 3 * (size_t)n), *restrict y = x + n,
          *restrict z = y + n;
    for (int64_t j = 0; j < n; j++)
        x[j] = position[3 * j], y[j] = position[3 * j + 1], z[j] = position[3 * j + 2];
    #pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float sum_x = 0, sum_y = 0, sum_z = 0;
        #pragma omp simd reduction(+ : sum_x, sum_y, sum_z)
        for (int64_t j = 0; j < n; j++) {
            const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            const float distance = dx * dx + dy * dy + dz * dz + 1e-3f;
            const float weight = mass[j] / (distance * sqrtf(distance));
            sum_x += dx * weight;
            sum_y += dy * weight;
            sum_z += dz * weight;
        }
        out[3 * i] = sum_x, out[3 * i + 1] = sum_y, out[3 * i + 2] = sum_z;
    }
}
