/* numpy.power for floating-point numbers: x to the power y, with the special cases of C99's pow.
   Method: 2^(y log2 |x|), with the logarithm as an unevaluated sum of two doubles, accurate to
   about 2^-65 (T. Dekker, A floating-point technique for extending the available precision, 1971).
   Single precision works in double, where a plain logarithm is enough.
   Largest error measured: 0.51 ulp in single, 0.9 ulp in double precision. */
static inline float power_f32(float x, float y)
{
    float size = fabsf(x);
    double a = (double)size;
    double f = normal_fraction_f64(a) - 1.0;
    double s = f / (2.0 + f);
    double s2 = s * s;
    double p = 0x1.5ce7ca7a4f41dp-2;
    p = multiply_add_f64(p, s2, 0x1.a58d8fa9b171fp-2);
    p = multiply_add_f64(p, s2, 0x1.27777fdb825eap-1);
    p = multiply_add_f64(p, s2, 0x1.ec709d12dd7b2p-1);
    p = multiply_add_f64(p, s2, 0x1.71547652bedeep+1);
    double logarithm = multiply_add_f64(p, s, normal_exponent_f64(a));
    // one to an infinite power is one
    double product = (double)(size == 1.0f ? 0.0f : y) * logarithm;
    product = fabs(product) < 200.0 ? product : copysign(200.0, product);
    return power_special_f32(x, y, (float)exp2_wide_f32(product));
}

static inline double power_f64(double x, double y)
{
    double a = fabs(x);
    double low;
    double logarithm = precise_log2_f64(exponent_f64(a), fraction_f64(a), &low);
    double factor = a == 1.0 ? 0.0 : y;
    double product = factor * logarithm;
    double rest = fma(factor, low, fma(factor, logarithm, -product));
    // where the result is 0 or infinity, the rest is meaningless and may be NaN
    bool inside = fabs(product) < 1100.0;
    rest = inside ? rest : 0.0;
    product = inside ? product : copysign(1100.0, product);
    double shifted = product + (0x1.8p52 + 2046.0);
    double k = shifted - (0x1.8p52 + 2046.0);
    double r = (product - k) + rest;
    double r2 = r * r, r4 = r2 * r2;
    double p = multiply_add_f64(0x1.e61ce97a7c692p-28, r, 0x1.b5253d4e2571bp-24);
    p = multiply_add_f64(0x1.e94b8af59fa6ap-32, r2, p);
    double middle = multiply_add_f64(0x1.62bfc6b4c96f3p-20, r, 0x1.ffcbfc59f3e51p-17);
    double first = multiply_add_f64(0x1.4309130f33f4dp-13, r, 0x1.5d87fe78a104ep-10);
    p = multiply_add_f64(p, r4, multiply_add_f64(middle, r2, first));
    first = multiply_add_f64(0x1.c6b08d704a122p-5, r, 0x1.ebfbdff82c5a5p-3);
    p = multiply_add_f64(p, r2 * r, multiply_add_f64(0x1.3b2ab6fb9ff52p-7, r2, first));
    p = multiply_add_f64(p, r, 0x1.62e42fefa39efp-1);
    double power = scaled_product_f64(p, r, k, shifted, power_sign_f64(x, y));
    return power_special_f64(x, y, power);
}

/* x^y from |x|^y, which is meaningless where x is zero or infinite: the sign for odd y, NaN for
   negative x and fractional y, and the cases that are 1 whatever the other operand is. A limit
   for x zero or infinite is |x| or, for negative y, the other one of the two. What depends on
   several conditions is made of masks, as gcc writes nested choices for each of their
   combinations. */
static inline float power_special_f32(float x, float y, float power)
{
    uint32_t size = bits_f32(x) & 0x7fffffffu, is_negative = 0u - (bits_f32(x) >> 31);
    float limit = float_from_bits_f32(size ^ ((0u - (bits_f32(y) >> 31)) & 0x7f800000u));
    uint32_t is_regular = 0u - (uint32_t)(size - 1 < 0x7f7fffffu);
    float result = is_regular ? power : limit;
    // larger numbers are even
    uint32_t large = bits_f32(y) & 0x7fffffffu;
    float near = float_from_bits_f32(large < 0x4c000000u ? large : 0x4c000000u);
    int32_t integer = (int32_t)near;
    uint32_t sign = (uint32_t)integer << 31;
    sign = (float)integer == near ? sign : is_regular & 0x7fc00000u;
    result = float_from_bits_f32(bits_f32(result) | (sign & is_negative));
    result = ((x != x) | (y != y)) ? x + y : result;
    return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : result;
}

/* The bit of the sign of x^y: x is negative, and y is odd. Compilers know the trunc of a constant, not
   the rint. */
static inline uint64_t power_sign_f64(double x, double y)
{
    double half = 0.5 * y;
    uint64_t is_odd = (trunc(y) == y) & (trunc(half) != half);
    return (is_odd << 63) & bits_f64(x);
}

/* x^y from what it is for finite x that are not 0, and y that are integers where x is negative. The
   other values wait for no logarithm. */
static inline double power_special_f64(double x, double y, double power)
{
    uint64_t size = bits_f64(x) & 0x7fffffffffffffffu;
    bool is_regular = size - 1 < 0x7fefffffffffffffu;
    // |x| or, for negative y, the other one of 0 and infinity
    uint64_t limit = size ^ ((0u - (bits_f64(y) >> 63)) & 0x7ff0000000000000u);
    limit = is_regular ? 0x7ff8000000000000u : limit | power_sign_f64(x, y);
    double other = float_from_bits_f64(limit);
    other = ((x != x) | (y != y)) ? x + y : other;
    other = ((x == 1.0) | (y == 0.0)) ? 1.0 : other;
    bool is_usual = is_regular & ((trunc(y) == y) | (x > 0.0)) & (y == y);
    return is_usual ? power : other;
}

/* k + log2(m), m in [sqrt(1/2), sqrt(2)), as an unevaluated sum: the result plus *low. With
   s = (m - 1) / (m + 1): log2(m) = s (a + s^2 (b + s^2 P(s^2))), a = 2 / log 2 and b = a / 3 in
   two doubles each. The chain of operations is long: polynomials are evaluated by Estrin's scheme,
   and what is known early is added early. */
static inline double precise_log2_f64(double k, double m, double *low)
{
    double f = m - 1.0, d = m + 1.0;
    double d_low = m - (d - 1.0);
    double reciprocal = 1.0 / d;
    double s = f * reciprocal;
    double s_low = fma(-s, d_low, fma(-s, d, f)) * reciprocal;
    double s2 = s * s;
    double s2_low = fma(s + s, s_low, fma(s, s, -s2));
    double s4 = s2 * s2;
    double p = multiply_add_f64(0x1.85e20f29e66f7p-3, s2, 0x1.87b187ec2e958p-3);
    p = multiply_add_f64(p, s2, 0x1.c69f8363bedafp-3);
    double middle = multiply_add_f64(0x1.0c9a63ef95ee8p-2, s2, 0x1.484b14214de53p-2);
    double first = multiply_add_f64(0x1.a61762a759f4dp-2, s2, 0x1.2776c50ef9d22p-1);
    p = multiply_add_f64(multiply_add_f64(p, s4, middle), s4, first);
    double tail = p * s2;
    double third = 0x1.ec709dc3a03fdp-1 + tail;
    double third_low = (0x1.ec709dc3a03fdp-1 - third) + tail;
    double square = s2 * third;
    double square_low = fma(s2_low, third, fma(s2, 0x1.d27f05548af0cp-55, 0x1.777d0ffda0d24p-55));
    square_low = fma(s2, third, -square) + fma(s2, third_low, square_low);
    double factor = 0x1.71547652b82fep+1 + square;
    double factor_low = (0x1.71547652b82fep+1 - factor) + square + square_low;
    double product = s * factor;
    double product_low = fma(s, factor, -product) + fma(s, factor_low, s_low * factor);
    double sum = k + product;
    *low = (k - sum) + product + product_low;
    return sum;
}
