/* numpy.frexp, first result: the mantissa m of x = m * 2^exponent, 0.5 <= |m| < 1; zeros, infinities
   and NaN are their own. */
static inline float frexp_mantissa_f32(float x)
{
    float size = fabsf(x);
    uint32_t bits = bits_f32(size < 0x1p-126f ? x * 0x1p24f : x);
    float mantissa = float_from_bits_f32((bits & 0x807fffffu) | 0x3f000000u);
    return ((size > 0.0f) & (size < INFINITY)) ? mantissa : x;
}

static inline double frexp_mantissa_f64(double x)
{
    double size = fabs(x);
    uint64_t bits = bits_f64(size < 0x1p-1022 ? x * 0x1p54 : x);
    double mantissa = float_from_bits_f64((bits & 0x800fffffffffffffu) | 0x3fe0000000000000u);
    return ((size > 0.0) & (size < (double)INFINITY)) ? mantissa : x;
}

/* numpy.frexp, second result: the exponent; 0 for zeros, infinities and NaN. */
static inline int32_t frexp_exponent_f32(float x)
{
    float size = fabsf(x);
    bool subnormal = size < 0x1p-126f;
    int32_t biased = (int32_t)(bits_f32(subnormal ? size * 0x1p24f : size) >> 23);
    return ((size > 0.0f) & (size < INFINITY)) ? biased - (subnormal ? 150 : 126) : 0;
}

static inline int32_t frexp_exponent_f64(double x)
{
    double size = fabs(x);
    bool subnormal = size < 0x1p-1022;
    int64_t biased = (int64_t)(bits_f64(subnormal ? size * 0x1p54 : size) >> 52);
    int64_t exponent = biased - (subnormal ? 1076 : 1022);
    return (int32_t)(((size > 0.0) & (size < (double)INFINITY)) ? exponent : 0);
}

/* numpy.ldexp: x * 2^y, rounded once.
   Method: single precision in double. In double precision two factors bring exponents of any size
   into the range of the last one: powers of two, of which those below 1 leave a number that is not
   subnormal, or one so small that the result is 0 (after musl's scalbn). */
static inline float ldexp_scaled_f32(float x, int64_t y)
{
    y = y > 300 ? 300 : y < -300 ? -300 : y;
    return (float)((double)x * float_from_bits_f64((uint64_t)(y + 1023) << 52));
}

static inline double ldexp_scaled_f64(double x, int64_t y)
{
    double first = y > 1023 ? 0x1p1023 : y < -1022 ? 0x1p-969 : 1.0;
    y -= y > 1023 ? 1023 : y < -1022 ? -969 : 0;
    double second = y > 1023 ? 0x1p1023 : y < -1022 ? 0x1p-969 : 1.0;
    y -= y > 1023 ? 1023 : y < -1022 ? -969 : 0;
    y = y > 1023 ? 1023 : y < -1022 ? -1022 : y;
    return x * first * second * float_from_bits_f64((uint64_t)(y + 1023) << 52);
}

/* numpy.nextafter: the bits of numbers of a sign are in the order of their sizes. */
static inline float nextafter_f32(float x, float y)
{
    uint32_t bits = bits_f32(x) + ((y > x) == (x > 0.0f) ? 1u : 0xffffffffu);
    bits = x == 0.0f ? (bits_f32(y) & 0x80000000u) + 1u : bits;
    float next = x == y ? y : float_from_bits_f32(bits);
    return ((x != x) | (y != y)) ? x + y : next;
}

static inline double nextafter_f64(double x, double y)
{
    uint64_t bits = bits_f64(x) + ((y > x) == (x > 0.0) ? 1u : 0xffffffffffffffffu);
    bits = x == 0.0 ? (bits_f64(y) & 0x8000000000000000u) + 1u : bits;
    double next = x == y ? y : float_from_bits_f64(bits);
    return ((x != x) | (y != y)) ? x + y : next;
}

/* numpy.spacing: the distance to the adjacent number away from zero, with the sign of x. */
static inline F spacing_F(F x)
{
    return nextafter_F(x, x < 0 ? -(F)INFINITY : (F)INFINITY) - x;
}

/* numpy.heaviside: 0 below zero, 1 above, y at zero. */
static inline F heaviside_F(F x, F y)
{
    return x != x ? x : x == 0 ? y : x < 0 ? 0 : 1;
}

/* numpy.rint of complex numbers: rounds real and imaginary part. */
static inline C rint_C(C x)
{
    return make_complex_R(rint_R(real_C(x)), rint_R(imag_C(x)));
}
