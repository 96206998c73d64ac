/* numpy.exp: e to the power x.
   Method: x = k log 2 + r with |r| <= log(2) / 2 (the reduction of Cody and Waite, Software Manual
   for the Elementary Functions, 1980: log 2 in two parts), a minimax polynomial in r, then scaling
   by 2^k as two factors, the first of them exact, so that overflow and gradual underflow round
   once. Adding 1.5 * 2^52 (2^23 in single precision) rounds to an integer, which is in the low bits
   of the sum; the extra 2046 there is twice the exponent bias, which the scaling needs. Sizes are
   bounded by one comparison: of two, which exclude each other, gcc makes four.
   Largest error measured: 0.91 ulp in single, 0.87 ulp in double precision. */
static inline float exp_f32(float x)
{
    x = fabsf(x) > 104.0f ? copysignf(104.0f, x) : x;
    float shifted = multiply_add_f32(x, 0x1.715476p+0f, 0x1.8p23f + 254.0f);
    float k = shifted - (0x1.8p23f + 254.0f);
    float r = multiply_add_f32(-k, 0x1.62e4p-1f, x);
    r = multiply_add_f32(-k, 0x1.7f7d1cp-20f, r);
    float p = 0x1.6b7db6p-10f;
    p = multiply_add_f32(p, r, 0x1.12291p-7f);
    p = multiply_add_f32(p, r, 0x1.55570ep-5f);
    p = multiply_add_f32(p, r, 0x1.5554aep-3f);
    p = multiply_add_f32(p, r, 0x1.fffffep-2f);
    p = multiply_add_f32(p, r, 1.0f);
    p = multiply_add_f32(p, r, 1.0f);
    return scale_f32(p, k, shifted);
}

static inline double exp_f64(double x)
{
    x = fabs(x) > 746.0 ? copysign(746.0, x) : x;
    double shifted = multiply_add_f64(x, 0x1.71547652b82fep+0, 0x1.8p52 + 2046.0);
    double k = shifted - (0x1.8p52 + 2046.0);
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
    p = multiply_add_f64(p, r, 1.0);
    p = multiply_add_f64(p, r, 1.0);
    return scale_f64(p, k, shifted);
}
