/* scipy.special.betainc: the regularized incomplete beta function I_x(a, b).
   Method: a continued fraction (DLMF 8.17.22) of I_x(a, b) where x is below (a + 1) / (a + b + 2),
   else of 1 - I_(1 - x)(b, a). For a, b >= 8, its factor x^a (1 - x)^b / B(a, b) is a product of
   terms exp(a (log(1 + m) - m)) and the remainders of Stirling's formula, so that large terms do
   not cancel. Single precision in double.
   Largest error measured in double precision: 5e-14, relative, where the result is above 1e-30;
   absolute where it is 1 minus the other tail. */
static inline float betainc_f32(float a, float b, float x)
{
    return (float)betainc_f64((double)a, (double)b, (double)x);
}

static inline double betainc_f64(double a, double b, double x)
{
    if (!(a >= 0.0 && b >= 0.0 && x >= 0.0 && x <= 1.0)) return (double)NAN;
    bool at_zero = a == 0.0 || b == (double)INFINITY;
    bool at_one = b == 0.0 || a == (double)INFINITY;
    if (at_zero && at_one) return (double)NAN;
    if (x == 0.0 || (at_one && x < 1.0)) return 0.0;
    if (x == 1.0 || at_zero) return 1.0;
    if (a + b < 0x1p-960) return 1.0 / (1.0 + a / b);
    double distance = betainc_distance_f64(a, b, x), y = 1.0 - x;
    double factor = betainc_factor_f64(a, b, x, distance);
    bool left = x < (a + 1.0) / (a + b + 2.0);
    if (factor == 0.0) return left ? 0.0 : 1.0;
    if (left) return factor / betainc_fraction_f64(a, b, x, y, -distance);
    double result = 1.0 - factor / betainc_fraction_f64(b, a, y, x, distance);
    return result > 0.0 ? result : 0.0;
}

/* (a + b) x - a, with the sum and the product as two doubles each. */
static inline double betainc_distance_f64(double a, double b, double x)
{
    double s = a + b;
    double s_low = a > b ? b - (s - a) : a - (s - b);
    double product = x * s;
    return (product - a) + (fma(x, s, -product) + x * s_low);
}

/* x^a (1 - x)^b / B(a, b) for positive finite a and b and 0 < x < 1. */
static inline double betainc_factor_f64(double a, double b, double x, double distance)
{
    double y = 1.0 - x;
    if (a < 8.0 && b < 8.0) {
        double less = a < b ? a : b, more = a < b ? b : a;
        double rest = lgamma_f64(a + b + 1.0) - lgamma_f64(a + 1.0) - lgamma_f64(b + 1.0);
        double middle = less / (1.0 + less / more) * exp_f64(rest + b * log1p_f64(-x));
        return power_f64(x, a) * middle;
    }
    if (a < 8.0) return betainc_lopsided_f64(a, b, x, b * log1p_f64(-x));
    if (b < 8.0) return betainc_lopsided_f64(b, a, y, a * log_f64(x));
    double s = a + b;
    double over = distance / a, under = -distance / b;
    double first = fabs(over) < 0.4 ? log1pmx_f64(over) : log_f64(x * (s / a)) - over;
    double second = fabs(under) < 0.4 ? log1pmx_f64(under) : log_f64(y * (s / b)) - under;
    double rest = stirling_f64(s) - stirling_f64(a) - stirling_f64(b);
    return exp_f64(a * first + b * second + rest) * sqrt(a * (b / s) / 0x1.921fb54442d18p+2);
}

/* The same for a < 8 <= b, where `logarithm` is b log(1 - x). */
static inline double betainc_lopsided_f64(double a, double b, double x, double logarithm)
{
    double rest = stirling_f64(a + b) - stirling_f64(b);
    double ratio = ((a + b) - 0.5) * log1p_f64(a / b) - a + rest - lgamma_f64(a + 1.0);
    double half = exp_f64(0.5 * logarithm);
    if (half == 0.0) return 0.0;
    return power_f64(x * b, a) * half * (half * (a * exp_f64(ratio)));
}

/* The continued fraction b0 + a1 / (b1 + a2 / (b2 + ...)), the even part of DLMF 8.17.22 in the form
   of A. DiDonato and A. Morris, ACM Transactions on Mathematical Software 18, 1992, by Lentz's
   method; l is a - (a + b) x, which keeps b0 from cancelling. */
static inline double betainc_fraction_f64(double a, double b, double x, double y, double l)
{
    double c = a / (a + 1.0) * (l + 1.0);
    double f = c, d = 0.0;
    for (int k = 1; k < 1000000; k++) {
        double n = (double)k, twice = a + 2.0 * n;
        double across = n * ((b - n) * x) / (twice - 1.0);
        double over = (a + (n - 1.0)) / (twice - 1.0) * ((a + b + (n - 1.0)) * x) * across;
        double under = n + across + (a + n) / (twice + 1.0) * (l + 1.0 + n * (1.0 + y));
        d = 1.0 / (under + over * d);
        c = under + over / c;
        double step = c * d;
        f *= step;
        if (fabs(step - 1.0) < 0x1p-52) break;
    }
    return f;
}
