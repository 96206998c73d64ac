/* numpy.ldexp: x * 2^k for an integer k in [-1080, 1030] ([-155, 130] in single precision),
   multiplied by 2^(k/2) and then by 2^(k - k/2), both normal numbers. The first product is exact.
   `shifted` is k + (1.5 * 2^52 + 2046) (k + (1.5 * 2^23 + 254) in single precision): its low bits
   hold k plus twice the exponent bias. */
static inline float scale_f32(float x, float k, float shifted)
{
    float half = multiply_add_f32(k, 0.5f, 0x1.8p23f + 127.0f);
    float first = float_from_bits_f32(bits_f32(half) << 23);
    float second = float_from_bits_f32((bits_f32(shifted) - bits_f32(half)) << 23);
    return x * first * second;
}

static inline double scale_f64(double x, double k, double shifted)
{
    double half = multiply_add_f64(k, 0.5, 0x1.8p52 + 1023.0);
    double first = float_from_bits_f64(bits_f64(half) << 52);
    double second = float_from_bits_f64((bits_f64(shifted) - bits_f64(half)) << 52);
    return x * first * second;
}

/* (x * y + 1) * 2^k, with the bits of scale, and with a sign, which is its bit or 0: powers of two are
   exact, and the first one is multiplied while x is not known yet. */
static inline double scaled_product_f64(double x, double y, double k, double shifted, uint64_t sign)
{
    double half = multiply_add_f64(k, 0.5, 0x1.8p52 + 1023.0);
    double first = float_from_bits_f64(bits_f64(half) << 52);
    double second = float_from_bits_f64(((bits_f64(shifted) - bits_f64(half)) << 52) | sign);
    return multiply_add_f64(x, y * first, first) * second;
}
