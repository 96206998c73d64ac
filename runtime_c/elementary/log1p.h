/* numpy.log1p: log(1 + x) without cancellation.
   Method: u = 1 + x has the rounding error c = (1 + x) - u (the two-sum of Knuth, The Art of
   Computer Programming, volume 2). With u = 2^k m, log(1 + x) = k log 2 + log(1 + f), f = (m - 1) +
   2^-k c. No sum with 1 is subnormal.
   Largest error measured: 1.5 ulp in single, 1.4 ulp in double precision. */
static inline float log1p_f32(float x)
{
    float u = 1.0f + x;
    float kept = u - 1.0f;
    float missed = (1.0f - (u - kept)) + (x - kept);
    float m = normal_fraction_f32(u);
    // u and m differ in their exponents only, so the difference of their bits gives 2^-k;
    // c is negligible for large u
    float scale = float_from_bits_f32(bits_f32(m) - bits_f32(u) + 0x3f800000u);
    scale = u > 0x1p60f ? 0.0f : scale;
    float f = multiply_add_f32(missed, scale, m - 1.0f);
    float result = log_special_f32(u, log_of_parts_f32(normal_exponent_f32(u), f));
    return x == 0.0f ? x : result;
}

static inline double log1p_f64(double x)
{
    double u = 1.0 + x;
    double kept = u - 1.0;
    double missed = (1.0 - (u - kept)) + (x - kept);
    double m = normal_fraction_f64(u);
    double scale = float_from_bits_f64(bits_f64(m) - bits_f64(u) + 0x3ff0000000000000u);
    scale = u > 0x1p60 ? 0.0 : scale;
    double f = multiply_add_f64(missed, scale, m - 1.0);
    double result = log_special_f64(u, log_of_parts_f64(normal_exponent_f64(u), f));
    return x == 0.0 ? x : result;
}
