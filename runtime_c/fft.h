/* numpy.fft.fft and its kin: X[k] = sum over j of x[j] exp(-2 pi i j k / n), of any length n.

   Everything is a transform in lanes: FFT_LANES transforms of one length side by side in vector
   registers, a pair of vectors (real parts, imaginary parts) for each element. Its method is the
   self-sorting one of T. G. Stockham in passes of radix 2, 3, 4, 5, 8 and any small prime, as
   described by P. N. Swarztrauber, "FFT algorithms for vector computers" (Parallel Computing 1(1),
   1984): no permutation, and every access is a whole vector.
   What fills the lanes is
     - many transforms of one length (FFT_TOGETHER); or, for a single one of length n = rows x
       columns, its own parts (FFT_SPLIT): transforms along the columns, a factor
       exp(-2 pi i j k / n) each, a transposition, transforms along the rows (D. H. Bailey, "FFTs in
       external or hierarchical memory", Journal of Supercomputing 4(1), 1990). All of a large
       transform then happens in the cache but for two walks through memory.
     - lengths with a large prime factor become the convolution with a chirp exp(pi i k^2 / n)
       (L. Bluestein, IEEE Transactions on Audio and Electroacoustics 18(4), 1970), of a length that
       splits well (FFT_CHIRP).
   2n real numbers are transformed as n complex ones. An inverse transform is a forward one with
   real and imaginary parts exchanged.

   `plan` holds whole numbers and `table` the factors, made by transpile/fourier.py to the last bit;
   the names below say where in `plan` things are, and where in `table` it says that parts begin.
   Error: at most 0.6 eps sqrt(log2 n) in the 2-norm, measured for each n up to 300 and many larger
   ones against transforms in extended precision. */

/* Places in a plan. FFT_LENGTH is that of the real transform, FFT_CORE that of the complex one. */
enum {
    FFT_KIND, FFT_METHOD, FFT_LENGTH, FFT_CORE, FFT_ROWS, FFT_COLUMNS, FFT_BLOCK, FFT_INSIDE,
    FFT_SLOTS, FFT_ROW_RADICES, FFT_COLUMN_RADICES, FFT_ROW_TABLE, FFT_COLUMN_TABLE, FFT_FINE,
    FFT_COARSE, FFT_REAL_TABLE, FFT_CHIRP_TABLE, FFT_SPECTRUM
};

enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_HERMITIAN };

enum { FFT_TOGETHER, FFT_SPLIT, FFT_CHIRP };

#if defined(__AVX512F__)
enum { FFT_BYTES = 64 };
#elif defined(__AVX__)
enum { FFT_BYTES = 32 };
#else
enum { FFT_BYTES = 16 };
#endif

/* The largest prime radix; fewer elements than FFT_SHARED are not shared among threads. */
enum { FFT_LARGEST_RADIX = 101, FFT_SHARED = 32768 };

enum { FFT_LANES_F = FFT_BYTES / sizeof(F), FFT_HALF_F = FFT_LANES_F / 2 };

typedef F fft_vector_F __attribute__((vector_size(FFT_BYTES), aligned(sizeof(F)), may_alias));

typedef struct { fft_vector_F re, im; } fft_pair_F;

#if defined(_OPENMP)
extern int omp_get_max_threads(void);
static inline int64_t fft_threads(void)
{
    return omp_get_max_threads();
}
#else
static inline int64_t fft_threads(void)
{
    return 1;
}
#endif

typedef int32_t fft_places_f32 __attribute__((vector_size(FFT_BYTES)));

typedef int64_t fft_places_f64 __attribute__((vector_size(FFT_BYTES)));

static inline int64_t fft_smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t fft_larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* Lane i is lane first + i % 2 * odd + i / 2 * two of a and b, one after the other. Compilers turn
   the loops into constants, or into one instruction. */
static inline fft_vector_F fft_shuffle_F(fft_vector_F a, fft_vector_F b, int first, int odd,
                                         int two)
{
#if defined(__clang__)
    fft_vector_F result = a;
    for (int i = 0; i < FFT_LANES_F; i++) {
        int k = first + i % 2 * odd + i / 2 * two;
        result[i] = k < FFT_LANES_F ? a[k] : b[k - FFT_LANES_F];
    }
    return result;
#else
    fft_places_F places = {0};
    #pragma GCC unroll 16
    for (int i = 0; i < FFT_LANES_F; i++) {
        places[i] = first + i % 2 * odd + i / 2 * two;
    }
    return __builtin_shuffle(a, b, places);
#endif
}

/* a0 b0 a1 b1 ... of the first halves. */
static inline fft_vector_F fft_low_F(fft_vector_F a, fft_vector_F b)
{
    return fft_shuffle_F(a, b, 0, FFT_LANES_F, 1);
}

/* a0 b0 a1 b1 ... of the second halves. */
static inline fft_vector_F fft_high_F(fft_vector_F a, fft_vector_F b)
{
    return fft_shuffle_F(a, b, FFT_HALF_F, FFT_LANES_F, 1);
}

/* a0 a2 ... b0 b2 ... */
static inline fft_vector_F fft_even_F(fft_vector_F a, fft_vector_F b)
{
    return fft_shuffle_F(a, b, 0, 2, 4);
}

/* a1 a3 ... b1 b3 ... */
static inline fft_vector_F fft_odd_F(fft_vector_F a, fft_vector_F b)
{
    return fft_shuffle_F(a, b, 1, 2, 4);
}

/* As many vectors as lanes: lane j of vector i becomes lane i of vector j. */
static inline void fft_transpose_F(fft_vector_F *rows)
{
    #pragma GCC unroll 4
    for (int done = 1; done < FFT_LANES_F; done *= 2) {
        fft_vector_F next[FFT_LANES_F];
        #pragma GCC unroll 8
        for (int i = 0; i < FFT_HALF_F; i++) {
            next[2 * i] = fft_low_F(rows[i], rows[i + FFT_HALF_F]);
            next[2 * i + 1] = fft_high_F(rows[i], rows[i + FFT_HALF_F]);
        }
        #pragma GCC unroll 16
        for (int i = 0; i < FFT_LANES_F; i++) {
            rows[i] = next[i];
        }
    }
}

/* x * y + sum. Compilers turn the loop into one vector instruction. */
static inline fft_vector_F fft_multiply_add_F(F x, fft_vector_F y, fft_vector_F sum)
{
    for (int lane = 0; lane < FFT_LANES_F; lane++) {
        sum[lane] = multiply_add_F(x, y[lane], sum[lane]);
    }
    return sum;
}

/* x * y + sum, lane by lane. */
static inline fft_vector_F fft_multiply_all_F(fft_vector_F x, fft_vector_F y, fft_vector_F sum)
{
    for (int lane = 0; lane < FFT_LANES_F; lane++) {
        sum[lane] = multiply_add_F(x[lane], y[lane], sum[lane]);
    }
    return sum;
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
static inline fft_pair_F fft_add_turned_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re + b.im, a.im - b.re};
}

/* a + i b */
static inline fft_pair_F fft_subtract_turned_F(fft_pair_F a, fft_pair_F b)
{
    return (fft_pair_F){a.re - b.im, a.im + b.re};
}

/* a + x b */
static inline fft_pair_F fft_add_scaled_F(fft_pair_F a, F x, fft_pair_F b)
{
    return (fft_pair_F){fft_multiply_add_F(x, b.re, a.re), fft_multiply_add_F(x, b.im, a.im)};
}

/* a times the complex number at w. */
static inline fft_pair_F fft_times_F(fft_pair_F a, const F *w)
{
    return (fft_pair_F){fft_multiply_add_F(w[0], a.re, -(w[1] * a.im)),
                        fft_multiply_add_F(w[0], a.im, w[1] * a.re)};
}

/* a times w, lane by lane. */
static inline fft_pair_F fft_times_all_F(fft_pair_F a, fft_pair_F w)
{
    return (fft_pair_F){fft_multiply_all_F(w.re, a.re, -(w.im * a.im)),
                        fft_multiply_all_F(w.re, a.im, w.im * a.re)};
}

/* The passes: for p < m and q < s, the radix-r transform of x[(k m + p) s + q], k < r, each result
   k > 0 times exp(-2 pi i p k / (r m)), goes to y[(p r + k) s + q]. The factors of p begin at
   w + 2 (r - 1) p; those of p = 0 are 1. */
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
            fft_pair_F sum = fft_add_F(b, c), turned = fft_subtract_F(b, c);
            turned = (fft_pair_F){sine * turned.re, sine * turned.im};
            out[0] = fft_add_F(a, sum);
            a = fft_add_scaled_F(a, (F)-0.5, sum);
            b = fft_add_turned_F(a, turned);
            c = fft_subtract_turned_F(a, turned);
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
            fft_pair_F e = fft_add_turned_F(b, d), f = fft_subtract_F(a, c);
            fft_pair_F g = fft_subtract_turned_F(b, d);
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
            fft_pair_F f = fft_add_turned_F(even1, odd1), g = fft_add_turned_F(even2, odd2);
            fft_pair_F h = fft_subtract_turned_F(even2, odd2);
            fft_pair_F i = fft_subtract_turned_F(even1, odd1);
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
            fft_pair_F d0 = fft_add_turned_F(a4, a6), d2 = fft_subtract_turned_F(a4, a6);
            fft_pair_F d1 = fft_add_turned_F(a5, a7), d3 = fft_subtract_turned_F(a5, a7);
            /* d1 times (1 - i) / sqrt(2), d3 times (-1 - i) / sqrt(2) */
            d1 = (fft_pair_F){half * (d1.re + d1.im), half * (d1.im - d1.re)};
            d3 = (fft_pair_F){half * (d3.im - d3.re), -(half * (d3.re + d3.im))};
            b[0] = fft_add_F(c0, c1);
            b[4] = fft_subtract_F(c0, c1);
            b[2] = fft_add_turned_F(c2, c3);
            b[6] = fft_subtract_turned_F(c2, c3);
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

/* Of odd radix r, with the cosines and sines of 2 pi k / r, k < r, before the factors. */
__attribute__((noinline))
static void fft_pass_F(int64_t r, int64_t m, int64_t s, const F *w, const fft_pair_F *x,
                       fft_pair_F *y)
{
    const F *roots = w;
    int64_t half = r / 2;
    fft_pair_F sum[FFT_LARGEST_RADIX / 2 + 1], turned[FFT_LARGEST_RADIX / 2 + 1];
    w += 2 * r;
    for (int64_t p = 0; p < m; p++, w += 2 * (r - 1)) {
        for (int64_t q = 0; q < s; q++) {
            const fft_pair_F *in = x + p * s + q;
            fft_pair_F *out = y + r * p * s + q, total = in[0];
            for (int64_t j = 1; j <= half; j++) {
                sum[j] = fft_add_F(in[j * m * s], in[(r - j) * m * s]);
                turned[j] = fft_subtract_F(in[j * m * s], in[(r - j) * m * s]);
                total = fft_add_F(total, sum[j]);
            }
            out[0] = total;
            for (int64_t k = 1; k <= half; k++) {
                fft_pair_F even = in[0], odd = {{0}, {0}};
                for (int64_t j = 1, at = k; j <= half; j++) {
                    even = fft_add_scaled_F(even, roots[2 * at], sum[j]);
                    odd = fft_add_scaled_F(odd, roots[2 * at + 1], turned[j]);
                    at += k;
                    at -= at >= r ? r : 0;
                }
                fft_pair_F a = fft_add_turned_F(even, odd), b = fft_subtract_turned_F(even, odd);
                out[k * s] = p == 0 ? a : fft_times_F(a, w + 2 * k - 2);
                out[(r - k) * s] = p == 0 ? b : fft_times_F(b, w + 2 * (r - k) - 2);
            }
        }
    }
}

/* The transforms of length n in the lanes of x; returns where they are then, in x or in y. Both
   hold n pairs. `radices` ends with 0. */
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

/* Tell whether the lanes are adjacent complex numbers. */
static inline bool fft_adjacent_F(const F *re, const F *im, const int64_t *lane, int64_t count)
{
    bool adjacent = im == re + 1 || re == im + 1;
    for (int64_t l = 0; l < count; l++) {
        adjacent = adjacent && lane[l] == 2 * l;
    }
    return adjacent;
}

/* Whole blocks of as many elements as lanes, of transforms that lie along memory; how many. */
__attribute__((noinline))
static int64_t fft_load_along_F(int64_t n, const F *x, bool exchanged, const int64_t *lane,
                                fft_pair_F *to)
{
    int64_t j = 0;
    for (; j + FFT_LANES_F <= n; j += FFT_LANES_F) {
        fft_vector_F re[FFT_LANES_F], im[FFT_LANES_F];
        #pragma GCC unroll 16
        for (int l = 0; l < FFT_LANES_F; l++) {
            const fft_vector_F *in = (const fft_vector_F *)(x + lane[l] + 2 * j);
            re[l] = fft_even_F(in[0], in[1]);
            im[l] = fft_odd_F(in[0], in[1]);
        }
        fft_transpose_F(re);
        fft_transpose_F(im);
        #pragma GCC unroll 16
        for (int l = 0; l < FFT_LANES_F; l++) {
            to[j + l] = exchanged ? (fft_pair_F){im[l], re[l]} : (fft_pair_F){re[l], im[l]};
        }
    }
    return j;
}

/* Element j of lane l is at j * step + lane[l]; where `re` or `im` is NULL it is zero. */
__attribute__((noinline))
static void fft_load_F(int64_t n, const F *re, const F *im, int64_t step, const int64_t *lane,
                       fft_pair_F *to)
{
    int64_t j = 0;
    if (re != NULL && im != NULL && fft_adjacent_F(re, im, lane, FFT_LANES_F)) {
        for (; j < n; j++) {
            const fft_vector_F *in = (const fft_vector_F *)((im == re + 1 ? re : im) + j * step);
            fft_vector_F even = fft_even_F(in[0], in[1]), odd = fft_odd_F(in[0], in[1]);
            to[j] = im == re + 1 ? (fft_pair_F){even, odd} : (fft_pair_F){odd, even};
        }
        return;
    }
    if (step == 2 && re != NULL && (im == re + 1 || re == im + 1)) {
        j = fft_load_along_F(n, im == re + 1 ? re : im, re == im + 1, lane, to);
    }
    for (; j < n; j++) {
        fft_pair_F value = {{0}, {0}};
        for (int l = 0; l < FFT_LANES_F; l++) {
            value.re[l] = re != NULL ? re[j * step + lane[l]] : 0;
            value.im[l] = im != NULL ? im[j * step + lane[l]] : 0;
        }
        to[j] = value;
    }
}

/* The other way round of fft_load_along. */
__attribute__((noinline))
static int64_t fft_store_along_F(int64_t n, const fft_pair_F *from, F scale, F *x, bool exchanged,
                                 const int64_t *lane)
{
    int64_t j = 0;
    for (; j + FFT_LANES_F <= n; j += FFT_LANES_F) {
        fft_vector_F re[FFT_LANES_F], im[FFT_LANES_F];
        #pragma GCC unroll 16
        for (int l = 0; l < FFT_LANES_F; l++) {
            re[l] = scale * (exchanged ? from[j + l].im : from[j + l].re);
            im[l] = scale * (exchanged ? from[j + l].re : from[j + l].im);
        }
        fft_transpose_F(re);
        fft_transpose_F(im);
        #pragma GCC unroll 16
        for (int l = 0; l < FFT_LANES_F; l++) {
            fft_vector_F *out = (fft_vector_F *)(x + lane[l] + 2 * j);
            out[0] = fft_low_F(re[l], im[l]);
            out[1] = fft_high_F(re[l], im[l]);
        }
    }
    return j;
}

/* Scaled, the first `count` lanes; a part whose pointer is NULL is dropped. */
__attribute__((noinline))
static void fft_store_F(int64_t n, const fft_pair_F *from, F scale, F *re, F *im, int64_t step,
                        const int64_t *lane, int64_t count)
{
    int64_t j = 0;
    if (re != NULL && im != NULL && fft_adjacent_F(re, im, lane, count)) {
        for (; j < n; j++) {
            fft_vector_F even = scale * (im == re + 1 ? from[j].re : from[j].im);
            fft_vector_F odd = scale * (im == re + 1 ? from[j].im : from[j].re);
            fft_vector_F both[2] = {fft_low_F(even, odd), fft_high_F(even, odd)};
            F *out = (im == re + 1 ? re : im) + j * step;
            if (count == FFT_LANES_F) {
                ((fft_vector_F *)out)[0] = both[0];
                ((fft_vector_F *)out)[1] = both[1];
            } else {
                memcpy(out, both, (size_t)count * 2 * sizeof(F));
            }
        }
        return;
    }
    if (step == 2 && count == FFT_LANES_F && re != NULL && (im == re + 1 || re == im + 1)) {
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

/* Between the steps of a split transform: `rows` pairs times their factors (a row of them every
   `block`, imaginary parts behind real ones by `plane`; and where the block is not the first, those
   of `turn`), transposed; the first `count` go to `out`. */
static inline void fft_twist_F(int64_t rows, const fft_pair_F *x, const F *w, int64_t block,
                               int64_t plane, const F *turn, fft_pair_F *out, int64_t count)
{
    fft_vector_F re[FFT_LANES_F], im[FFT_LANES_F], zero = {0};
    #pragma GCC unroll 16
    for (int64_t l = 0; l < FFT_LANES_F; l++) {
        re[l] = im[l] = zero;
        if (l < rows) {
            fft_pair_F factor = {*(const fft_vector_F *)(w + l * block),
                                 *(const fft_vector_F *)(w + l * block + plane)};
            factor = fft_times_all_F(x[l], factor);
            if (turn != NULL) {
                factor = fft_times_F(factor, turn + 2 * l);
            }
            re[l] = factor.re;
            im[l] = factor.im;
        }
    }
    fft_transpose_F(re);
    fft_transpose_F(im);
    if (count == FFT_LANES_F) {
        #pragma GCC unroll 16
        for (int64_t l = 0; l < FFT_LANES_F; l++) {
            out[l] = (fft_pair_F){re[l], im[l]};
        }
    }
    for (int64_t l = 0; l < count && count < FFT_LANES_F; l++) {
        out[l] = (fft_pair_F){re[l], im[l]};
    }
}

/* Step one of a split transform: the columns [from, to) in groups of lanes, element (j, k) of the
   (rows, columns) matrix at (j * columns + k) * step; each result times exp(-2 pi i j k / n), and
   transposed: `middle` gets, for each group of rows, columns pairs with the rows in lanes. */
__attribute__((noinline))
static void fft_columns_F(const int64_t *plan, const F *table, const F *re, const F *im,
                          int64_t step, fft_pair_F *middle, fft_pair_F *scratch, int64_t from,
                          int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], block = plan[FFT_BLOCK];
    const F *fine = table + plan[FFT_FINE];
    for (int64_t group = from; group < to; group++) {
        int64_t column = group * FFT_LANES_F, lane[FFT_LANES_F];
        if (block == columns && columns >= FFT_LANES_F) {
            column = fft_smaller(column, columns - FFT_LANES_F);
        }
        int64_t count = fft_smaller(FFT_LANES_F, columns - column);
        for (int64_t l = 0; l < FFT_LANES_F; l++) {
            lane[l] = fft_smaller(l, count - 1) * step;
        }
        int64_t first = column * step, within = column % block;
        fft_load_F(rows, re == NULL ? re : re + first, im == NULL ? im : im + first,
                   columns * step, lane, scratch);
        const fft_pair_F *x = fft_lanes_F(rows, plan + plan[FFT_ROW_RADICES],
                                          table + plan[FFT_ROW_TABLE], scratch, scratch + rows);
        const F *coarse = table + plan[FFT_COARSE] + 2 * rows * (column / block);
        for (int64_t row = 0; row < rows; row += FFT_LANES_F) {
            int64_t end = fft_smaller(FFT_LANES_F, rows - row);
            const F *w = fine + row * block + within;
            const F *turn = block < columns ? coarse + 2 * row : NULL;
            fft_pair_F *out = middle + row / FFT_LANES_F * columns + column;
            if (end == FFT_LANES_F) {
                fft_twist_F(FFT_LANES_F, x + row, w, block, rows * block, turn, out, count);
            } else {
                fft_twist_F(end, x + row, w, block, rows * block, turn, out, count);
            }
        }
    }
}

/* Step two: the rows of the groups [from, to); element row + rows * k of the result goes to that
   multiple of `step`, if it is below `limit`. */
__attribute__((noinline))
static void fft_rows_F(const int64_t *plan, const F *table, fft_pair_F *middle,
                       fft_pair_F *scratch, F *re, F *im, int64_t step, int64_t limit,
                       int64_t from, int64_t to)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], lane[FFT_LANES_F];
    int64_t whole = limit / rows, rest = limit - whole * rows;
    for (int64_t l = 0; l < FFT_LANES_F; l++) {
        lane[l] = l * step;
    }
    for (int64_t group = from; group < to; group++) {
        const fft_pair_F *x = fft_lanes_F(columns, plan + plan[FFT_COLUMN_RADICES],
                                          table + plan[FFT_COLUMN_TABLE],
                                          middle + group * columns, scratch);
        int64_t row = group * FFT_LANES_F, count = fft_smaller(FFT_LANES_F, rows - row);
        F *to_re = re == NULL ? re : re + row * step, *to_im = im == NULL ? im : im + row * step;
        fft_store_F(whole, x, table[0], to_re, to_im, rows * step, lane, count);
        if (rest > row) {
            int64_t end = whole * rows * step;
            fft_store_F(1, x + whole, table[0], re == NULL ? re : to_re + end,
                        im == NULL ? im : to_im + end, step, lane, fft_smaller(count, rest - row));
        }
    }
}

/* A split transform of elements `step` apart; `slots` threads have scratch memory of `room` pairs
   each. The operand has been read when the first result is written. */
__attribute__((noinline))
static void fft_split_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots)
{
    int64_t columns = (plan[FFT_COLUMNS] + FFT_LANES_F - 1) / FFT_LANES_F;
    int64_t rows = (plan[FFT_ROWS] + FFT_LANES_F - 1) / FFT_LANES_F;
    if (slots == 1) {
        fft_columns_F(plan, table, re, im, step, middle, scratch, 0, columns);
        fft_rows_F(plan, table, middle, scratch, to_re, to_im, to_step, limit, 0, rows);
        return;
    }
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_columns_F(plan, table, re, im, step, middle, scratch + slot * room,
                      columns * slot / slots, columns * (slot + 1) / slots);
    }
    #pragma omp parallel for schedule(static)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_rows_F(plan, table, middle, scratch + slot * room, to_re, to_im, to_step, limit,
                   rows * slot / slots, rows * (slot + 1) / slots);
    }
}

/* The same by a convolution with a chirp, whose transforms, of length rows x columns, happen in
   `buffer`. */
__attribute__((noinline))
static void fft_chirp_F(const int64_t *plan, const F *table, const F *re, const F *im,
                        int64_t step, F *to_re, F *to_im, int64_t to_step, int64_t limit,
                        fft_pair_F *middle, fft_pair_F *scratch, int64_t room, int64_t slots,
                        F *buffer)
{
    int64_t n = plan[FFT_CORE], m = plan[FFT_ROWS] * plan[FFT_COLUMNS];
    const F *chirp = table + plan[FFT_CHIRP_TABLE], *spectrum = table + plan[FFT_SPECTRUM];
    F scale = table[1];
    for (int64_t k = 0; k < n; k++) {
        F x = re != NULL ? re[k * step] : 0, y = im != NULL ? im[k * step] : 0;
        buffer[2 * k] = x * chirp[2 * k] - y * chirp[2 * k + 1];
        buffer[2 * k + 1] = x * chirp[2 * k + 1] + y * chirp[2 * k];
    }
    memset(buffer + 2 * n, 0, (size_t)(m - n) * 2 * sizeof(F));
    fft_split_F(plan, table, buffer, buffer + 1, 2, buffer, buffer + 1, 2, m, middle, scratch,
                room, slots);
    for (int64_t k = 0; k < m; k++) {
        F x = buffer[2 * k], y = buffer[2 * k + 1];
        buffer[2 * k] = x * spectrum[2 * k] - y * spectrum[2 * k + 1];
        buffer[2 * k + 1] = x * spectrum[2 * k + 1] + y * spectrum[2 * k];
    }
    fft_split_F(plan, table, buffer + 1, buffer, 2, buffer + 1, buffer, 2, n, middle, scratch,
                room, slots);
    for (int64_t k = 0; k < limit; k++) {
        F x = scale * buffer[2 * k], y = scale * buffer[2 * k + 1];
        if (to_re != NULL) {
            to_re[k * to_step] = x * chirp[2 * k] - y * chirp[2 * k + 1];
        }
        if (to_im != NULL) {
            to_im[k * to_step] = x * chirp[2 * k + 1] + y * chirp[2 * k];
        }
    }
}

/* As many complex numbers as lanes, from one place on, and backwards from its end. */
static inline fft_pair_F fft_take_F(const F *x)
{
    const fft_vector_F *in = (const fft_vector_F *)x;
    return (fft_pair_F){fft_even_F(in[0], in[1]), fft_odd_F(in[0], in[1])};
}

static inline fft_vector_F fft_reversed_F(fft_vector_F a)
{
    return fft_shuffle_F(a, a, FFT_LANES_F - 1, -1, -2);
}

static inline fft_pair_F fft_take_back_F(const F *x)
{
    fft_pair_F found = fft_take_F(x - 2 * (FFT_LANES_F - 1));
    return (fft_pair_F){fft_reversed_F(found.re), fft_reversed_F(found.im)};
}

static inline void fft_put_F(F *x, fft_pair_F value)
{
    ((fft_vector_F *)x)[0] = fft_low_F(value.re, value.im);
    ((fft_vector_F *)x)[1] = fft_high_F(value.re, value.im);
}

static inline void fft_put_back_F(F *x, fft_pair_F value)
{
    fft_put_F(x - 2 * (FFT_LANES_F - 1),
              (fft_pair_F){fft_reversed_F(value.re), fft_reversed_F(value.im)});
}

/* a and b are elements k and half - k of the transform of pairs, w the factor of k; they become
   those of the transform of single numbers. */
static inline void fft_single_out_F(fft_pair_F *a, fft_pair_F *b, fft_pair_F w)
{
    fft_pair_F even = {(F)0.5 * (a->re + b->re), (F)0.5 * (a->im - b->im)};
    fft_pair_F odd = {(F)0.5 * (a->im + b->im), (F)0.5 * (b->re - a->re)};
    odd = fft_times_all_F(odd, w);
    *a = fft_add_F(even, odd);
    *b = (fft_pair_F){even.re - odd.re, odd.im - even.im};
}

/* The other way round, twice as large. */
static inline void fft_pair_up_F(fft_pair_F *a, fft_pair_F *b, fft_pair_F w)
{
    fft_pair_F even = {a->re + b->re, a->im - b->im}, odd = {a->re - b->re, a->im + b->im};
    odd = fft_times_all_F(odd, (fft_pair_F){w.re, -w.im});
    *a = fft_subtract_turned_F(even, odd);
    *b = (fft_pair_F){even.re + odd.im, odd.re - even.im};
}

/* From the transform of n / 2 pairs of real numbers that of the n numbers, in place: elements
   `step` apart, of which the result has one more. w: exp(-2 pi i k / n) for k <= n / 4. */
__attribute__((noinline))
static void fft_from_pairs_F(int64_t half, F *x, int64_t step, const F *w)
{
    F re = x[0], im = x[1];
    x[0] = re + im;
    x[1] = 0;
    x[half * step] = re - im;
    x[half * step + 1] = 0;
    int64_t k = 1;
    for (; step == 2 && 2 * (k + FFT_LANES_F) <= half; k += FFT_LANES_F) {
        fft_pair_F a = fft_take_F(x + 2 * k), b = fft_take_back_F(x + 2 * (half - k));
        fft_single_out_F(&a, &b, fft_take_F(w + 2 * k));
        fft_put_F(x + 2 * k, a);
        fft_put_back_F(x + 2 * (half - k), b);
    }
    for (; k <= half / 2; k++) {
        F *a = x + k * step, *b = x + (half - k) * step;
        F even_re = (F)0.5 * (a[0] + b[0]), even_im = (F)0.5 * (a[1] - b[1]);
        F odd_re = (F)0.5 * (a[1] + b[1]), odd_im = (F)0.5 * (b[0] - a[0]);
        F turned_re = odd_re * w[2 * k] - odd_im * w[2 * k + 1];
        F turned_im = odd_re * w[2 * k + 1] + odd_im * w[2 * k];
        a[0] = even_re + turned_re;
        a[1] = even_im + turned_im;
        b[0] = even_re - turned_re;
        b[1] = turned_im - even_im;
    }
}

/* The other way round, twice as large: out[half] of complex numbers, from half + 1. */
__attribute__((noinline))
static void fft_to_pairs_F(int64_t half, const F *x, int64_t step, const F *w, F *out)
{
    F first = x[0], last = x[half * step];
    out[0] = first + last;
    out[1] = first - last;
    int64_t k = 1;
    for (; step == 2 && 2 * (k + FFT_LANES_F) <= half; k += FFT_LANES_F) {
        fft_pair_F a = fft_take_F(x + 2 * k), b = fft_take_back_F(x + 2 * (half - k));
        fft_pair_up_F(&a, &b, fft_take_F(w + 2 * k));
        fft_put_F(out + 2 * k, a);
        fft_put_back_F(out + 2 * (half - k), b);
    }
    for (; k <= half / 2; k++) {
        const F *a = x + k * step, *b = x + (half - k) * step;
        F even_re = a[0] + b[0], even_im = a[1] - b[1];
        F odd_re = a[0] - b[0], odd_im = a[1] + b[1];
        F turned_re = odd_re * w[2 * k] + odd_im * w[2 * k + 1];
        F turned_im = odd_im * w[2 * k] - odd_re * w[2 * k + 1];
        F *c = out + 2 * k, *d = out + 2 * (half - k);
        c[0] = even_re - turned_im;
        c[1] = even_im + turned_re;
        d[0] = even_re + turned_im;
        d[1] = turned_re - even_im;
    }
}

/* fft_from_pairs in lanes. */
__attribute__((noinline))
static void fft_lanes_from_pairs_F(int64_t half, fft_pair_F *x, const F *w)
{
    fft_vector_F re = x[0].re, im = x[0].im, zero = {0};
    x[0] = (fft_pair_F){re + im, zero};
    x[half] = (fft_pair_F){re - im, zero};
    for (int64_t k = 1; k <= half / 2; k++) {
        fft_pair_F a = x[k], b = x[half - k];
        fft_pair_F even = {(F)0.5 * (a.re + b.re), (F)0.5 * (a.im - b.im)};
        fft_pair_F odd = {(F)0.5 * (a.im + b.im), (F)0.5 * (b.re - a.re)};
        odd = fft_times_F(odd, w + 2 * k);
        x[k] = fft_add_F(even, odd);
        x[half - k] = (fft_pair_F){even.re - odd.re, odd.im - even.im};
    }
}

/* fft_to_pairs in lanes, in place. */
__attribute__((noinline))
static void fft_lanes_to_pairs_F(int64_t half, fft_pair_F *x, const F *w)
{
    fft_vector_F first = x[0].re, last = x[half].re;
    x[0] = (fft_pair_F){first + last, first - last};
    for (int64_t k = 1; k <= half / 2; k++) {
        fft_pair_F a = x[k], b = x[half - k];
        F back[2] = {w[2 * k], -w[2 * k + 1]};
        fft_pair_F even = {a.re + b.re, a.im - b.im};
        fft_pair_F odd = fft_times_F((fft_pair_F){a.re - b.re, a.im + b.im}, back);
        x[k] = fft_subtract_turned_F(even, odd);
        x[half - k] = (fft_pair_F){even.re + odd.im, odd.re - even.im};
    }
}

/* As many transforms as lanes, whose operands and results begin at these places. */
__attribute__((noinline))
static void fft_together_F(const int64_t *plan, const F *table, const F *x, int64_t step,
                           const int64_t *lane, F *y, int64_t to_step, const int64_t *to_lane,
                           int64_t count, bool is_complex, fft_pair_F *scratch)
{
    int64_t n = plan[FFT_LENGTH], core = plan[FFT_CORE], kind = plan[FFT_KIND];
    const int64_t *radices = plan + plan[FFT_ROW_RADICES];
    const F *w = table + plan[FFT_ROW_TABLE], *turns = table + plan[FFT_REAL_TABLE];
    fft_pair_F *other = scratch + core + 1, *z;
    const F *x_im = is_complex ? x + 1 : NULL;
    F scale = table[0];
    if (kind == FFT_FORWARD) {
        fft_load_F(core, x, x_im, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (kind == FFT_INVERSE) {
        fft_load_F(core, x_im, x, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y + 1, y, to_step, to_lane, count);
    } else if (kind == FFT_REAL && core < n) {
        fft_load_F(core, x, x + step, 2 * step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_lanes_from_pairs_F(core, z, turns);
        fft_store_F(core + 1, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (kind == FFT_REAL) {
        fft_load_F(core, x, NULL, step, lane, scratch);
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(n / 2 + 1, z, scale, y, y + 1, to_step, to_lane, count);
    } else if (core < n) {
        fft_load_F(core + 1, x, x + 1, step, lane, scratch);
        fft_lanes_to_pairs_F(core, scratch, turns);
        for (int64_t k = 0; k < core; k++) {
            scratch[k] = (fft_pair_F){scratch[k].im, scratch[k].re};
        }
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(core, z, scale, y + to_step, y, 2 * to_step, to_lane, count);
    } else {
        fft_load_F(n / 2 + 1, x, x + 1, step, lane, scratch);
        scratch[0].im -= scratch[0].im;
        for (int64_t k = 1; k <= n / 2; k++) {
            scratch[n - k] = scratch[k];
            scratch[k].im = -scratch[k].im;
        }
        z = fft_lanes_F(core, radices, w, scratch, other);
        fft_store_F(n, z, scale, y, NULL, to_step, to_lane, count);
    }
}

/* One transform, split or by a chirp. `buffer` holds FFT_CORE complex numbers where the operand is
   half of a Hermitian one, and after them those of a chirp. */
__attribute__((noinline))
static void fft_alone_F(const int64_t *plan, const F *table, const F *x, int64_t step, F *y,
                        int64_t to_step, bool is_complex, fft_pair_F *middle, fft_pair_F *scratch,
                        int64_t room, int64_t slots, F *buffer)
{
    int64_t n = plan[FFT_LENGTH], core = plan[FFT_CORE], kind = plan[FFT_KIND], limit = core;
    const F *re = x, *im = is_complex ? x + 1 : NULL, *turns = table + plan[FFT_REAL_TABLE];
    F *to_re = y, *to_im = y + 1, *chirp = buffer;
    int64_t out_step = to_step;
    if (kind == FFT_INVERSE) {
        re = im;
        im = x;
        to_re = y + 1;
        to_im = y;
    } else if (kind == FFT_REAL && core < n) {
        im = x + step;
        step *= 2;
    } else if (kind == FFT_REAL) {
        limit = n / 2 + 1;
    } else if (kind == FFT_HERMITIAN) {
        chirp = buffer + 2 * core;
        if (core < n) {
            fft_to_pairs_F(core, x, step, turns, buffer);
            re = buffer + 1;
            im = buffer;
            to_re = y + to_step;
            to_im = y;
            out_step = 2 * to_step;
        } else {
            buffer[0] = x[0];
            buffer[1] = 0;
            for (int64_t k = 1; k <= n / 2; k++) {
                F part[2] = {x[k * step], x[k * step + 1]};
                buffer[2 * k] = buffer[2 * (n - k)] = part[0];
                buffer[2 * k + 1] = -part[1];
                buffer[2 * (n - k) + 1] = part[1];
            }
            re = buffer;
            im = buffer + 1;
            to_im = NULL;
        }
        step = 2;
    }
    if (plan[FFT_METHOD] == FFT_CHIRP) {
        fft_chirp_F(plan, table, re, im, step, to_re, to_im, out_step, limit, middle, scratch,
                    room, slots, chirp);
    } else {
        fft_split_F(plan, table, re, im, step, to_re, to_im, out_step, limit, middle, scratch,
                    room, slots);
    }
    if (kind == FFT_REAL && core < n) {
        fft_from_pairs_F(core, y, to_step, turns);
    }
}

/* The pairs of scratch memory for one thread: of all, of the middle, and of the lanes. */
static inline void fft_rooms_F(const int64_t *plan, int64_t *rooms)
{
    int64_t rows = plan[FFT_ROWS], columns = plan[FFT_COLUMNS], core = plan[FFT_CORE];
    bool together = plan[FFT_METHOD] == FFT_TOGETHER;
    int64_t numbers = plan[FFT_METHOD] == FFT_CHIRP ? rows * columns : 0;
    numbers += plan[FFT_KIND] == FFT_HERMITIAN ? core : 0;
    rooms[2] = 2 * (fft_larger(rows, columns) + 1);
    rooms[1] = together ? 0 : (rows + FFT_LANES_F - 1) / FFT_LANES_F * columns;
    rooms[0] = rooms[1] + rooms[2] + (together ? 0 : numbers / FFT_LANES_F + 1);
}

/* The bytes that fft needs for scratch. */
static inline int64_t fft_workspace_F(const int64_t *plan)
{
    int64_t rooms[3], slots = plan[FFT_SLOTS];
    fft_rooms_F(plan, rooms);
    int64_t pairs = plan[FFT_INSIDE] ? rooms[0] + (slots - 1) * rooms[2] : slots * rooms[0];
    return pairs * 2 * FFT_BYTES + 64;
}

/* Transform (i, j) of outer x inner ones reads the numbers of x that begin at i * x_outer +
   j * x_inner and are x_step apart, and writes those of y likewise; all in units of F. x may be y,
   if their places are the same. `workspace`: fft_workspace(plan) bytes, of any alignment, this
   call's alone while it runs. */
__attribute__((noinline))
static void fft_all_F(const int64_t *plan, const F *table, int64_t outer, int64_t inner,
                      const F *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                      F *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                      bool is_complex, void *workspace)
{
    fft_pair_F *scratch = (fft_pair_F *)((char *)workspace + (-(uintptr_t)workspace & 63));
    int64_t rooms[3], total = outer * inner;
    bool together = plan[FFT_METHOD] == FFT_TOGETHER, inside = plan[FFT_INSIDE] != 0;
    int64_t groups = together ? (total + FFT_LANES_F - 1) / FFT_LANES_F : total;
    int64_t slots = fft_smaller(fft_threads(), plan[FFT_SLOTS]);
    slots = total * plan[FFT_LENGTH] < FFT_SHARED ? 1 : slots;
    fft_rooms_F(plan, rooms);
    if (inside) {
        fft_pair_F *buffer = scratch + rooms[1] + slots * rooms[2];
        for (int64_t t = 0; t < total; t++) {
            int64_t i = t / inner, j = t % inner;
            fft_alone_F(plan, table, x + i * x_outer + j * x_inner, x_step,
                        y + i * y_outer + j * y_inner, y_step, is_complex, scratch,
                        scratch + rooms[1], rooms[2], slots, (F *)buffer);
        }
        return;
    }
    slots = fft_smaller(slots, groups);
    #pragma omp parallel for schedule(static) if (slots > 1)
    for (int64_t slot = 0; slot < slots; slot++) {
        fft_pair_F *middle = scratch + slot * rooms[0], *lanes = middle + rooms[1];
        for (int64_t g = groups * slot / slots; g < groups * (slot + 1) / slots; g++) {
            int64_t first = together ? g * FFT_LANES_F : g, i = first / inner, j = first % inner;
            int64_t lane[FFT_LANES_F], to_lane[FFT_LANES_F], from = i * x_outer + j * x_inner;
            int64_t to = i * y_outer + j * y_inner;
            if (!together) {
                fft_alone_F(plan, table, x + from, x_step, y + to, y_step, is_complex, middle,
                            lanes, rooms[2], 1, (F *)(lanes + rooms[2]));
                continue;
            }
            for (int64_t l = 0; l < FFT_LANES_F; l++) {
                lane[l] = i * x_outer + j * x_inner - from;
                to_lane[l] = i * y_outer + j * y_inner - to;
                if (first + l + 1 < total && ++j == inner) {
                    j = 0;
                    i++;
                }
            }
            fft_together_F(plan, table, x + from, x_step, lane, y + to, y_step, to_lane,
                           fft_smaller(FFT_LANES_F, total - first), is_complex, lanes);
        }
    }
}

/* numpy.fft.fft and ifft of complex numbers, strides in numbers. */
static inline void fft_complex_C(const int64_t *plan, const R *table, int64_t outer, int64_t inner,
                                 const C *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                                 C *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                                 void *workspace)
{
    fft_all_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
              (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, true, workspace);
}

/* numpy.fft.rfft, fft and ifft of real numbers. */
static inline void fft_real_C(const int64_t *plan, const R *table, int64_t outer, int64_t inner,
                              const R *x, int64_t x_outer, int64_t x_inner, int64_t x_step,
                              C *y, int64_t y_outer, int64_t y_inner, int64_t y_step,
                              void *workspace)
{
    fft_all_R(plan, table, outer, inner, x, x_outer, x_inner, x_step,
              (R *)y, 2 * y_outer, 2 * y_inner, 2 * y_step, false, workspace);
}

/* numpy.fft.irfft. */
static inline void fft_hermitian_C(const int64_t *plan, const R *table, int64_t outer,
                                   int64_t inner, const C *x, int64_t x_outer, int64_t x_inner,
                                   int64_t x_step, R *y, int64_t y_outer, int64_t y_inner,
                                   int64_t y_step, void *workspace)
{
    fft_all_R(plan, table, outer, inner, (const R *)x, 2 * x_outer, 2 * x_inner, 2 * x_step,
              y, y_outer, y_inner, y_step, true, workspace);
}
