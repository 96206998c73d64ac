/* scipy.special.gammainc: the regularized lower incomplete gamma function P(a, x).
   Method: with D = x^a exp(-x) / Gamma(a + 1), D times a series where x is below a + 1 or 3/2 (DLMF
   8.7.1), a continued fraction of the other tail beyond (DLMF 8.9.2), and from a = 2500 on Temme's
   uniform expansion (DLMF 8.12.3, 8.12.8). D is computed from log(1 + m) - m, m = (x - a) / a, and
   Stirling's series, so that large terms do not cancel. The upper tail of small a and x has a
   series of its own. Single precision in double.
   Largest error measured in double precision: 2e-14, relative, where the result is above 1e-30; it
   grows with the logarithm of smaller ones, to 3e-13 at 1e-300. */
static inline float igamma_f32(float a, float x)
{
    return (float)igamma_f64((double)a, (double)x);
}

static inline double igamma_f64(double a, double x)
{
    if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0)) return (double)NAN;
    if (x == (double)INFINITY || a == 0.0) return 1.0;
    if (x == 0.0 || a == (double)INFINITY) return 0.0;
    return igamma_tail_f64(a, x, false);
}

/* scipy.special.gammaincc: the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x),
   accurate where P is near 1. */
static inline float igammac_f32(float a, float x)
{
    return (float)igammac_f64((double)a, (double)x);
}

static inline double igammac_f64(double a, double x)
{
    if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0)) return (double)NAN;
    if (x == (double)INFINITY || a == 0.0) return 0.0;
    if (x == 0.0 || a == (double)INFINITY) return 1.0;
    return igamma_tail_f64(a, x, true);
}

/* jax.lax.igamma_grad_a: the derivative of P(a, x) with respect to a.
   Method: term by term, of the series, the continued fraction, or Temme's expansion. */
static inline float igamma_grad_a_f32(float a, float x)
{
    return (float)igamma_grad_a_f64((double)a, (double)x);
}

static inline double igamma_grad_a_f64(double a, double x)
{
    if (!(a > 0.0 && x >= 0.0)) return (double)NAN;
    if (x == 0.0 || x == (double)INFINITY || a == (double)INFINITY) return 0.0;
    double factor = igamma_factor_f64(a, x);
    return factor > 0.0 ? factor * igamma_slope_f64(a, x) : 0.0;
}

/* jax.lax.random_gamma_grad: the derivative with respect to a of a sample x of the gamma
   distribution at fixed P(a, x), by implicit differentiation: -(dP/da) / (dP/dx) (M. Figurnov, S.
   Mohamed and A. Mnih, "Implicit reparameterization gradients", 2018). */
static inline float random_gamma_grad_f32(float a, float x)
{
    return (float)random_gamma_grad_f64((double)a, (double)x);
}

static inline double random_gamma_grad_f64(double a, double x)
{
    if (!(a > 0.0 && x >= 0.0)) return (double)NAN;
    if (x == 0.0 || a == (double)INFINITY) return 0.0;
    if (x == (double)INFINITY) return x;
    double slope = igamma_slope_f64(a, x);
    return x <= 1.0 ? -(x / a) * slope : -x * (slope / a);
}

/* P, or Q for `upper`, for positive finite a and x. */
static inline double igamma_tail_f64(double a, double x, bool upper)
{
    if (a >= 2500.0) return igamma_uniform_f64(a, x, upper);
    if (x < a + 1.0 || x < 1.5) {
        if (upper && a < 1.0) return igammac_small_f64(a, x);
        double slope;
        double lower = igamma_factor_f64(a, x) * igamma_series_f64(a, x, &slope);
        return upper ? 1.0 - lower : lower;
    }
    double slope;
    double factor = igamma_factor_f64(a, x);
    if (factor == 0.0) return upper ? 0.0 : 1.0;
    double higher = factor * a / igamma_fraction_f64(a, x, &slope);
    return upper ? higher : 1.0 - higher;
}

/* D = x^a exp(-x) / Gamma(a + 1) for positive finite a and x. */
static inline double igamma_factor_f64(double a, double x)
{
    if (a < 8.0) {
        if (x > 1000.0) return 0.0;
        double half = exp_f64(-0.5 * x);
        return power_f64(x, a) * half * (half * exp_f64(-lgamma_f64(a + 1.0)));
    }
    double m = (x - a) / a;
    double exponent = a * (fabs(m) < 0.4 ? log1pmx_f64(m) : log_f64(x / a) - m);
    return exp_f64(exponent - stirling_f64(a)) / (0x1.40d931ff62706p+1 * sqrt(a));
}

/* log(1 + m) - m for m in [-0.6, 1.6], to relative precision: with s = m / (2 + m) the logarithm is
   2 artanh(s). */
static inline double log1pmx_f64(double m)
{
    double s = m / (2.0 + m);
    double s2 = s * s;
    double p = 0x1.3dc8bcc65d48cp-3;
    p = multiply_add_f64(p, s2, -0x1.584dc9cf05e1bp-4);
    p = multiply_add_f64(p, s2, 0x1.7759598c26bbep-4);
    p = multiply_add_f64(p, s2, 0x1.3a25da5e2702bp-6);
    p = multiply_add_f64(p, s2, 0x1.671f0310bf838p-5);
    p = multiply_add_f64(p, s2, 0x1.5f59b46585f0bp-5);
    p = multiply_add_f64(p, s2, 0x1.86a2038179215p-5);
    p = multiply_add_f64(p, s2, 0x1.af1d3b6d4f9a2p-5);
    p = multiply_add_f64(p, s2, 0x1.e1e28a8387f56p-5);
    p = multiply_add_f64(p, s2, 0x1.11110d897babcp-4);
    p = multiply_add_f64(p, s2, 0x1.3b13b155222fdp-4);
    p = multiply_add_f64(p, s2, 0x1.745d174553809p-4);
    p = multiply_add_f64(p, s2, 0x1.c71c71c71de13p-4);
    p = multiply_add_f64(p, s2, 0x1.2492492492481p-3);
    p = multiply_add_f64(p, s2, 0x1.999999999999ap-3);
    p = multiply_add_f64(p, s2, 0x1.5555555555555p-2);
    return s * (2.0 * s2 * p - m);
}

/* The sum of x^n / ((a + 1) ... (a + n)); *slope is its derivative with respect to a. */
static inline double igamma_series_f64(double a, double x, double *slope)
{
    double term = 1.0, sum = 1.0, rate = 0.0, change = 0.0;
    for (int n = 1; n < 100000; n++) {
        double under = a + (double)n;
        term *= x / under;
        rate -= 1.0 / under;
        sum += term;
        change += term * rate;
        if (term < 0x1p-55 * sum && term * rate > 0x1p-55 * change) break;
    }
    *slope = change;
    return sum;
}

/* The continued fraction x + 1 - a - 1 (1 - a) / (x + 3 - a - ...) by Lentz's method (W. Lentz,
   Applied Optics 15, 1976), and the derivative of its logarithm with respect to a. */
static inline double igamma_fraction_f64(double a, double x, double *slope)
{
    *slope = 0.0;
    if (x > 0x1p960 && a < 0x1p-60 * x) return x;
    double b = x + 1.0 - a;
    double c = b, c_slope = -1.0, d = 0.0, d_slope = 0.0, f = b, change = -1.0 / b;
    for (int n = 1; n < 100000; n++) {
        double over = (double)n * (a - (double)n);
        b += 2.0;
        c_slope = -1.0 + ((double)n - over * c_slope / c) / c;
        c = b + over / c;
        d_slope = -1.0 + (double)n * d + over * d_slope;
        d = 1.0 / (b + over * d);
        d_slope *= -d * d;
        double step = c_slope / c + d_slope / d;
        change += step;
        f *= c * d;
        if (fabs(c * d - 1.0) < 0x1p-52 && fabs(step) <= 0x1p-52 * fabs(change)) break;
    }
    *slope = change;
    return f;
}

/* Q(a, x) for a < 1 and x < 2: as a sum of two terms, neither of them near 1. */
static inline double igammac_small_f64(double a, double x)
{
    double term = 1.0, sum = 0.0;
    for (int n = 1; n < 100; n++) {
        term *= -x / (double)n;
        double share = term / (a + (double)n);
        sum += share;
        if (fabs(share) < 0x1p-55 * fabs(sum)) break;
    }
    double power = expm1_f64(a * log_f64(x) - lgamma1p_f64(a));
    return -power - (power + 1.0) * a * sum;
}

/* The derivative of P(a, x) with respect to a, divided by D. */
static inline double igamma_slope_f64(double a, double x)
{
    if (a >= 2500.0 && fabs(x - a) < 0.6 * a) return igamma_uniform_slope_f64(a, x);
    double slope;
    if (x < a + 1.0 || x < 1.5) {
        double sum = igamma_series_f64(a, x, &slope);
        return (log_f64(x) - digamma_f64(a + 1.0)) * sum + slope;
    }
    double fraction = igamma_fraction_f64(a, x, &slope);
    // a psi(a) is a psi(a + 1) - 1
    return -(a * (log_f64(x) - digamma_f64(a + 1.0) - slope) + 1.0) / fraction;
}

/* c_k(eta) for k up to 4 as power series in eta: the coefficients of Temme's expansion in powers of
   1 / a (N. Temme, The asymptotic expansion of the incomplete gamma functions, SIAM Journal on
   Mathematical Analysis 10, 1979; DLMF 8.12.10), computed with mpmath (60 digits). */
static const double temme_coefficients[5][26] = {
    {
        -0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7,
        0x1.2f684bda12f68p-10, 0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13,
        0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19, -0x1.f1b22f594c6b5p-20,
        0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
        0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31,
        -0x1.c0d9b6edf2b0bp-36, -0x1.0070a87340428p-34, 0x1.ac9475c463659p-36,
        -0x1.61ca701fd754ap-38, 0x1.ef98008f5eec2p-44, 0x1.7ba0759769d7cp-42,
        -0x1.3989bebb193c0p-43, 0x1.0104fc4369a3cp-45, -0x1.283fe7950ad7bp-51,
        -0x1.1ca914d71a27cp-49, 0x1.d2e7d5ca48b90p-51,
    },
    {
        -0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015ac0p-9,
        -0x1.0394f6f09e723p-10, 0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22,
        -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17, -0x1.b0bdfcc629cbap-20,
        0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25,
        0x1.9aa7a30de114cp-27, -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30,
        0x1.c9b434bf3c34ep-32, -0x1.78a5056f8ce45p-34, 0x1.113e3a466db9ep-44,
        0x1.f8041c5540ea2p-38, -0x1.9ccf2fab4608bp-39, 0x1.519580a10cd82p-41,
        -0x1.f3b7a5dcd1851p-53, -0x1.c068b448455eap-45, 0x1.6d8a9ef5c1827p-46,
        -0x1.29b03783db2a2p-48, 0x1.e9264affa1c17p-61,
    },
    {
        0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9e0p-11,
        0x1.0db20a88f4696p-19, -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15,
        -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25, 0x1.7058929663937p-20,
        -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33,
        -0x1.e437343a46f5dp-27, 0x1.ac0d455e25360p-28, -0x1.77c5829460139p-30,
        0x1.0962774f638bbp-40, 0x1.1b1056c188672p-33, -0x1.e9778dbc61371p-35,
        0x1.a55da34225759p-37, -0x1.2c681309d6007p-48, -0x1.33f39f65c6eeep-40,
        0x1.0675f56b95f3bp-41, -0x1.be16182b001e8p-44, 0x1.5d3b42a398b8fp-56,
        0x1.3f2fe637bc2b8p-47, -0x1.0d569dc447d0dp-48,
    },
    {
        0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7ca00p-12,
        0x1.18b9b5bf2d984p-12, -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22,
        0x1.73df462204ef4p-17, -0x1.7cd6f27b3f020p-18, 0x1.7e0201539310ep-20,
        -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
        -0x1.4853ced169327p-26, 0x1.50c3f0dd501ebp-39, 0x1.1b66a39794ba9p-29,
        -0x1.040c53b2491f0p-30, 0x1.d9b15465daec1p-33, -0x1.f46057e1c9d1fp-47,
        -0x1.812d3d94d533bp-36, 0x1.587d7a7c1a668p-37, -0x1.328e9df2eb8b6p-39,
        0x1.1e54cdbaa3443p-54, 0x1.def3f46a086e5p-43, -0x1.a4d8ed36b49dcp-44,
        0x1.7075e8dcfddd0p-46, -0x1.30e688d049a13p-62,
    },
    {
        -0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11, -0x1.3999a85a4237ap-12,
        -0x1.88f2ae1def9d0p-20, 0x1.16908b48ce058p-14, -0x1.4ce3fd902bcadp-15,
        0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32, -0x1.c71c074985d3fp-20,
        0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35,
        0x1.efe94304ac16bp-26, -0x1.e78e449f4e3bep-27, 0x1.d9a9f1a8b7696p-29,
        -0x1.033ba70791e5ep-42, -0x1.b14f212618752p-32, 0x1.9911dbca7ce93p-33,
        -0x1.7f2fac5e22aaep-35, 0x1.7088090f49aabp-50, 0x1.49465337812c4p-38,
        -0x1.2e7ac3cc20208p-39, 0x1.14577d11fe2b7p-41, -0x1.d3b49b9fd2152p-58,
        -0x1.c6716fd28d001p-45, 0x1.995726136c279p-46,
    },
};

/* P or Q for a >= 2500: half of erfcx plus a correction, times exp(-a phi), phi = eta^2 / 2 = x / a
   - 1 - log(x / a). */
static inline double igamma_uniform_f64(double a, double x, bool upper)
{
    double m = (x - a) / a;
    if (fabs(m) > 0.98 || (m < -0.6)) return (m > 0.0) == upper ? 0.0 : 1.0;
    double phi = -log1pmx_f64(m);
    double eta = copysign(sqrt(2.0 * phi), m);
    double sum = 0.0, over = 1.0 / a;
    for (int k = 4; k >= 0; k--) {
        double c = 0.0;
        for (int n = 25; n >= 0; n--) c = multiply_add_f64(c, eta, temme_coefficients[k][n]);
        sum = multiply_add_f64(sum, over, c);
    }
    sum /= 0x1.40d931ff62706p+1 * sqrt(a);
    double half = 0.5 * erfcx_f64(sqrt(a * phi));
    double tail = exp_f64(-a * phi) * (m > 0.0 ? half + sum : half - sum);
    return (m > 0.0) == upper ? tail : 1.0 - tail;
}

/* The derivative of P with respect to a by the same expansion, divided by D. */
static inline double igamma_uniform_slope_f64(double a, double x)
{
    double m = (x - a) / a;
    double phi = -log1pmx_f64(m);
    double eta = copysign(sqrt(2.0 * phi), m);
    double ratio = m == 0.0 ? 1.0 : m / eta;
    double over = 1.0 / a, power = 1.0, sum = 0.0, change = 0.0;
    for (int k = 0; k < 5; k++) {
        double c = 0.0, c_slope = 0.0;
        for (int n = 25; n >= 0; n--) {
            c_slope = multiply_add_f64(c_slope, eta, c);
            c = multiply_add_f64(c, eta, temme_coefficients[k][n]);
        }
        sum += c * power;
        change -= power * over * (c_slope * ratio + (double)k * c);
        power *= over;
    }
    double slope = 0.5 * eta - ratio - sum * (log1p_f64(m) - 0.5 * over) - change;
    return slope * exp_f64(stirling_f64(a));
}
