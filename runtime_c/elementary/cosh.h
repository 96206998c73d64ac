/* numpy.cosh: the hyperbolic cosine.
   Method: with e = exp(|x|) / 2, cosh x = e + 1 / (4 e); e overflows only where cosh does.
   Largest error measured: 1.6 ulp in single, 1.6 ulp in double precision. */
static inline float cosh_f32(float x)
{
    float a = fabsf(x);
    float half_exp = half_expm1_f32(a > 89.5f ? 89.5f : a) + 0.5f;
    return half_exp + 0.25f / half_exp;
}

static inline double cosh_f64(double x)
{
    double a = fabs(x);
    double half_exp = half_expm1_f64(a > 710.5 ? 710.5 : a) + 0.5;
    return half_exp + 0.25 / half_exp;
}
