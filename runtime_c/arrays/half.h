/* numpy.float16 (IEEE 754 binary16) and ml_dtypes.bfloat16 are passed and stored as their bits, in
   uint16_t, and computed as float. The conversions have no branches, so that compilers vectorise
   them; they round to nearest, ties to even, keep subnormals, and make NaNs quiet. */

typedef int16_t half_lanes_f16 __attribute__((vector_size(16)));

typedef float wide_lanes_f16 __attribute__((vector_size(32)));

/* numpy.ndarray.astype from float16 to float32, exact. */
static inline float convert_f16_f32(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000) << 16;
    uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    uint32_t normal = magnitude + (magnitude < 0x0f800000 ? 0x38000000 : 0x70000000);
    /* a subnormal plus 2^-14 is a normal number of a fixed exponent: subtract it again */
    float shifted = float_from_bits_f32(magnitude + 0x38800000);
    uint32_t subnormal = bits_f32(shifted - 0x1p-14f);
    return float_from_bits_f32(sign | (magnitude < 0x00800000 ? subnormal : normal));
}

/* numpy.ndarray.astype from float32 to float16. The carry of rounding propagates into the exponent,
   up to infinity. Adding 0.5 to a number below 2^-14 rounds it to a multiple of the smallest
   subnormal. */
static inline uint16_t convert_f32_f16(float x)
{
    uint32_t bits = bits_f32(x), magnitude = bits & 0x7fffffff;
    uint32_t sign = (bits ^ magnitude) >> 16;
    uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t subnormal = bits_f32(float_from_bits_f32(magnitude) + 0.5f) - 0x3f000000;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
    return (uint16_t)(sign | (magnitude < 0x47800000 ? finite : special));
}

/* numpy.ndarray.astype to float16 and back to float32. */
static inline float round_f16(float x)
{
    uint32_t bits = bits_f32(x), magnitude = bits & 0x7fffffff;
    uint32_t sign = bits ^ magnitude;
    uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1)) & 0xffffe000;
    uint32_t steps = bits_f32(float_from_bits_f32(magnitude) + 0.5f) - 0x3f000000;
    uint32_t subnormal = bits_f32((float)(int32_t)steps * 0x1p-24f);
    uint32_t special = magnitude > 0x7f800000 ? magnitude | 0x400000 : 0x7f800000;
    uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
    return float_from_bits_f32(sign | (magnitude < 0x477ff000 ? finite : special));
}

/* numpy.ndarray.astype from float16 to float32, of the next elements: of `size`, or those that are
   left. gcc 12 has no vector code for the instructions. Adjacent elements are converted alike: the
   last ones stand in a vector of their own. */
static inline void widen_each_f16(int64_t size, int64_t left, const uint16_t *x, float *out)
{
    const int64_t n = size < left ? size : left;
#ifdef __F16C__
    for (int64_t i = 0; i < n; i += 8) {
        const size_t count = n - i < 8 ? (size_t)(n - i) : 8;
        half_lanes_f16 halves = {0};
        wide_lanes_f16 wide;
        if (count == 8) {
            memcpy(&halves, x + i, sizeof halves);
            wide = __builtin_ia32_vcvtph2ps256(halves);
            memcpy(out + i, &wide, sizeof wide);
        } else {
            memcpy(&halves, x + i, count * sizeof *x);
            wide = __builtin_ia32_vcvtph2ps256(halves);
            memcpy(out + i, &wide, count * sizeof *out);
        }
    }
#else
    #pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = convert_f16_f32(x[i]);
#endif
}

/* numpy.ndarray.astype from float32 to float16, of the next elements: of `size`, or those that are
   left. */
static inline void round_each_f16(int64_t size, int64_t left, const float *x, uint16_t *out)
{
    const int64_t n = size < left ? size : left;
#ifdef __F16C__
    for (int64_t i = 0; i < n; i += 8) {
        const size_t count = n - i < 8 ? (size_t)(n - i) : 8;
        wide_lanes_f16 wide = {0};
        half_lanes_f16 halves;
        if (count == 8) {
            memcpy(&wide, x + i, sizeof wide);
            halves = __builtin_ia32_vcvtps2ph256(wide, 0);
            memcpy(out + i, &halves, sizeof halves);
        } else {
            memcpy(&wide, x + i, count * sizeof *x);
            halves = __builtin_ia32_vcvtps2ph256(wide, 0);
            memcpy(out + i, &halves, count * sizeof *out);
        }
    }
#else
    #pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = convert_f32_f16(x[i]);
#endif
}

/* numpy.ndarray.astype from float64 to float16, rounded once: the conversion to float rounds to
   odd, so that the bits it drops survive as a sticky bit for the second rounding. */
static inline uint16_t convert_f64_f16(double x)
{
    float near = (float)x;
    uint32_t away = fabs((double)near) > fabs(x), inexact = (double)near != x;
    return convert_f32_f16(float_from_bits_f32((bits_f32(near) - away) | inexact));
}

/* numpy.ndarray.astype from bfloat16 to float32, exact. */
static inline float convert_bf16_f32(uint16_t x)
{
    return float_from_bits_f32((uint32_t)x << 16);
}

/* The bits of a float rounded to bfloat16, which are zero below. */
static inline uint32_t rounded_bits_bf16(float x)
{
    uint32_t bits = bits_f32(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return (bits & 0x7fffffff) > 0x7f800000 ? (bits | 0x400000) & 0xffff0000 : rounded;
}

/* numpy.ndarray.astype from float32 to bfloat16. */
static inline uint16_t convert_f32_bf16(float x)
{
    return (uint16_t)(rounded_bits_bf16(x) >> 16);
}

/* numpy.ndarray.astype to bfloat16 and back to float32. */
static inline float round_bf16(float x)
{
    return float_from_bits_f32(rounded_bits_bf16(x));
}

/* numpy.nextafter for a 16-bit format whose infinity has these bits: magnitudes are ordered as
   their bits. Of equal numbers it is the second, as in C. */
static inline uint16_t half_nextafter(uint16_t x, uint16_t y, uint16_t infinity)
{
    int32_t x_size = x & 0x7fff, y_size = y & 0x7fff;
    int32_t from = x & 0x8000 ? -x_size : x_size, to = y & 0x8000 ? -y_size : y_size;
    int32_t next = from + (to > from) - (to < from);
    int32_t moved = next < 0 || (next == 0 && from < 0) ? 0x8000 - (next < 0 ? next : 0) : next;
    int32_t number = from == to ? y : moved;
    return (uint16_t)(x_size > infinity || y_size > infinity ? 0x7fff : number);
}

/* numpy.nextafter, of two zeros the second, as in NumPy from 2.5 on. */
static inline uint16_t nextafter_f16(uint16_t x, uint16_t y)
{
    return half_nextafter(x, y, 0x7c00);
}

/* numpy.nextafter of bfloat16 */
static inline uint16_t nextafter_bf16(uint16_t x, uint16_t y)
{
    return half_nextafter(x, y, 0x7f80);
}

/* numpy.spacing of float16: the distance to the next number above, positive as in NumPy. */
static inline uint16_t spacing_f16(uint16_t x)
{
    float next = convert_f16_f32(nextafter_f16(x, 0x7c00));
    return (x & 0x7fff) == 0x7c00 ? 0x7e00 : convert_f32_f16(next - convert_f16_f32(x));
}

/* numpy.spacing of bfloat16: the distance to the adjacent number away from zero, with the sign of
   x. */
static inline uint16_t spacing_bf16(uint16_t x)
{
    float next = convert_bf16_f32(nextafter_bf16(x, (uint16_t)((x & 0x8000) | 0x7f80)));
    return convert_f32_bf16(next - convert_bf16_f32(x));
}

/* numpy.absolute, of the bits. */
static inline uint16_t absolute_f16(uint16_t x)
{
    return x & 0x7fff;
}

/* numpy.absolute of bfloat16, of the bits. */
static inline uint16_t absolute_bf16(uint16_t x)
{
    return x & 0x7fff;
}

/* numpy.negative, of the bits. */
static inline uint16_t negative_f16(uint16_t x)
{
    return x ^ 0x8000;
}

/* numpy.negative of bfloat16, of the bits. */
static inline uint16_t negative_bf16(uint16_t x)
{
    return x ^ 0x8000;
}

/* numpy.copysign, of the bits. */
static inline uint16_t copysign_f16(uint16_t x, uint16_t y)
{
    return (uint16_t)((x & 0x7fff) | (y & 0x8000));
}

/* numpy.copysign of bfloat16, of the bits. */
static inline uint16_t copysign_bf16(uint16_t x, uint16_t y)
{
    return (uint16_t)((x & 0x7fff) | (y & 0x8000));
}
