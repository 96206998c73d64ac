/* numpy.arctanh: the inverse hyperbolic tangent; NaN outside [-1, 1].
   Method: with a = |x|, log1p(2 a / (1 - a)) / 2.
   Largest error measured: 2.2 ulp in single, 2.0 ulp in double precision. */
static inline float arctanh_f32(float x)
{
    float a = fabsf(x);
    float result = 0.5f * log1p_f32(2.0f * a / (1.0f - a));
    return a < 0x1p-15f ? x : copysignf(result, x);
}

static inline double arctanh_f64(double x)
{
    double a = fabs(x);
    double result = 0.5 * log1p_f64(2.0 * a / (1.0 - a));
    return a < 0x1p-30 ? x : copysign(result, x);
}
