/* numpy.log: the natural logarithm.
   Method: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]. Single precision: log(1 + f) = f -
   f^2/2 + f^3 P(f). Double precision: with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + s^2
   P(s^2)), which keeps f, the largest term, exact (after K. C. Ng's logarithm in fdlibm, Sun
   Microsystems, 1993). The exponent is converted by inserting it into the low bits of 2^52 (2^23).
   Largest error measured: 0.89 ulp in single, 0.81 ulp in double precision. */
static inline float log_f32(float x)
{
    return log_special_f32(x, log_of_parts_f32(exponent_f32(x), fraction_f32(x) - 1.0f));
}

static inline double log_f64(double x)
{
    return log_special_f64(x, log_of_parts_f64(exponent_f64(x), fraction_f64(x) - 1.0));
}

/* k log 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). */
static inline float log_of_parts_f32(float k, float f)
{
    float p = 0x1.13bf02p-4f;
    p = multiply_add_f32(p, f, -0x1.dd998ap-4f);
    p = multiply_add_f32(p, f, 0x1.e6dd0ap-4f);
    p = multiply_add_f32(p, f, -0x1.fc3e3p-4f);
    p = multiply_add_f32(p, f, 0x1.233af6p-3f);
    p = multiply_add_f32(p, f, -0x1.555b8cp-3f);
    p = multiply_add_f32(p, f, 0x1.99a478p-3f);
    p = multiply_add_f32(p, f, -0x1.000008p-2f);
    p = multiply_add_f32(p, f, 0x1.555548p-2f);
    p = multiply_add_f32(p, f, -0.5f);
    float tail = multiply_add_f32(k, -0x1.bd0106p-13f, p * (f * f));
    return multiply_add_f32(k, 0x1.63p-1f, f + tail);
}

static inline double log_of_parts_f64(double k, double f)
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
    double low = k * 0x1.ef35793c7673p-45;
    double tail = multiply_add_f64(s, multiply_add_f64(p, s2, half_square), low);
    return multiply_add_f64(k, 0x1.62e42fefa38p-1, f - (half_square - tail));
}

/* log(x) where `regular` is meaningless: x zero, negative, infinite or NaN. Masks instead of choices:
   gcc would make all that follows, such as the comparisons of arctan2, once for each constant. */
static inline float log_special_f32(float x, float regular)
{
    uint32_t bits = bits_f32(x), is_zero = 0u - (uint32_t)(bits + bits == 0);
    uint32_t nan = (0u - (bits >> 31)) & 0x7fc00000u;
    uint32_t result = bits_f32(x < INFINITY ? regular : x) | nan;
    return float_from_bits_f32((result & ~is_zero) | (is_zero & 0xff800000u));
}

static inline double log_special_f64(double x, double regular)
{
    uint64_t bits = bits_f64(x), is_zero = 0u - (uint64_t)(bits + bits == 0);
    uint64_t nan = (0u - (bits >> 63)) & 0x7ff8000000000000u;
    uint64_t result = bits_f64(x < (double)INFINITY ? regular : x) | nan;
    return float_from_bits_f64((result & ~is_zero) | (is_zero & 0xfff0000000000000u));
}

/* k and m of x = 2^k m, m in [sqrt(1/2), sqrt(2)), for positive finite x; subnormal x too. */
static inline float exponent_f32(float x)
{
    uint32_t bits = normal_bits_f32(x) + (0x40000000u - 0x3f3504f3u);
    uint32_t shift = (int32_t)bits_f32(x) < 0x00800000 ? 24u : 0u;
    return float_from_bits_f32((bits >> 23) + (0x4b400000u - shift)) - (0x1.8p23f + 128.0f);
}

static inline float fraction_f32(float x)
{
    uint32_t bits = normal_bits_f32(x) + (0x40000000u - 0x3f3504f3u);
    return float_from_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u);
}

static inline double exponent_f64(double x)
{
    uint64_t bits = normal_bits_f64(x) + (0x4000000000000000u - 0x3fe6a09e667f3bcdu);
    uint64_t shift = (int64_t)bits_f64(x) < 0x0010000000000000 ? 54u : 0u;
    return float_from_bits_f64((bits >> 52) + (0x4338000000000000u - shift)) - (0x1.8p52 + 1024.0);
}

static inline double fraction_f64(double x)
{
    uint64_t bits = normal_bits_f64(x) + (0x4000000000000000u - 0x3fe6a09e667f3bcdu);
    return float_from_bits_f64((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
}

/* The same where x is no subnormal number. The bits of sqrt(1/2) are subtracted before the exponent
   is read, which moves the boundary. */
static inline float normal_exponent_f32(float x)
{
    uint32_t bits = bits_f32(x) + (0x40000000u - 0x3f3504f3u);
    return float_from_bits_f32((bits >> 23) + 0x4b000000u) - (0x1p23f + 128.0f);
}

static inline float normal_fraction_f32(float x)
{
    uint32_t bits = bits_f32(x) + (0x40000000u - 0x3f3504f3u);
    return float_from_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u);
}

static inline double normal_exponent_f64(double x)
{
    uint64_t bits = bits_f64(x) + (0x4000000000000000u - 0x3fe6a09e667f3bcdu);
    return float_from_bits_f64((bits >> 52) + 0x4330000000000000u) - (0x1p52 + 1024.0);
}

static inline double normal_fraction_f64(double x)
{
    uint64_t bits = bits_f64(x) + (0x4000000000000000u - 0x3fe6a09e667f3bcdu);
    return float_from_bits_f64((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
}

/* The bits of x, or of x times a power of two that makes a subnormal number normal. A choice of
   integers: behind a choice of floats, gcc computes all that follows for both of its arms. */
static inline uint32_t normal_bits_f32(float x)
{
    uint32_t bits = bits_f32(x), larger = bits_f32(x * 0x1p24f);
    return (int32_t)bits < 0x00800000 ? larger : bits;
}

static inline uint64_t normal_bits_f64(double x)
{
    uint64_t bits = bits_f64(x), larger = bits_f64(x * 0x1p54);
    return (int64_t)bits < 0x0010000000000000 ? larger : bits;
}
