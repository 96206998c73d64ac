/* numpy.hypot: sqrt(x^2 + y^2) without intermediate overflow or underflow.
   Method: single precision in double; double precision scaled by a power of two where the larger
   operand is extreme. Infinities are masks, or are chosen of the operands, not of the result: gcc
   finds no vector code for a comparison of a choice.
   Largest error measured: 0.51 ulp in single, 1.0 ulp in double precision. */
static inline float hypot_f32(float x, float y)
{
    bool infinite = (fabsf(x) > 0x1.fffffep127f) | (fabsf(y) > 0x1.fffffep127f);
    double a = infinite ? (double)INFINITY : (double)x;
    double b = infinite ? 0.0 : (double)y;
    return (float)sqrt(multiply_add_f64(a, a, b * b));
}

/* The same for programs without double precision: scaled as that one is. Largest error measured:
   1.0 ulp. */
static inline float hypot_single_f32(float x, float y)
{
    float a = fabsf(x);
    float b = fabsf(y);
    float large = a > b ? a : b;
    float small = a > b ? b : a;
    uint32_t up = large < 0x1p-50f ? (uint32_t)100 << 23 : 0u;
    uint32_t down = large > 0x1p60f ? (uint32_t)80 << 23 : 0u;
    float scale = float_from_bits_f32(0x3f800000u + up - down);
    float back = float_from_bits_f32(0x3f800000u + down - up);
    large *= scale;
    small *= scale;
    float size = sqrtf(multiply_add_f32(large, large, small * small)) * back;
    uint32_t infinite = 0u - (uint32_t)((a > 0x1.fffffep127f) | (b > 0x1.fffffep127f));
    return float_from_bits_f32((bits_f32(size) & ~infinite) | (infinite & 0x7f800000u));
}

static inline double hypot_f64(double x, double y)
{
    double a = fabs(x);
    double b = fabs(y);
    double large = a > b ? a : b;
    double small = a > b ? b : a;
    uint64_t up = large < 0x1p-450 ? (uint64_t)600 << 52 : 0u;
    uint64_t down = large > 0x1p500 ? (uint64_t)600 << 52 : 0u;
    double scale = float_from_bits_f64(0x3ff0000000000000u + up - down);
    double back = float_from_bits_f64(0x3ff0000000000000u + down - up);
    large *= scale;
    small *= scale;
    double size = sqrt(multiply_add_f64(large, large, small * small)) * back;
    uint64_t infinite = 0u - (uint64_t)((a > 0x1.fffffffffffffp1023) | (b > 0x1.fffffffffffffp1023));
    return float_from_bits_f64((bits_f64(size) & ~infinite) | (infinite & 0x7ff0000000000000u));
}
