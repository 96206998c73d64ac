/* Transforms of 2n real numbers by those of n complex ones (fft.h): adjacent numbers are the real
   and imaginary parts. The steps that convert between the two spectra; see W. Press and others,
   Numerical Recipes, the section on the FFT of real functions. */

/* Loads and stores of LANES complex numbers from x on, or backwards from x. */
static inline fft_pair_F fft_load_complex_F(const F *x)
{
    const lanes_F *in = (const lanes_F *)x;
    return (fft_pair_F){fft_even_F(in[0], in[1]), fft_odd_F(in[0], in[1])};
}

static inline lanes_F fft_reversed_F(lanes_F a)
{
    return fft_shuffle_F(a, a, LANES_F - 1, -1, -2);
}

static inline fft_pair_F fft_load_reversed_F(const F *x)
{
    fft_pair_F found = fft_load_complex_F(x - 2 * (LANES_F - 1));
    return (fft_pair_F){fft_reversed_F(found.re), fft_reversed_F(found.im)};
}

static inline void fft_store_complex_F(F *x, fft_pair_F value)
{
    ((lanes_F *)x)[0] = fft_low_F(value.re, value.im);
    ((lanes_F *)x)[1] = fft_high_F(value.re, value.im);
}

static inline void fft_store_reversed_F(F *x, fft_pair_F value)
{
    fft_store_complex_F(x - 2 * (LANES_F - 1),
                        (fft_pair_F){fft_reversed_F(value.re), fft_reversed_F(value.im)});
}

/* Elements k and half - k of the complex transform, a and b, become those of the real transform; w
   is the twiddle factor of k. */
static inline void fft_pair_to_real_F(fft_pair_F *a, fft_pair_F *b, fft_pair_F w)
{
    fft_pair_F even = {(F)0.5 * (a->re + b->re), (F)0.5 * (a->im - b->im)};
    fft_pair_F odd = {(F)0.5 * (a->im + b->im), (F)0.5 * (b->re - a->re)};
    odd = fft_times_all_F(odd, w);
    *a = fft_add_F(even, odd);
    *b = (fft_pair_F){even.re - odd.re, odd.im - even.im};
}

/* The inverse, times 2. */
static inline void fft_real_to_pair_F(fft_pair_F *a, fft_pair_F *b, fft_pair_F w)
{
    fft_pair_F even = {a->re + b->re, a->im - b->im}, odd = {a->re - b->re, a->im + b->im};
    odd = fft_times_all_F(odd, (fft_pair_F){w.re, -w.im});
    *a = fft_add_i_times_F(even, odd);
    *b = (fft_pair_F){even.re + odd.im, odd.re - even.im};
}

/* The spectrum of n real numbers from that of their n / 2 pairs, in place, with stride `step`; it
   has one element more. w: exp(-2 pi i k / n) for k <= n / 4. */
__attribute__((noinline))
static void fft_from_pairs_F(int64_t half, F *x, int64_t step, const F *w)
{
    F re = x[0], im = x[1];
    x[0] = re + im;
    x[1] = 0;
    x[half * step] = re - im;
    x[half * step + 1] = 0;
    int64_t k = 1;
    for (; step == 2 && 2 * (k + LANES_F) <= half; k += LANES_F) {
        fft_pair_F a = fft_load_complex_F(x + 2 * k), b = fft_load_reversed_F(x + 2 * (half - k));
        fft_pair_to_real_F(&a, &b, fft_load_complex_F(w + 2 * k));
        fft_store_complex_F(x + 2 * k, a);
        fft_store_reversed_F(x + 2 * (half - k), b);
    }
    for (; k <= half / 2; k++) {
        F *a = x + k * step, *b = x + (half - k) * step;
        F even_re = (F)0.5 * (a[0] + b[0]), even_im = (F)0.5 * (a[1] - b[1]);
        F odd_re = (F)0.5 * (a[1] + b[1]), odd_im = (F)0.5 * (b[0] - a[0]);
        F twiddled_re = odd_re * w[2 * k] - odd_im * w[2 * k + 1];
        F twiddled_im = odd_re * w[2 * k + 1] + odd_im * w[2 * k];
        a[0] = even_re + twiddled_re;
        a[1] = even_im + twiddled_im;
        b[0] = even_re - twiddled_re;
        b[1] = twiddled_im - even_im;
    }
}

/* The inverse, times 2: out[half] from the half + 1 elements of x. */
__attribute__((noinline))
static void fft_to_pairs_F(int64_t half, const F *x, int64_t step, const F *w, F *out)
{
    F first = x[0], last = x[half * step];
    out[0] = first + last;
    out[1] = first - last;
    int64_t k = 1;
    for (; step == 2 && 2 * (k + LANES_F) <= half; k += LANES_F) {
        fft_pair_F a = fft_load_complex_F(x + 2 * k), b = fft_load_reversed_F(x + 2 * (half - k));
        fft_real_to_pair_F(&a, &b, fft_load_complex_F(w + 2 * k));
        fft_store_complex_F(out + 2 * k, a);
        fft_store_reversed_F(out + 2 * (half - k), b);
    }
    for (; k <= half / 2; k++) {
        const F *a = x + k * step, *b = x + (half - k) * step;
        F even_re = a[0] + b[0], even_im = a[1] - b[1];
        F odd_re = a[0] - b[0], odd_im = a[1] + b[1];
        F twiddled_re = odd_re * w[2 * k] + odd_im * w[2 * k + 1];
        F twiddled_im = odd_im * w[2 * k] - odd_re * w[2 * k + 1];
        F *c = out + 2 * k, *d = out + 2 * (half - k);
        c[0] = even_re - twiddled_im;
        c[1] = even_im + twiddled_re;
        d[0] = even_re + twiddled_im;
        d[1] = twiddled_re - even_im;
    }
}

/* fft_from_pairs for transforms in lanes. */
__attribute__((noinline))
static void fft_lanes_from_pairs_F(int64_t half, fft_pair_F *x, const F *w)
{
    lanes_F re = x[0].re, im = x[0].im, zero = {0};
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

/* fft_to_pairs for transforms in lanes, in place. */
__attribute__((noinline))
static void fft_lanes_to_pairs_F(int64_t half, fft_pair_F *x, const F *w)
{
    lanes_F first = x[0].re, last = x[half].re;
    x[0] = (fft_pair_F){first + last, first - last};
    for (int64_t k = 1; k <= half / 2; k++) {
        fft_pair_F a = x[k], b = x[half - k];
        F back[2] = {w[2 * k], -w[2 * k + 1]};
        fft_pair_F even = {a.re + b.re, a.im - b.im};
        fft_pair_F odd = fft_times_F((fft_pair_F){a.re - b.re, a.im + b.im}, back);
        x[k] = fft_add_i_times_F(even, odd);
        x[half - k] = (fft_pair_F){even.re + odd.im, odd.re - even.im};
    }
}
