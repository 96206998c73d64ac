/* numpy.hypot: sqrt(x^2 + y^2) without intermediate overflow or underflow.
   Method: single precision in double; double precision scaled by a power of two where the larger
   operand is extreme.
   Largest error measured: 0.51 ulp in single, 1.0 ulp in double precision. */
static inline float hypot_f32(float x, float y)
{
    double a = (double)x;
    double b = (double)y;
    float result = (float)sqrt(multiply_add_f64(a, a, b * b));
    result = fabsf(x) > 0x1.fffffep127f ? INFINITY : result;
    return fabsf(y) > 0x1.fffffep127f ? INFINITY : result;
}

/* The same for programs without double precision: scaled as that one is. Largest error measured:
   1.0 ulp. */
static inline float hypot_single_f32(float x, float y)
{
    float a = fabsf(x);
    float b = fabsf(y);
    float large = a > b ? a : b;
    float small = a > b ? b : a;
    float scale = large > 0x1p60f ? 0x1p-80f : large < 0x1p-50f ? 0x1p100f : 1.0f;
    float back = large > 0x1p60f ? 0x1p80f : large < 0x1p-50f ? 0x1p-100f : 1.0f;
    large *= scale;
    small *= scale;
    float result = sqrtf(multiply_add_f32(large, large, small * small)) * back;
    bool infinite = (a > 0x1.fffffep127f) | (b > 0x1.fffffep127f);
    return infinite ? INFINITY : result;
}

static inline double hypot_f64(double x, double y)
{
    double a = fabs(x);
    double b = fabs(y);
    double large = a > b ? a : b;
    double small = a > b ? b : a;
    double scale = large > 0x1p500 ? 0x1p-600 : large < 0x1p-450 ? 0x1p600 : 1.0;
    double back = large > 0x1p500 ? 0x1p600 : large < 0x1p-450 ? 0x1p-600 : 1.0;
    large *= scale;
    small *= scale;
    double result = sqrt(multiply_add_f64(large, large, small * small)) * back;
    bool infinite = (a > 0x1.fffffffffffffp1023) | (b > 0x1.fffffffffffffp1023);
    return infinite ? (double)INFINITY : result;
}
