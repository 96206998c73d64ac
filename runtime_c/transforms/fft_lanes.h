/* numpy.fft.fft of many transforms of one length, side by side in the lanes of vector registers: a
   pair of vectors (real parts, imaginary parts) for each element.

   Method: Stockham's self-sorting algorithm in passes of radix 2, 3, 4, 5, 8 and any small prime,
   as described by P. N. Swarztrauber, "FFT algorithms for vector computers" (Parallel Computing
   1(1), 1984): no bit reversal, and every access is a whole vector. Transforms along the contiguous
   axis are transposed in registers as they are loaded and stored. */

/* The largest prime radix. */
enum { FFT_LARGEST_RADIX = 101 };

enum { FFT_HALF_F = LANES_F / 2 };

typedef struct { lanes_F re, im; } fft_pair_F;

typedef int32_t fft_places_f32 __attribute__((vector_size(LANES_BYTES)));

typedef int64_t fft_places_f64 __attribute__((vector_size(LANES_BYTES)));

/* A shuffle: lane i is lane first + i % 2 * odd + i / 2 * two of the concatenation of a and b. The
   loops compile to constants, or to one instruction. */
static inline lanes_F fft_shuffle_F(lanes_F a, lanes_F b, int first, int odd,
                                         int two)
{
#if defined(__clang__)
    lanes_F result = a;
    for (int i = 0; i < LANES_F; i++) {
        int k = first + i % 2 * odd + i / 2 * two;
        result[i] = k < LANES_F ? a[k] : b[k - LANES_F];
    }
    return result;
#else
    fft_places_F places = {0};
    #pragma GCC unroll 16
    for (int i = 0; i < LANES_F; i++) {
        places[i] = first + i % 2 * odd + i / 2 * two;
    }
    return __builtin_shuffle(a, b, places);
#endif
}

/* Interleaves the first halves: a0 b0 a1 b1 ... */
static inline lanes_F fft_low_F(lanes_F a, lanes_F b)
{
    return fft_shuffle_F(a, b, 0, LANES_F, 1);
}

/* Interleaves the second halves: a0 b0 a1 b1 ... */
static inline lanes_F fft_high_F(lanes_F a, lanes_F b)
{
    return fft_shuffle_F(a, b, FFT_HALF_F, LANES_F, 1);
}

/* The even lanes: a0 a2 ... b0 b2 ... */
static inline lanes_F fft_even_F(lanes_F a, lanes_F b)
{
    return fft_shuffle_F(a, b, 0, 2, 4);
}

/* The odd lanes: a1 a3 ... b1 b3 ... */
static inline lanes_F fft_odd_F(lanes_F a, lanes_F b)
{
    return fft_shuffle_F(a, b, 1, 2, 4);
}

/* Transposes a square block in registers: lane j of vector i becomes lane i of vector j. */
static inline void fft_transpose_F(lanes_F *rows)
{
    #pragma GCC unroll 4
    for (int done = 1; done < LANES_F; done *= 2) {
        lanes_F next[LANES_F];
        #pragma GCC unroll 8
        for (int i = 0; i < FFT_HALF_F; i++) {
            next[2 * i] = fft_low_F(rows[i], rows[i + FFT_HALF_F]);
            next[2 * i + 1] = fft_high_F(rows[i], rows[i + FFT_HALF_F]);
        }
        #pragma GCC unroll 16
        for (int i = 0; i < LANES_F; i++) {
            rows[i] = next[i];
        }
    }
}

static inline fft_pair_F fft_add_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re + b.re, a.im + b.im};
}

static inline fft_pair_F fft_subtract_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re - b.re, a.im - b.im};
}

/* a - i b */
static inline fft_pair_F fft_subtract_i_times_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re + b.im, a.im - b.re};
}

/* a + i b */
static inline fft_pair_F fft_add_i_times_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re - b.im, a.im + b.re};
}

/* a + x b */
static inline fft_pair_F fft_add_scaled_F(fft_pair_F a, F x, fft_pair_F b)
{
    lanes_F factor = lanes_of_F(x);
    return (fft_pair_F){multiply_add_lanes_F(factor, b.re, a.re),
                        multiply_add_lanes_F(factor, b.im, a.im)};
}

/* a times the complex number at w. */
static inline fft_pair_F fft_times_F(fft_pair_F a, const F *w)
{
    lanes_F real = lanes_of_F(w[0]);
    return (fft_pair_F){multiply_add_lanes_F(real, a.re, -(w[1] * a.im)),
                        multiply_add_lanes_F(real, a.im, w[1] * a.re)};
}

/* a times w in each lane. */
static inline fft_pair_F fft_times_all_F(fft_pair_F a, fft_pair_F w)
{
    return (fft_pair_F){multiply_add_lanes_F(w.re, a.re, -(w.im * a.im)),
                        multiply_add_lanes_F(w.re, a.im, w.im * a.re)};
}

/* A Stockham pass of radix r: for p < m and q < s, the transform of x[(k m + p) s + q], k < r,
   times the twiddle factors exp(-2 pi i p k / (r m)) for k > 0, goes to y[(p r + k) s + q]. The
   factors of p begin at w + 2 (r - 1) p; those of p = 0 are 1. */
__attribute__((noinline))
static void fft_pass2_F(int64_t m, int64_t s, const F *w, const fft_pair_F *x, fft_pair_F *y)
{
    for (int64_t p = 0; p < m; p++, w += 2) {
        for (int64_t q = 0; q < s; q++) {
            fft_pair_F a = x[p * s + q], b = x[(m + p) * s + q];
            fft_pair_F *out = y + 2 * p * s + q;
            out[0] = fft_add_F(a, b);
            b = fft_subtract_F(a, b);
            out[s] = p == 0 ? b : fft_times_F(b, w);
        }
    }
}

__attribute__((noinline))
static void fft_pass3_F(int64_t m, int64_t s, const F *w, const fft_pair_F *x, fft_pair_F *y)
{
    const F sine = (F)0.86602540378443864676;
    for (int64_t p = 0; p < m; p++, w += 4) {
        for (int64_t q = 0; q < s; q++) {
            fft_pair_F a = x[p * s + q], b = x[(m + p) * s + q], c = x[(2 * m + p) * s + q];
            fft_pair_F *out = y + 3 * p * s + q;
            fft_pair_F sum = fft_add_F(b, c), difference = fft_subtract_F(b, c);
            difference = (fft_pair_F){sine * difference.re, sine * difference.im};
            out[0] = fft_add_F(a, sum);
            a = fft_add_scaled_F(a, (F)-0.5, sum);
            b = fft_subtract_i_times_F(a, difference);
            c = fft_add_i_times_F(a, difference);
            out[s] = p == 0 ? b : fft_times_F(b, w);
            out[2 * s] = p == 0 ? c : fft_times_F(c, w + 2);
        }
    }
}

__attribute__((noinline))
static void fft_pass4_F(int64_t m, int64_t s, const F *w, const fft_pair_F *x, fft_pair_F *y)
{
    for (int64_t p = 0; p < m; p++, w += 6) {
        for (int64_t q = 0; q < s; q++) {
            const fft_pair_F *in = x + p * s + q;
            fft_pair_F *out = y + 4 * p * s + q;
            fft_pair_F a = fft_add_F(in[0], in[2 * m * s]);
            fft_pair_F b = fft_subtract_F(in[0], in[2 * m * s]);
            fft_pair_F c = fft_add_F(in[m * s], in[3 * m * s]);
            fft_pair_F d = fft_subtract_F(in[m * s], in[3 * m * s]);
            fft_pair_F e = fft_subtract_i_times_F(b, d), f = fft_subtract_F(a, c);
            fft_pair_F g = fft_add_i_times_F(b, d);
            out[0] = fft_add_F(a, c);
            out[s] = p == 0 ? e : fft_times_F(e, w);
            out[2 * s] = p == 0 ? f : fft_times_F(f, w + 2);
            out[3 * s] = p == 0 ? g : fft_times_F(g, w + 4);
        }
    }
}

__attribute__((noinline))
static void fft_pass5_F(int64_t m, int64_t s, const F *w, const fft_pair_F *x, fft_pair_F *y)
{
    const F cos1 = (F)0.30901699437494742410, cos2 = (F)-0.80901699437494742410;
    const F sin1 = (F)0.95105651629515357212, sin2 = (F)0.58778525229247312917;
    for (int64_t p = 0; p < m; p++, w += 8) {
        for (int64_t q = 0; q < s; q++) {
            const fft_pair_F *in = x + p * s + q;
            fft_pair_F *out = y + 5 * p * s + q, zero = {{0}, {0}};
            fft_pair_F a = in[0], b = fft_add_F(in[m * s], in[4 * m * s]);
            fft_pair_F c = fft_add_F(in[2 * m * s], in[3 * m * s]);
            fft_pair_F d = fft_subtract_F(in[m * s], in[4 * m * s]);
            fft_pair_F e = fft_subtract_F(in[2 * m * s], in[3 * m * s]);
            fft_pair_F even1 = fft_add_scaled_F(fft_add_scaled_F(a, cos1, b), cos2, c);
            fft_pair_F even2 = fft_add_scaled_F(fft_add_scaled_F(a, cos2, b), cos1, c);
            fft_pair_F odd1 = fft_add_scaled_F(fft_add_scaled_F(zero, sin1, d), sin2, e);
            fft_pair_F odd2 = fft_add_scaled_F(fft_add_scaled_F(zero, sin2, d), -sin1, e);
            fft_pair_F f = fft_subtract_i_times_F(even1, odd1);
            fft_pair_F g = fft_subtract_i_times_F(even2, odd2);
            fft_pair_F h = fft_add_i_times_F(even2, odd2);
            fft_pair_F i = fft_add_i_times_F(even1, odd1);
            out[0] = fft_add_F(a, fft_add_F(b, c));
            out[s] = p == 0 ? f : fft_times_F(f, w);
            out[2 * s] = p == 0 ? g : fft_times_F(g, w + 2);
            out[3 * s] = p == 0 ? h : fft_times_F(h, w + 4);
            out[4 * s] = p == 0 ? i : fft_times_F(i, w + 6);
        }
    }
}

__attribute__((noinline))
static void fft_pass8_F(int64_t m, int64_t s, const F *w, const fft_pair_F *x, fft_pair_F *y)
{
    const F half = (F)0.70710678118654752440;
    int64_t t = m * s;
    for (int64_t p = 0; p < m; p++, w += 14) {
        for (int64_t q = 0; q < s; q++) {
            const fft_pair_F *in = x + p * s + q;
            fft_pair_F *out = y + 8 * p * s + q, b[8];
            fft_pair_F a0 = fft_add_F(in[0], in[4 * t]), a4 = fft_subtract_F(in[0], in[4 * t]);
            fft_pair_F a1 = fft_add_F(in[t], in[5 * t]), a5 = fft_subtract_F(in[t], in[5 * t]);
            fft_pair_F a2 = fft_add_F(in[2 * t], in[6 * t]);
            fft_pair_F a6 = fft_subtract_F(in[2 * t], in[6 * t]);
            fft_pair_F a3 = fft_add_F(in[3 * t], in[7 * t]);
            fft_pair_F a7 = fft_subtract_F(in[3 * t], in[7 * t]);
            fft_pair_F c0 = fft_add_F(a0, a2), c2 = fft_subtract_F(a0, a2);
            fft_pair_F c1 = fft_add_F(a1, a3), c3 = fft_subtract_F(a1, a3);
            fft_pair_F d0 = fft_subtract_i_times_F(a4, a6), d2 = fft_add_i_times_F(a4, a6);
            fft_pair_F d1 = fft_subtract_i_times_F(a5, a7), d3 = fft_add_i_times_F(a5, a7);
            /* d1 times (1 - i) / sqrt(2), d3 times (-1 - i) / sqrt(2) */
            d1 = (fft_pair_F){half * (d1.re + d1.im), half * (d1.im - d1.re)};
            d3 = (fft_pair_F){half * (d3.im - d3.re), -(half * (d3.re + d3.im))};
            b[0] = fft_add_F(c0, c1);
            b[4] = fft_subtract_F(c0, c1);
            b[2] = fft_subtract_i_times_F(c2, c3);
            b[6] = fft_add_i_times_F(c2, c3);
            b[1] = fft_add_F(d0, d1);
            b[5] = fft_subtract_F(d0, d1);
            b[3] = fft_add_F(d2, d3);
            b[7] = fft_subtract_F(d2, d3);
            out[0] = b[0];
            #pragma GCC unroll 8
            for (int k = 1; k < 8; k++) {
                out[k * s] = p == 0 ? b[k] : fft_times_F(b[k], w + 2 * k - 2);
            }
        }
    }
}

/* The pass of any odd radix r; the cosines and sines of 2 pi k / r, k < r, precede the factors. */
__attribute__((noinline))
static void fft_pass_F(int64_t r, int64_t m, int64_t s, const F *w, const fft_pair_F *x,
                       fft_pair_F *y)
{
    const F *roots = w;
    int64_t half = r / 2;
    fft_pair_F sum[FFT_LARGEST_RADIX / 2 + 1], difference[FFT_LARGEST_RADIX / 2 + 1];
    w += 2 * r;
    for (int64_t p = 0; p < m; p++, w += 2 * (r - 1)) {
        for (int64_t q = 0; q < s; q++) {
            const fft_pair_F *in = x + p * s + q;
            fft_pair_F *out = y + r * p * s + q, total = in[0];
            for (int64_t j = 1; j <= half; j++) {
                sum[j] = fft_add_F(in[j * m * s], in[(r - j) * m * s]);
                difference[j] = fft_subtract_F(in[j * m * s], in[(r - j) * m * s]);
                total = fft_add_F(total, sum[j]);
            }
            out[0] = total;
            for (int64_t k = 1; k <= half; k++) {
                fft_pair_F even = in[0], odd = {{0}, {0}};
                for (int64_t j = 1, at = k; j <= half; j++) {
                    even = fft_add_scaled_F(even, roots[2 * at], sum[j]);
                    odd = fft_add_scaled_F(odd, roots[2 * at + 1], difference[j]);
                    at += k;
                    at -= at >= r ? r : 0;
                }
                fft_pair_F a = fft_subtract_i_times_F(even, odd), b = fft_add_i_times_F(even, odd);
                out[k * s] = p == 0 ? a : fft_times_F(a, w + 2 * k - 2);
                out[(r - k) * s] = p == 0 ? b : fft_times_F(b, w + 2 * (r - k) - 2);
            }
        }
    }
}

/* The transforms of length n in the lanes of x; the result is in x or in y, whichever is returned.
   Both hold n pairs. `radices` ends with 0. */
__attribute__((noinline))
static fft_pair_F *fft_lanes_F(int64_t n, const int64_t *radices, const F *w, fft_pair_F *x,
                               fft_pair_F *y)
{
    for (int64_t s = 1; *radices != 0; radices++) {
        int64_t r = *radices, m = n / (s * r);
        switch (r) {
        case 2:
            fft_pass2_F(m, s, w, x, y);
            break;
        case 3:
            fft_pass3_F(m, s, w, x, y);
            break;
        case 4:
            fft_pass4_F(m, s, w, x, y);
            break;
        case 5:
            fft_pass5_F(m, s, w, x, y);
            break;
        case 8:
            fft_pass8_F(m, s, w, x, y);
            break;
        default:
            fft_pass_F(r, m, s, w, x, y);
            w += 2 * r;
        }
        w += 2 * (r - 1) * m;
        s *= r;
        fft_pair_F *result = y;
        y = x;
        x = result;
    }
    return x;
}

/* True if the lanes are adjacent complex numbers. */
static inline bool fft_adjacent_F(const F *re, const F *im, const int64_t *lane, int64_t count)
{
    bool adjacent = im == re + 1 || re == im + 1;
    for (int64_t l = 0; l < count; l++) {
        adjacent = adjacent && lane[l] == 2 * l;
    }
    return adjacent;
}

/* Loads transforms along the contiguous axis in square blocks; returns the number of elements
   loaded of each. */
__attribute__((noinline))
static int64_t fft_load_along_F(int64_t n, const F *x, bool exchanged, const int64_t *lane,
                                fft_pair_F *to)
{
    int64_t j = 0;
    for (; j + LANES_F <= n; j += LANES_F) {
        lanes_F re[LANES_F], im[LANES_F];
        #pragma GCC unroll 16
        for (int l = 0; l < LANES_F; l++) {
            const lanes_F *in = (const lanes_F *)(x + lane[l] + 2 * j);
            re[l] = fft_even_F(in[0], in[1]);
            im[l] = fft_odd_F(in[0], in[1]);
        }
        fft_transpose_F(re);
        fft_transpose_F(im);
        #pragma GCC unroll 16
        for (int l = 0; l < LANES_F; l++) {
            to[j + l] = exchanged ? (fft_pair_F){im[l], re[l]} : (fft_pair_F){re[l], im[l]};
        }
    }
    return j;
}

/* Loads n elements of each lane: element j of lane l is at j * step + lane[l]. NULL stands for
   zeros. */
__attribute__((noinline))
static void fft_load_F(int64_t n, const F *re, const F *im, int64_t step, const int64_t *lane,
                       fft_pair_F *to)
{
    int64_t j = 0;
    if (re != NULL && im != NULL && fft_adjacent_F(re, im, lane, LANES_F)) {
        for (; j < n; j++) {
            const lanes_F *in = (const lanes_F *)((im == re + 1 ? re : im) + j * step);
            lanes_F even = fft_even_F(in[0], in[1]), odd = fft_odd_F(in[0], in[1]);
            to[j] = im == re + 1 ? (fft_pair_F){even, odd} : (fft_pair_F){odd, even};
        }
        return;
    }
    if (step == 2 && re != NULL && (im == re + 1 || re == im + 1)) {
        j = fft_load_along_F(n, im == re + 1 ? re : im, re == im + 1, lane, to);
    }
    for (; j < n; j++) {
        fft_pair_F value = {{0}, {0}};
        for (int l = 0; l < LANES_F; l++) {
            value.re[l] = re != NULL ? re[j * step + lane[l]] : 0;
            value.im[l] = im != NULL ? im[j * step + lane[l]] : 0;
        }
        to[j] = value;
    }
}

/* The inverse of fft_load_along, scaled. */
__attribute__((noinline))
static int64_t fft_store_along_F(int64_t n, const fft_pair_F *from, F scale, F *x, bool exchanged,
                                 const int64_t *lane)
{
    int64_t j = 0;
    for (; j + LANES_F <= n; j += LANES_F) {
        lanes_F re[LANES_F], im[LANES_F];
        #pragma GCC unroll 16
        for (int l = 0; l < LANES_F; l++) {
            re[l] = scale * (exchanged ? from[j + l].im : from[j + l].re);
            im[l] = scale * (exchanged ? from[j + l].re : from[j + l].im);
        }
        fft_transpose_F(re);
        fft_transpose_F(im);
        #pragma GCC unroll 16
        for (int l = 0; l < LANES_F; l++) {
            lanes_F *out = (lanes_F *)(x + lane[l] + 2 * j);
            out[0] = fft_low_F(re[l], im[l]);
            out[1] = fft_high_F(re[l], im[l]);
        }
    }
    return j;
}

/* The inverse of fft_load, scaled, for the first `count` lanes; NULL drops that part. */
__attribute__((noinline))
static void fft_store_F(int64_t n, const fft_pair_F *from, F scale, F *re, F *im, int64_t step,
                        const int64_t *lane, int64_t count)
{
    int64_t j = 0;
    if (re != NULL && im != NULL && fft_adjacent_F(re, im, lane, count)) {
        for (; j < n; j++) {
            lanes_F even = scale * (im == re + 1 ? from[j].re : from[j].im);
            lanes_F odd = scale * (im == re + 1 ? from[j].im : from[j].re);
            lanes_F both[2] = {fft_low_F(even, odd), fft_high_F(even, odd)};
            F *out = (im == re + 1 ? re : im) + j * step;
            if (count == LANES_F) {
                ((lanes_F *)out)[0] = both[0];
                ((lanes_F *)out)[1] = both[1];
            } else {
                memcpy(out, both, (size_t)count * 2 * sizeof(F));
            }
        }
        return;
    }
    if (step == 2 && count == LANES_F && re != NULL && (im == re + 1 || re == im + 1)) {
        j = fft_store_along_F(n, from, scale, im == re + 1 ? re : im, re == im + 1, lane);
    }
    for (; j < n; j++) {
        for (int64_t l = 0; l < count; l++) {
            if (re != NULL) {
                re[j * step + lane[l]] = scale * from[j].re[l];
            }
            if (im != NULL) {
                im[j * step + lane[l]] = scale * from[j].im[l];
            }
        }
    }
}
