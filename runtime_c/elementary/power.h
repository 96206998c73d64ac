/* numpy.power for floating-point numbers: x to the power y, with the special cases of C99's pow.
   Method: 2^(y log2 |x|), with the logarithm as an unevaluated sum of two doubles, accurate to
   about 2^-66 (T. Dekker, A floating-point technique for extending the available precision, 1971).
   Single precision works in double, where a plain logarithm is enough.
   Largest error measured: 0.51 ulp in single, 0.9 ulp in double precision. */
static inline float power_f32(float x, float y)
{
    double a = (double)fabsf(x);
    double f = fraction_f64(a) - 1.0;
    double s = f / (2.0 + f);
    double s2 = s * s;
    double p = 0x1.5ce7ca7a4f41dp-2;
    p = multiply_add_f64(p, s2, 0x1.a58d8fa9b171fp-2);
    p = multiply_add_f64(p, s2, 0x1.27777fdb825eap-1);
    p = multiply_add_f64(p, s2, 0x1.ec709d12dd7b2p-1);
    p = multiply_add_f64(p, s2, 0x1.71547652bedeep+1);
    double logarithm = multiply_add_f64(p, s, exponent_f64(a));
    double product = (double)y * logarithm;
    product = product < -200.0 ? -200.0 : product;
    product = product > 200.0 ? 200.0 : product;
    return power_special_f32(x, y, (float)exp2_wide_f32(product));
}

static inline double power_f64(double x, double y)
{
    double a = fabs(x);
    double low;
    double logarithm = precise_log2_f64(exponent_f64(a), fraction_f64(a) - 1.0, &low);
    double product = y * logarithm;
    double rest = fma(y, logarithm, -product) + y * low;
    // where the result is 0 or infinity, the rest is meaningless and may be NaN
    rest = fabs(product) < 1100.0 ? rest : 0.0;
    product = product < -1100.0 ? -1100.0 : product;
    product = product > 1100.0 ? 1100.0 : product;
    double shifted = product + (0x1.8p52 + 2046.0);
    double k = shifted - (0x1.8p52 + 2046.0);
    double r = (product - k) + rest;
    double p = 0x1.e94b8af59fa6ap-32;
    p = multiply_add_f64(p, r, 0x1.e61ce97a7c692p-28);
    p = multiply_add_f64(p, r, 0x1.b5253d4e2571bp-24);
    p = multiply_add_f64(p, r, 0x1.62bfc6b4c96f3p-20);
    p = multiply_add_f64(p, r, 0x1.ffcbfc59f3e51p-17);
    p = multiply_add_f64(p, r, 0x1.4309130f33f4dp-13);
    p = multiply_add_f64(p, r, 0x1.5d87fe78a104ep-10);
    p = multiply_add_f64(p, r, 0x1.3b2ab6fb9ff52p-7);
    p = multiply_add_f64(p, r, 0x1.c6b08d704a122p-5);
    p = multiply_add_f64(p, r, 0x1.ebfbdff82c5a5p-3);
    p = multiply_add_f64(p, r, 0x1.62e42fefa39efp-1);
    double size = scale_f64(multiply_add_f64(p, r, 1.0), k, shifted);
    return power_special_f64(x, y, size);
}

/* x^y from size = |x|^y, which is meaningless where x is zero or infinite: the sign for odd y, NaN
   for negative x and fractional y, and the cases that are 1 whatever the other operand is. The
   conditions are combined by & and |, which do not branch; those of x alone are masks, as gcc has
   no vector of a condition that is the same in all iterations of a loop. */
static inline double power_special_f64(double x, double y, double size)
{
    uint64_t infinity = 0x7ff0000000000000u, zero = (uint64_t)(x == 0.0);
    uint64_t keep = (uint64_t)((x == 0.0) | (fabs(x) > 0x1.fffffffffffffp1023)) - 1;
    uint64_t limit = y > 0.0 ? infinity & (zero - 1) : infinity & (0 - zero);
    size = float_from_bits_f64((bits_f64(size) & keep) | (limit & ~keep));
    bool negative = bits_f64(x) >> 63 != 0;
    double half = 0.5 * y;
    bool whole = rint(y) == y;
    bool odd = whole & (rint(half) != half);
    double result = (negative & odd) ? -size : size;
    result = ((x < 0.0) & (x > -(double)INFINITY) & !whole) ? (double)NAN : result;
    result = ((x != x) | (y != y)) ? x + y : result;
    bool one = (x == 1.0) | ((x == -1.0) & (fabs(y) > 0x1.fffffffffffffp1023));
    return (one | (y == 0.0)) ? 1.0 : result;
}

/* The same for single precision, in as many lanes as that has. */
static inline float power_special_f32(float x, float y, float size)
{
    uint32_t infinity = 0x7f800000u, zero = (uint32_t)(x == 0.0f);
    uint32_t keep = (uint32_t)((x == 0.0f) | (fabsf(x) > 0x1.fffffep127f)) - 1;
    uint32_t limit = y > 0.0f ? infinity & (zero - 1) : infinity & (0 - zero);
    size = float_from_bits_f32((bits_f32(size) & keep) | (limit & ~keep));
    bool negative = bits_f32(x) >> 31 != 0;
    float half = 0.5f * y;
    bool whole = rintf(y) == y;
    bool odd = whole & (rintf(half) != half);
    float result = (negative & odd) ? -size : size;
    result = ((x < 0.0f) & (x > -(float)INFINITY) & !whole) ? (float)NAN : result;
    result = ((x != x) | (y != y)) ? x + y : result;
    bool one = (x == 1.0f) | ((x == -1.0f) & (fabsf(y) > 0x1.fffffep127f));
    return (one | (y == 0.0f)) ? 1.0f : result;
}

/* k + log2(1 + f), 1 + f in [sqrt(1/2), sqrt(2)), as an unevaluated sum: the result plus *low.
   With s = f / (2 + f): log(1 + f) = s (2 + s^2 (2/3 + s^2 P(s^2))), the first terms in two
   doubles. */
static inline double precise_log2_f64(double k, double f, double *low)
{
    double d = 2.0 + f;
    double d_low = f - (d - 2.0);
    double s = f / d;
    double s_low = (fma(-s, d, f) - s * d_low) / d;
    double s2 = s * s;
    double s2_low = fma(s, s, -s2) + 2.0 * s * s_low;
    double p = 0x1.eab9b7c69d907p-4;
    p = multiply_add_f64(p, s2, 0x1.de3ee8b95fbc5p-4);
    p = multiply_add_f64(p, s2, 0x1.112065da477d1p-3);
    p = multiply_add_f64(p, s2, 0x1.3b1365068f682p-3);
    p = multiply_add_f64(p, s2, 0x1.745d18287bf9dp-3);
    p = multiply_add_f64(p, s2, 0x1.c71c71c5981e3p-3);
    p = multiply_add_f64(p, s2, 0x1.2492492492f48p-2);
    p = multiply_add_f64(p, s2, 0x1.9999999999996p-2);
    double rest = p * s2;
    double third = 0x1.5555555555555p-1 + rest;
    double third_low = (0x1.5555555555555p-1 - third) + rest + 0x1.5555555555555p-55;
    double b = s2 * third;
    double b_low = fma(s2, third, -b) + (s2 * third_low + s2_low * third);
    double factor = 2.0 + b;
    double factor_low = (2.0 - factor) + b + b_low;
    double natural = s * factor;
    double natural_low = fma(s, factor, -natural) + (s * factor_low + s_low * factor);
    double product = natural * 0x1.71547652b82fep+0;
    double product_low = fma(natural, 0x1.71547652b82fep+0, -product);
    product_low += natural * 0x1.777d0ffda0d24p-56 + natural_low * 0x1.71547652b82fep+0;
    double sum = k + product;
    double sum_low = (k - sum) + product + product_low;
    double result = sum + sum_low;
    *low = sum_low - (result - sum);
    return result;
}
