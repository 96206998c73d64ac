/* numpy.expm1: exp(x) - 1 without cancellation.
   Method: with x = k log 2 + r as in numpy.exp, 2^k (exp(r) - 1) + (2^k - 1); computed as its half,
   so that 2^k does not overflow before the result does. Below -40 (-20 in single precision) the
   result is -1.
   Largest error measured: 1.6 ulp in single, 2.1 ulp in double precision. */
static inline float expm1_f32(float x)
{
    float bounded = x < -20.0f ? -20.0f : x;
    bounded = bounded > 89.0f ? 89.0f : bounded;
    float result = 2.0f * half_expm1_f32(bounded);
    return fabsf(x) < 0x1p-30f ? x : result;
}

static inline double expm1_f64(double x)
{
    double bounded = x < -40.0 ? -40.0 : x;
    bounded = bounded > 710.0 ? 710.0 : bounded;
    double result = 2.0 * half_expm1_f64(bounded);
    return fabs(x) < 0x1p-60 ? x : result;
}

/* (exp(x) - 1) / 2 for x in [-20, 89.5] in single and [-40, 710.5] in double precision. */
static inline float half_expm1_f32(float x)
{
    float shifted = multiply_add_f32(x, 0x1.715476p+0f, 0x1.8p23f + 125.0f);
    float k = shifted - (0x1.8p23f + 125.0f);
    float r = multiply_add_f32(-k, 0x1.62e4p-1f, x);
    r = multiply_add_f32(-k, 0x1.7f7d1cp-20f, r);
    float p = 0x1.6b7db6p-10f;
    p = multiply_add_f32(p, r, 0x1.12291p-7f);
    p = multiply_add_f32(p, r, 0x1.55570ep-5f);
    p = multiply_add_f32(p, r, 0x1.5554aep-3f);
    p = multiply_add_f32(p, r, 0x1.fffffep-2f);
    p = multiply_add_f32(p * r, r, r);
    float quarter_power = float_from_bits_f32(bits_f32(shifted) << 23);
    return 2.0f * multiply_add_f32(quarter_power, p, quarter_power - 0.25f);
}

static inline double half_expm1_f64(double x)
{
    double shifted = multiply_add_f64(x, 0x1.71547652b82fep+0, 0x1.8p52 + 1021.0);
    double k = shifted - (0x1.8p52 + 1021.0);
    double r = multiply_add_f64(-k, 0x1.62e42fefap-1, x);
    r = multiply_add_f64(-k, 0x1.cf79abc9e3b3ap-40, r);
    double p = 0x1.ae74da94af4d7p-26;
    p = multiply_add_f64(p, r, 0x1.28a31727d082ap-22);
    p = multiply_add_f64(p, r, 0x1.71de8338aa55dp-19);
    p = multiply_add_f64(p, r, 0x1.a019a6296f1e9p-16);
    p = multiply_add_f64(p, r, 0x1.a01a0176c6c31p-13);
    p = multiply_add_f64(p, r, 0x1.6c16c17f4fa41p-10);
    p = multiply_add_f64(p, r, 0x1.1111111118c08p-7);
    p = multiply_add_f64(p, r, 0x1.55555555520b8p-5);
    p = multiply_add_f64(p, r, 0x1.555555555553ap-3);
    p = multiply_add_f64(p, r, 0x1.0000000000005p-1);
    p = multiply_add_f64(p * r, r, r);
    double quarter_power = float_from_bits_f64(bits_f64(shifted) << 52);
    return 2.0 * multiply_add_f64(quarter_power, p, quarter_power - 0.25);
}
