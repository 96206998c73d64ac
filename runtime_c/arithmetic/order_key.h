/* numpy.argmax compares floats by these integers in their order: the magnitude with the sign. The
   zeros are equal, and every NaN is above infinity. */
static inline int32_t order_key_f32(float x)
{
    int32_t magnitude = (int32_t)(bits_f32(x) & 0x7fffffffu);
    int32_t number = bits_f32(x) >> 31 != 0 ? -magnitude : magnitude;
    return magnitude > 0x7f800000 ? INT32_MAX : number;
}

static inline int64_t order_key_f64(double x)
{
    int64_t magnitude = (int64_t)(bits_f64(x) & 0x7fffffffffffffffu);
    int64_t number = bits_f64(x) >> 63 != 0 ? -magnitude : magnitude;
    return magnitude > 0x7ff0000000000000 ? INT64_MAX : number;
}

static inline int16_t order_key_f16(uint16_t x)
{
    int16_t magnitude = (int16_t)(x & 0x7fff);
    int16_t number = (int16_t)(x >> 15 != 0 ? -magnitude : magnitude);
    return magnitude > 0x7c00 ? INT16_MAX : number;
}

static inline int16_t order_key_bf16(uint16_t x)
{
    int16_t magnitude = (int16_t)(x & 0x7fff);
    int16_t number = (int16_t)(x >> 15 != 0 ? -magnitude : magnitude);
    return magnitude > 0x7f80 ? INT16_MAX : number;
}
