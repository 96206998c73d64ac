/* numpy.arctan2: the angle of the point (x, y), in [-pi, pi].
   Method: the smaller coordinate over the larger is in [0, 1]; above 1/2 it is replaced by the
   difference over the sum, a rotation by pi / 4. An odd minimax polynomial gives the arctangent of
   the reduced argument, to which a multiple of pi / 4, in two parts, is added.
   Largest error measured: 1.6 ulp in single, 2.0 ulp in double precision. */
static inline float arctan2_f32(float y, float x)
{
    float a = fabsf(y);
    float b = fabsf(x);
    float large = a > b ? a : b;
    float small = a > b ? b : a;
    // two zeros lie on an axis, two infinities on a diagonal; huge numbers must not overflow
    large = large == 0.0f ? 1.0f : large;
    float scale = large > 0x1p100f ? 0x1p-10f : 1.0f;
    bool both_infinite = small > 0x1.fffffep127f;
    large = both_infinite ? 1.0f : large * scale;
    small = both_infinite ? 1.0f : small * scale;
    bool middle = small > large * 0.5f;
    float numerator = middle ? small - large : small;
    float angle = arctan_small_f32(numerator / (middle ? small + large : large));
    // masks, as gcc writes nested choices for each combination of their conditions
    uint32_t steep = 0u - (uint32_t)(a > b), left = 0u - (bits_f32(x) >> 31);
    uint32_t sign = 0x80000000u;
    float eighths = middle ? 1.0f : 0.0f;
    eighths = float_from_bits_f32(bits_f32(eighths) ^ (steep & sign));
    eighths += float_from_bits_f32(steep & 0x40000000u); // 2 - eighths
    eighths = float_from_bits_f32(bits_f32(eighths) ^ (left & sign));
    eighths += float_from_bits_f32(left & 0x40800000u); // 4 - eighths
    angle = float_from_bits_f32(bits_f32(angle) ^ ((steep ^ left) & sign));
    float offset = eighths * 0x1.921fb6p-1f;
    float missed = fmaf(eighths, 0x1.921fb6p-1f, -offset);
    missed = multiply_add_f32(eighths, -0x1.777a5cp-26f, missed);
    float result = copysignf(offset + (angle + missed), y);
    return ((x != x) | (y != y)) ? x + y : result;
}

static inline double arctan2_f64(double y, double x)
{
    double a = fabs(y);
    double b = fabs(x);
    double large = a > b ? a : b;
    double small = a > b ? b : a;
    large = large == 0.0 ? 1.0 : large;
    double scale = large > 0x1p1000 ? 0x1p-10 : 1.0;
    bool both_infinite = small > 0x1.fffffffffffffp1023;
    large = both_infinite ? 1.0 : large * scale;
    small = both_infinite ? 1.0 : small * scale;
    bool middle = small > large * 0.5;
    double numerator = middle ? small - large : small;
    double angle = arctan_small_f64(numerator / (middle ? small + large : large));
    // masks, as gcc writes nested choices for each combination of their conditions
    uint64_t steep = 0u - (uint64_t)(a > b), left = 0u - (bits_f64(x) >> 63);
    uint64_t sign = 0x8000000000000000u;
    double eighths = middle ? 1.0 : 0.0;
    eighths = float_from_bits_f64(bits_f64(eighths) ^ (steep & sign));
    eighths += float_from_bits_f64(steep & 0x4000000000000000u); // 2 - eighths
    eighths = float_from_bits_f64(bits_f64(eighths) ^ (left & sign));
    eighths += float_from_bits_f64(left & 0x4010000000000000u); // 4 - eighths
    angle = float_from_bits_f64(bits_f64(angle) ^ ((steep ^ left) & sign));
    double offset = eighths * 0x1.921fb54442d18p-1;
    double missed = fma(eighths, 0x1.921fb54442d18p-1, -offset);
    missed = multiply_add_f64(eighths, 0x1.1a62633145c07p-55, missed);
    double result = copysign(offset + (angle + missed), y);
    return ((x != x) | (y != y)) ? x + y : result;
}
