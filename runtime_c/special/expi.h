/* scipy.special.expi: the exponential integral Ei(x).
   Method: -E_1(-x) for negative x; up to 40 the power series (DLMF 6.6.2), near the zero of Ei its
   difference to that at the zero; the asymptotic series beyond (DLMF 6.12.2). Single precision in
   double.
   Largest error measured: 0.51 ulp in single, 12 ulp in double precision. */
static inline float expi_f32(float x)
{
    return (float)expi_f64((double)x);
}

static inline double expi_f64(double x)
{
    if (x != x || x == (double)INFINITY) return x;
    if (x <= 0.0) return -expn_f64(1.0, -x);
    double sum = 0.0, term = 1.0;
    if (x > 40.0) {
        for (int k = 1; k < 41 && term > 0x1p-56; k++) {
            sum += term;
            term *= (double)k / x;
        }
        double half = exp_f64(0.5 * x);
        return half / x * sum * half;
    }
    if (fabs(x - 0x1.7d72952b4b5fcp-2) < 0.125) {
        double distance = (x - 0x1.7d72952b4b5fcp-2) - 0x1.e4c986021c6f2p-57, power = 1.0, factorial = 1.0;
        for (int k = 1; k < 25; k++) {
            factorial *= (double)k;
            sum += term / ((double)k * factorial);
            power *= 0x1.7d72952b4b5fcp-2;
            term = x * term + power;
        }
        return log1p_f64(distance / 0x1.7d72952b4b5fcp-2) + distance * sum;
    }
    for (int k = 1; k < 300; k++) {
        term *= x / (double)k;
        sum += term / (double)k;
        if (term < 0x1p-56 * sum) break;
    }
    return 0x1.2788cfc6fb619p-1 + log_f64(x) + sum;
}
