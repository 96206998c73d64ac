/* numpy.fft.fft and its kin of a length that is known at run time: roots of unity, which are correct
   but for the rounding of the last bit. */

/* Factors that are computed at a time, a multiple of the lanes of any register. */
enum { FFT_ROOTS = 64, FFT_ROOTS_IN_LANES = 8 };

/* The sine and cosine of a quarter turn times part / whole, up to an eighth of a turn: by Taylor
   polynomials, whose remainders are below 2^-60, of an angle that is an unevaluated sum. */
static inline void fft_sine_f64(double part, double whole, double reciprocal, double *sine,
                                double *cosine)
{
    double turns = part * reciprocal, missing = fma(-turns, whole, part) * reciprocal;
    double x = turns * 0x1.921fb54442d18p+0;
    double low = fma(turns, 0x1.921fb54442d18p+0, -x);
    low += fma(turns, 0x1.1a62633145c07p-54, missing * 0x1.921fb54442d18p+0);
    double t = x * x, half = 0.5 * t, rounded = 1.0 - half;
    double odd = fma(t, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0);
    odd = fma(t, fma(t, odd, 1.0 / 6227020800.0), -1.0 / 39916800.0);
    odd = fma(t, fma(t, odd, 1.0 / 362880.0), -1.0 / 5040.0);
    odd = fma(t, fma(t, odd, 1.0 / 120.0), -1.0 / 6.0);
    double even = fma(t, 1.0 / 20922789888000.0, -1.0 / 87178291200.0);
    even = fma(t, fma(t, even, 1.0 / 479001600.0), -1.0 / 3628800.0);
    even = fma(t, fma(t, even, 1.0 / 40320.0), -1.0 / 720.0);
    even = fma(t, even, 1.0 / 24.0);
    double error = (1.0 - rounded - half) - 0.5 * fma(x, x, -t);
    *sine = x + fma(x * t, odd, low * rounded);
    *cosine = rounded + fma(t * t, even, error - x * low);
}

/* The same in single precision: the remainders are below 2^-36. */
static inline void fft_sine_f32(double part, double whole, double reciprocal, double *sine,
                                double *cosine)
{
    double x = part * reciprocal * 0x1.921fb54442d18p+0, t = x * x;
    (void)whole;
    double odd = fma(t, fma(t, -1.0 / 39916800.0, 1.0 / 362880.0), -1.0 / 5040.0);
    odd = fma(t, fma(t, odd, 1.0 / 120.0), -1.0 / 6.0);
    double even = fma(t, fma(t, -1.0 / 3628800.0, 1.0 / 40320.0), -1.0 / 720.0);
    even = fma(t, fma(t, even, 1.0 / 24.0), -0.5);
    *sine = fma(x * t, odd, x);
    *cosine = fma(t, even, 1.0);
}

/* exp(-2 pi i k / n) for `count` whole numbers 0 <= k <= n, in arrays of FFT_ROOTS: some are computed
   beyond them, so that all are in lanes. Angles are folded into the first eighth of a turn without
   rounding. */
__attribute__((noinline))
static void fft_roots_F(int64_t count, double *restrict k, int64_t length, F *restrict re,
                        F *restrict im)
{
    double n = (double)length, reciprocal = 1.0 / n;
    for (; count % FFT_ROOTS_IN_LANES != 0; count++) {
        k[count] = 0;
    }
    for (int64_t i = 0; i < count; i++) {
        double quarter = floor(4.0 * k[i] * reciprocal), rest = 4.0 * k[i] - quarter * n;
        bool swap = 2.0 * rest > n;
        double sine, cosine;
        fft_sine_F(swap ? n - rest : rest, n, reciprocal, &sine, &cosine);
        bool other = swap != (quarter == 1.0 || quarter == 3.0);
        double a = other ? sine : cosine, b = other ? cosine : sine;
        re[i] = (F)(quarter == 1.0 || quarter == 2.0 ? -a : a);
        im[i] = (F)(quarter < 2.0 ? -b : b);
    }
}

/* The same, and nothing beyond them. */
static inline void fft_roots_to_F(int64_t count, double *k, int64_t length, F *re, F *im)
{
    F more_re[FFT_ROOTS], more_im[FFT_ROOTS];
    bool whole = count % FFT_ROOTS_IN_LANES == 0;
    fft_roots_F(count, k, length, whole ? re : more_re, whole ? im : more_im);
    if (!whole) {
        memcpy(re, more_re, (size_t)count * sizeof(F));
        memcpy(im, more_im, (size_t)count * sizeof(F));
    }
}

/* The same as pairs; returns their end. */
static inline F *fft_root_pairs_F(int64_t count, double *k, int64_t length, F *to)
{
    F re[FFT_ROOTS], im[FFT_ROOTS];
    fft_roots_F(count, k, length, re, im);
    for (int64_t i = 0; i < count; i++) {
        to[2 * i] = re[i];
        to[2 * i + 1] = im[i];
    }
    return to + 2 * count;
}

/* The factors i * j for first <= i < rows and from <= j < columns, a row after the other, as
   pairs. */
__attribute__((noinline))
static F *fft_products_F(int64_t first, int64_t rows, int64_t from, int64_t columns,
                         int64_t length, F *to)
{
    double k[FFT_ROOTS];
    int64_t count = 0;
    for (int64_t i = first; i < rows; i++) {
        for (int64_t j = from; j < columns; j++) {
            k[count++] = (double)(i * j);
            if (count == FFT_ROOTS) {
                to = fft_root_pairs_F(count, k, length, to);
                count = 0;
            }
        }
    }
    return count == 0 ? to : fft_root_pairs_F(count, k, length, to);
}

/* exp(-pi i k / half) for k <= half / 2, as pairs. Of a whole quarter turn the second half has the
   numbers of the first. */
__attribute__((noinline))
static F *fft_quarter_F(int64_t half, F *to)
{
    int64_t last = half / 2, first = half % 2 == 0 ? last / 2 + 1 : last + 1;
    fft_products_F(1, 2, 0, first, 2 * half, to);
    for (int64_t k = first; k <= last; k++) {
        to[2 * k] = -to[2 * (last - k) + 1];
        to[2 * k + 1] = -to[2 * (last - k)];
    }
    return to + 2 * (last + 1);
}
