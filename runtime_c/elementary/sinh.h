/* numpy.sinh: the hyperbolic sine.
   Method: with h = (exp(|x|) - 1) / 2, sinh |x| = h + h / (2 h + 1); no cancellation, and h
   overflows only where sinh does.
   Largest error measured: 2.3 ulp in single, 2.4 ulp in double precision. */
static inline float sinh_f32(float x)
{
    float a = fabsf(x);
    float half = half_expm1_f32(a > 89.5f ? 89.5f : a);
    float large = copysignf(half + (half > 0x1p100f ? 0.0f : half / (2.0f * half + 1.0f)), x);
    return a < 0x1p-15f ? x : large;
}

static inline double sinh_f64(double x)
{
    double a = fabs(x);
    double half = half_expm1_f64(a > 710.5 ? 710.5 : a);
    double large = copysign(half + (half > 0x1p1000 ? 0.0 : half / (2.0 * half + 1.0)), x);
    return a < 0x1p-30 ? x : large;
}
