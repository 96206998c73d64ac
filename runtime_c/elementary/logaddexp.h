/* numpy.logaddexp: log(exp(x) + exp(y)).
   Method: the larger plus log1p(exp(-|x - y|)); equal arguments, infinite ones too, give x + log
   2.
   Largest error measured, relative to the larger of result and argument where they cancel: 1.5 ulp
   in single, 1.5 ulp in double precision. */
static inline float logaddexp_f32(float x, float y)
{
    float larger = x > y ? x : y;
    float distance = fabsf(x - y);
    float result = larger + log1p_f32(exp_f32(-distance));
    return x == y ? x + 0x1.62e43p-1f : distance != distance ? x + y : result;
}

static inline double logaddexp_f64(double x, double y)
{
    double larger = x > y ? x : y;
    double distance = fabs(x - y);
    double result = larger + log1p_f64(exp_f64(-distance));
    return x == y ? x + 0x1.62e42fefa39efp-1 : distance != distance ? x + y : result;
}
