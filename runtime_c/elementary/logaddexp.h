/* numpy.logaddexp: log(exp(x) + exp(y)).
   Method: the larger plus log1p(exp(-|x - y|)); equal arguments, infinite ones too, give x + log
   2. Where the distance makes no difference nothing underflows, for which processors take
   several times as long.
   Largest error measured, relative to the larger of result and argument where they cancel: 1.5 ulp
   in single, 1.5 ulp in double precision. */
static inline float logaddexp_f32(float x, float y)
{
    float larger = x > y ? x : y;
    float apart = fabsf(x - y);
    float most = fabsf(larger) > 0x1p-6f ? 24.0f : (float)INFINITY;
    float distance = apart > most ? most : apart;
    float result = larger + log1p_f32(exp_f32(-distance));
    return x == y ? x + 0x1.62e43p-1f : result;
}

static inline double logaddexp_f64(double x, double y)
{
    double larger = x > y ? x : y;
    double apart = fabs(x - y);
    double most = fabs(larger) > 0x1p-60 ? 100.0 : (double)INFINITY;
    double distance = apart > most ? most : apart;
    double result = larger + log1p_f64(exp_f64(-distance));
    return x == y ? x + 0x1.62e42fefa39efp-1 : result;
}
