/* numpy.ndarray.astype from floats to integers: truncation. Values out of range, infinities and
   NaN, which C leaves undefined, give what x86's conversion instructions give: INT32_MIN or
   INT64_MIN, truncated to the width. */
static inline int32_t convert_f32_i32(float x)
{
    return fabsf(x) < 2147483648.0f ? (int32_t)x : INT32_MIN;
}

static inline int64_t convert_f32_i64(float x)
{
    return fabsf(x) < 9223372036854775808.0f ? (int64_t)x : INT64_MIN;
}

static inline int8_t convert_f32_i8(float x)
{
    return (int8_t)convert_f32_i32(x);
}

static inline int16_t convert_f32_i16(float x)
{
    return (int16_t)convert_f32_i32(x);
}

static inline uint8_t convert_f32_u8(float x)
{
    return (uint8_t)convert_f32_i32(x);
}

static inline uint16_t convert_f32_u16(float x)
{
    return (uint16_t)convert_f32_i32(x);
}

static inline uint32_t convert_f32_u32(float x)
{
    return (uint32_t)convert_f32_i64(x);
}

static inline uint64_t convert_f32_u64(float x)
{
    return x >= 9223372036854775808.0f ? (uint64_t)convert_f32_i64(x - 9223372036854775808.0f) + (UINT64_C(1) << 63)
                      : (uint64_t)convert_f32_i64(x);
}

static inline int32_t convert_f64_i32(double x)
{
    return fabs(x) < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t convert_f64_i64(double x)
{
    return fabs(x) < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

static inline int8_t convert_f64_i8(double x)
{
    return (int8_t)convert_f64_i32(x);
}

static inline int16_t convert_f64_i16(double x)
{
    return (int16_t)convert_f64_i32(x);
}

static inline uint8_t convert_f64_u8(double x)
{
    return (uint8_t)convert_f64_i32(x);
}

static inline uint16_t convert_f64_u16(double x)
{
    return (uint16_t)convert_f64_i32(x);
}

static inline uint32_t convert_f64_u32(double x)
{
    return (uint32_t)convert_f64_i64(x);
}

static inline uint64_t convert_f64_u64(double x)
{
    return x >= 9223372036854775808.0 ? (uint64_t)convert_f64_i64(x - 9223372036854775808.0) + (UINT64_C(1) << 63)
                      : (uint64_t)convert_f64_i64(x);
}

/* numpy.ndarray.astype from bool to complex: gcc has no lanes for a choice of complex numbers. */
static inline float complex convert_bool_c64(bool x)
{
    return float_from_bits_f32((0u - (uint32_t)x) & 0x3f800000u);
}

static inline double complex convert_bool_c128(bool x)
{
    return float_from_bits_f64((0u - (uint64_t)x) & 0x3ff0000000000000u);
}
