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

/* log(x) where `regular` is meaningless: x zero, negative, infinite or NaN. */
static inline float log_special_f32(float x, float regular)
{
    float finite = x > 0.0f ? regular : x == 0.0f ? -INFINITY : NAN;
    return x < INFINITY ? finite : x;
}

static inline double log_special_f64(double x, double regular)
{
    double finite = x > 0.0 ? regular : x == 0.0 ? -(double)INFINITY : (double)NAN;
    return x < (double)INFINITY ? finite : x;
}

/* k and m of x = 2^k m, m in [sqrt(1/2), sqrt(2)), for positive finite x; subnormal x too. The
   bits of sqrt(1/2) are subtracted before the exponent is read, which moves the boundary. */
static inline float exponent_f32(float x)
{
    bool subnormal = x < 0x1p-126f;
    uint32_t bits = bits_f32(subnormal ? x * 0x1p24f : x);
    bits += 0x40000000u - 0x3f3504f3u;
    float biased = float_from_bits_f32((bits >> 23) | 0x4b000000u);
    return biased - (subnormal ? 0x1p23f + 152.0f : 0x1p23f + 128.0f);
}

static inline float fraction_f32(float x)
{
    uint32_t bits = bits_f32(x < 0x1p-126f ? x * 0x1p24f : x);
    bits += 0x40000000u - 0x3f3504f3u;
    return float_from_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u);
}

static inline double exponent_f64(double x)
{
    bool subnormal = x < 0x1p-1022;
    uint64_t bits = bits_f64(subnormal ? x * 0x1p54 : x);
    bits += 0x4000000000000000u - 0x3fe6a09e667f3bcdu;
    double biased = float_from_bits_f64((bits >> 52) | 0x4330000000000000u);
    return biased - (subnormal ? 0x1p52 + 1078.0 : 0x1p52 + 1024.0);
}

static inline double fraction_f64(double x)
{
    uint64_t bits = bits_f64(x < 0x1p-1022 ? x * 0x1p54 : x);
    bits += 0x4000000000000000u - 0x3fe6a09e667f3bcdu;
    return float_from_bits_f64((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
}
