/* numpy.log2: the logarithm to base 2; exact for powers of two.
   Method: x = 2^k (1 + f) as in numpy.log. Single precision: log2(1 + f) = 3/2 f - 3/4 f^2 + f
   P(f), where 3/2 f is exact, 3/4 f^2 is rounded with the rest, and the rest is small. Double precision:
   that of numpy.log, with log(1 + f) as an unevaluated sum before it is multiplied by 1 / log 2.
   Largest error measured: 0.76 ulp in single, 0.68 ulp in double precision. */
static inline float log2_f32(float x)
{
    float k = exponent_f32(x);
    float f = fraction_f32(x) - 1.0f;
    float p = -0x1.c0e63ap-4f;
    p = multiply_add_f32(p, f, 0x1.7ce1cap-3f);
    p = multiply_add_f32(p, f, -0x1.876c5cp-3f);
    p = multiply_add_f32(p, f, 0x1.a31b68p-3f);
    p = multiply_add_f32(p, f, -0x1.eabaaap-3f);
    p = multiply_add_f32(p, f, 0x1.277d7p-2f);
    p = multiply_add_f32(p, f, -0x1.715a7cp-2f);
    p = multiply_add_f32(p, f, 0x1.ec709cp-2f);
    p = multiply_add_f32(p, f, 0x1.d571ecp-6f);
    p = multiply_add_f32(p, f, -0x1.d57136p-5f);
    float part = 0.75f * f;
    float lead = part + part;
    float sum = k + lead;
    float low = multiply_add_f32(p, f, lead - (sum - k));
    return log_special_f32(x, sum + multiply_add_f32(-part, f, low));
}

static inline double log2_f64(double x)
{
    double k = exponent_f64(x);
    double low;
    double high =
        scaled_log_f64(fraction_f64(x) - 1.0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, &low);
    double sum = k + high;
    low += high - (sum - k);
    return log_special_f64(x, sum + low);
}

/* log(1 + f) * factor, 1 + f in [sqrt(1/2), sqrt(2)), as an unevaluated sum: the result plus *low.
   The factor has a leading and a trailing part. */
static inline double scaled_log_f64(double f, double factor, double factor_low, double *low)
{
    double s = f / (2.0 + f);
    double s2 = s * s;
    double p = 0x1.2f02742487bd6p-3;
    p = multiply_add_f64(p, s2, 0x1.39a207c13aeb3p-3);
    p = multiply_add_f64(p, s2, 0x1.74663bce2b7cep-3);
    p = multiply_add_f64(p, s2, 0x1.c71c52193902fp-3);
    p = multiply_add_f64(p, s2, 0x1.24924941dc5a8p-2);
    p = multiply_add_f64(p, s2, 0x1.999999997ff54p-2);
    p = multiply_add_f64(p, s2, 0x1.5555555555592p-1);
    double half_square = 0.5 * f * f;
    double square_error = fma(0.5 * f, f, -half_square);
    double high = f - half_square;
    double rest = (f - high) - half_square - square_error;
    rest = multiply_add_f64(s, multiply_add_f64(p, s2, half_square), rest);
    double product = high * factor;
    double product_error = fma(high, factor, -product);
    *low = multiply_add_f64(rest, factor, multiply_add_f64(high, factor_low, product_error));
    return product;
}
