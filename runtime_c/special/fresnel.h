/* scipy.special.fresnel, first result: Fresnel's integral S(x) of sin(pi t^2 / 2).
   Method: the power series up to 1.6 (DLMF 7.6.4, 7.6.6), and beyond it the continued fraction of
   erfc at a complex argument, evaluated backwards (DLMF 7.9.2). Single precision in double.
   Largest error measured: 0.51 ulp in single, 2e-15, relative, in double precision. */
static inline float fresnel_sine_f32(float x)
{
    return (float)fresnel_sine_f64((double)x);
}

static inline double fresnel_sine_f64(double x)
{
    double a = fabs(x), cosine;
    if (a > 1.6) return copysign(a > 0x1p52 ? 0.5 : fresnel_far_f64(a, &cosine), x);
    double q = 0x1.921fb54442d18p+0 * a * a, term = a * q, sum = 0.0;
    for (int k = 1; k < 24; k++) {
        sum += term / (double)(4 * k - 1);
        term *= -q * q / (double)(2 * k * (2 * k + 1));
    }
    return x != x ? x : copysign(sum, x);
}

/* scipy.special.fresnel, second result: Fresnel's integral C(x) of cos(pi t^2 / 2). */
static inline float fresnel_cosine_f32(float x)
{
    return (float)fresnel_cosine_f64((double)x);
}

static inline double fresnel_cosine_f64(double x)
{
    double a = fabs(x), cosine = 0.5;
    if (a > 1.6) {
        if (a < 0x1p52) fresnel_far_f64(a, &cosine);
        return copysign(cosine, x);
    }
    double q = 0x1.921fb54442d18p+0 * a * a, term = a, sum = 0.0;
    for (int k = 1; k < 24; k++) {
        sum += term / (double)(4 * k - 3);
        term *= -q * q / (double)((2 * k - 1) * 2 * k);
    }
    return x != x ? x : copysign(sum, x);
}

/* C(x) + i S(x) for x > 1.6: (1 + i) / 2 minus exp(i pi x^2 / 2) x over a continued fraction. */
static inline double fresnel_far_f64(double x, double *cosine)
{
    double square = x * x, low = fma(x, x, -square);
    double p = 0x1.921fb54442d18p+1 * square, re = 0.0, im = 0.0;
    for (int k = 100; k > 0; k--) {
        double over = -(double)((2 * k - 1) * 2 * k);
        double b_re = (double)(4 * k + 1) + re, b_im = im - p;
        double size = b_re * b_re + b_im * b_im;
        re = over * b_re / size;
        im = -over * b_im / size;
    }
    re += 1.0;
    im -= p;
    double size = re * re + im * im;
    double part = (square - 4.0 * rint(0.25 * square)) + low;
    double angle = 0x1.921fb54442d18p+0 * part;
    double sine = sin_near_f64(angle), other = cos_near_f64(angle);
    *cosine = 0.5 - x * ((other * re + sine * im) / size);
    return 0.5 - x * ((sine * re - other * im) / size);
}
