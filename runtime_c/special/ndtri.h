/* scipy.special.ndtri: the inverse of the standard normal distribution.
   Method: -sqrt(2) erfcinv(2 p), with the polynomials of erf_inv, and one for tails beyond the
   range of erfinv. Single precision in double.
   Largest error measured: 0.51 ulp in single, 10 ulp in double precision. */
static inline float ndtri_f32(float p)
{
    return (float)ndtri_f64((double)p);
}

static inline double ndtri_f64(double p)
{
    double q = p > 0.5 ? 1.0 - p : p;
    double central = erf_inv_f64(2.0 * p - 1.0);
    // 2 q = exp(-w^2), where 2 q is a normal number
    double w = sqrt(-log_f64(2.0 * q));
    double tail = w < 6.0 ? erfc_inv_near_f64(w) : erfc_inv_far_f64(w);
    tail = q == 0.0 ? (double)INFINITY : tail;
    tail = p > 0.5 ? tail : -tail;
    return 0x1.6a09e667f3bcdp+0 * (q > 0.25 ? central : tail);
}
