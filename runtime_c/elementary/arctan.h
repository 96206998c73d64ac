/* numpy.arctan: the inverse tangent, in [-pi / 2, pi / 2].
   Method: with -1 / x beyond 2, and (x - 1) / (x + 1) beyond 1/2, one division brings the argument
   to at most 1/2 in size, at the cost of adding pi / 2 or pi / 4 (compare Cody and Waite, Software
   Manual for the Elementary Functions, 1980); an odd minimax polynomial does the rest.
   Largest error measured: 1.7 ulp in single, 1.9 ulp in double precision. */
static inline float arctan_f32(float x)
{
    float a = fabsf(x);
    // masks, as gcc writes nested choices for each combination of their conditions; in double
    // precision SSE2 makes none of comparisons
    uint32_t large = 0u - (uint32_t)(a > 2.0f), middle = 0u - (uint32_t)(a > 0.5f);
    uint32_t one = bits_f32(1.0f), twice = large & ((uint32_t)1 << 23);
    float numerator = a - float_from_bits_f32(middle & one);
    numerator = a > 2.0f ? -1.0f : numerator;
    float denominator = float_from_bits_f32(middle & bits_f32(a)) + 1.0f;
    denominator = a > 2.0f ? a : denominator;
    float angle = arctan_small_f32(numerator / denominator);
    float offset = float_from_bits_f32((middle & bits_f32(0x1.921fb6p-1f)) + twice);
    float missed = float_from_bits_f32((middle & bits_f32(-0x1.777a5cp-26f)) + twice);
    return copysignf(offset + (angle + missed), x);
}

static inline double arctan_f64(double x)
{
    double a = fabs(x);
    bool large = a > 2.0;
    bool middle = a > 0.5;
    double numerator = large ? -1.0 : middle ? a - 1.0 : a;
    double angle = arctan_small_f64(numerator / (large ? a : middle ? a + 1.0 : 1.0));
    double offset = large ? 0x1.921fb54442d18p+0 : middle ? 0x1.921fb54442d18p-1 : 0.0;
    double missed = large ? 0x1.1a62633145c07p-54 : middle ? 0x1.1a62633145c07p-55 : 0.0;
    return copysign(offset + (angle + missed), x);
}

/* arctan(r) for |r| <= 1/2. */
static inline float arctan_small_f32(float r)
{
    float r2 = r * r;
    float p = 0x1.3fd504p-5f;
    p = multiply_add_f32(p, r2, -0x1.480d2ep-4f);
    p = multiply_add_f32(p, r2, 0x1.c07266p-4f);
    p = multiply_add_f32(p, r2, -0x1.24503p-3f);
    p = multiply_add_f32(p, r2, 0x1.999744p-3f);
    p = multiply_add_f32(p, r2, -0x1.555552p-2f);
    return multiply_add_f32(p * r2, r, r);
}

static inline double arctan_small_f64(double r)
{
    double r2 = r * r;
    double p = 0x1.4b8432cf668fap-7;
    p = multiply_add_f64(p, r2, -0x1.c17ffbd6709afp-6);
    p = multiply_add_f64(p, r2, 0x1.56f5d8d71072ep-5);
    p = multiply_add_f64(p, r2, -0x1.a3986f2b34ff7p-5);
    p = multiply_add_f64(p, r2, 0x1.dfe97a85ba7bp-5);
    p = multiply_add_f64(p, r2, -0x1.10f31f5c539cdp-4);
    p = multiply_add_f64(p, r2, 0x1.3b113dc8cb69ep-4);
    p = multiply_add_f64(p, r2, -0x1.745cf4cbcf60fp-4);
    p = multiply_add_f64(p, r2, 0x1.c71c7090f02aap-4);
    p = multiply_add_f64(p, r2, -0x1.249249215dfc1p-3);
    p = multiply_add_f64(p, r2, 0x1.9999999991146p-3);
    p = multiply_add_f64(p, r2, -0x1.5555555555516p-2);
    return multiply_add_f64(p * r2, r, r);
}
