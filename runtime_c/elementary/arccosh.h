/* numpy.arccosh: the inverse hyperbolic cosine; NaN below 1.
   Method: with t = x - 1, log1p(t + sqrt(2 t + t |t|)), the root of a negative number for x below
   1; where t^2 could overflow, log(2 x) by way of log1p(t) + log 2.
   Largest error measured: 1.9 ulp in single, 2.0 ulp in double precision. */
static inline float arccosh_f32(float x)
{
    bool large = x > 0x1p40f;
    float t = x - 1.0f;
    float sum = large ? t : t + sqrtf(multiply_add_f32(t, fabsf(t), 2.0f * t));
    return log1p_f32(sum) + (large ? 0x1.62e43p-1f : 0.0f);
}

static inline double arccosh_f64(double x)
{
    bool large = x > 0x1p400;
    double t = x - 1.0;
    double sum = large ? t : t + sqrt(multiply_add_f64(t, fabs(t), 2.0 * t));
    return log1p_f64(sum) + (large ? 0x1.62e42fefa39efp-1 : 0.0);
}
