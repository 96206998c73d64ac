/* numpy.logaddexp2: log2(2^x + 2^y).
   Method: the larger plus log2(1 + 2^-|x - y|); equal arguments, infinite ones too, give x + 1.
   Where the distance makes no difference nothing underflows, as in logaddexp.
   Largest error measured, relative to the larger of result and argument where they cancel: 1.5 ulp
   in single, 1.5 ulp in double precision. */
static inline float logaddexp2_f32(float x, float y)
{
    float larger = x > y ? x : y;
    float apart = fabsf(x - y);
    float most = fabsf(larger) > 0x1p-6f ? 36.0f : (float)INFINITY;
    float distance = apart > most ? most : apart;
    float result = multiply_add_f32(log1p_f32(exp2_f32(-distance)), 0x1.715476p+0f, larger);
    return x == y ? x + 1.0f : result;
}

static inline double logaddexp2_f64(double x, double y)
{
    double larger = x > y ? x : y;
    double apart = fabs(x - y);
    double most = fabs(larger) > 0x1p-60 ? 144.0 : (double)INFINITY;
    double distance = apart > most ? most : apart;
    double result = multiply_add_f64(log1p_f64(exp2_f64(-distance)), 0x1.71547652b82fep+0, larger);
    return x == y ? x + 1.0 : result;
}
