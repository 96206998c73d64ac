/* numpy.cbrt: the cube root.
   Method: x = 2^(3 q) m with m in [2^(-3/2), 2^(3/2)]; a polynomial approximation of m^(-1/3),
   refined by the series of (1 - e)^(-1/3), e = 1 - m z^3, without division; last a Newton step on m
   z^2 with the exact residual (J.-M. Muller and others, Handbook of Floating-Point Arithmetic, the
   chapter on the fused multiply-add).
   Largest error measured: 0.51 ulp in single, 0.51 ulp in double precision. */
static inline float cbrt_f32(float x)
{
    float a = fabsf(x);
    float k = exponent_f32(a);
    float shifted = multiply_add_f32(k, 0x1.555556p-2f, 0x1.8p23f + 127.0f);
    float q = shifted - (0x1.8p23f + 127.0f);
    float rest = (k - 3.0f * q) + (0x1.8p23f + 127.0f);
    float m = fraction_f32(a) * float_from_bits_f32(bits_f32(rest) << 23);
    float z = 0x1.b1dc56p-5f;
    z = multiply_add_f32(z, m, -0x1.a97142p-2f);
    z = multiply_add_f32(z, m, 0x1.3a3138p+0f);
    z = multiply_add_f32(z, m, -0x1.c35634p+0f);
    z = multiply_add_f32(z, m, 0x1.e445ccp+0f);
    float e = multiply_add_f32(-m * z, z * z, 1.0f);
    float series = multiply_add_f32(e, 0x1.61f9aep-3f, 0x1.c71c72p-3f);
    series = multiply_add_f32(series, e, 0x1.555556p-2f);
    z = multiply_add_f32(z * e, series, z);
    float y = m * (z * z);
    float square = y * y;
    float square_low = fmaf(y, y, -square);
    float residual = fmaf(-square, y, m) - square_low * y;
    y = multiply_add_f32(residual * 0x1.555556p-2f, z * z, y);
    y = copysignf(y * float_from_bits_f32(bits_f32(shifted) << 23), x);
    return ((a > 0.0f) & (a < INFINITY)) ? y : x;
}

static inline double cbrt_f64(double x)
{
    double a = fabs(x);
    double k = exponent_f64(a);
    double shifted = multiply_add_f64(k, 0x1.5555555555555p-2, 0x1.8p52 + 1023.0);
    double q = shifted - (0x1.8p52 + 1023.0);
    double rest = (k - 3.0 * q) + (0x1.8p52 + 1023.0);
    double m = fraction_f64(a) * float_from_bits_f64(bits_f64(rest) << 52);
    double z = 0x1.b1dc5cebea7cfp-5;
    z = multiply_add_f64(z, m, -0x1.a971470b9caep-2);
    z = multiply_add_f64(z, m, 0x1.3a313a4500bb7p+0);
    z = multiply_add_f64(z, m, -0x1.c35635601615cp+0);
    z = multiply_add_f64(z, m, 0x1.e445cc5036386p+0);
    double e = multiply_add_f64(-m * z, z * z, 1.0);
    double series = multiply_add_f64(e, 0x1.61f9add3c0ca4p-3, 0x1.c71c71c71c71cp-3);
    series = multiply_add_f64(series, e, 0x1.5555555555555p-2);
    z = multiply_add_f64(z * e, series, z);
    e = multiply_add_f64(-m * z, z * z, 1.0);
    z = multiply_add_f64(z * e, 0x1.5555555555555p-2, z);
    double y = m * (z * z);
    double square = y * y;
    double square_low = fma(y, y, -square);
    double residual = fma(-square, y, m) - square_low * y;
    y = multiply_add_f64(residual * 0x1.5555555555555p-2, z * z, y);
    y = copysign(y * float_from_bits_f64(bits_f64(shifted) << 52), x);
    return ((a > 0.0) & (a < (double)INFINITY)) ? y : x;
}
