/* numpy.trunc(x / y), exact: C's integer division; -1 (all bits set) when y is 0. */
static inline S quotient_S(S x, S y)
{
    S whole = whole_quotient_S(x, (S)((y == 0) | (y == -1) ? 1 : y));
    whole = y == -1 ? (S)(0u - (U)x) : whole;
    return (S)(y == 0 ? -1 : whole);
}

static inline U quotient_U(U x, U y)
{
    U whole = whole_quotient_U(x, (U)(y == 0 ? 1 : y));
    return y == 0 ? MAX_U : whole;
}

/* x / y in C, y neither 0 nor -1.
   Method: up to 32 bits the quotient of floats, of which processors have vectors. Rounding does not
   take it to the next integer, which is at least 1 / y away, where a float has twice the bits of the
   integers. Divisors that compilers know are multiplications already. */
static inline S whole_quotient_S(S x, S y)
{
    return (S)(x / y);
}

static inline U whole_quotient_U(U x, U y)
{
    return (U)(x / y);
}

static inline int8_t whole_quotient_i8(int8_t x, int8_t y)
{
    return __builtin_constant_p(y) ? (int8_t)(x / y) : (int8_t)((float)x / (float)y);
}

static inline uint8_t whole_quotient_u8(uint8_t x, uint8_t y)
{
    return __builtin_constant_p(y) ? (uint8_t)(x / y) : (uint8_t)((float)x / (float)y);
}

static inline int16_t whole_quotient_i16(int16_t x, int16_t y)
{
    return __builtin_constant_p(y) ? (int16_t)(x / y) : (int16_t)((float)x / (float)y);
}

static inline uint16_t whole_quotient_u16(uint16_t x, uint16_t y)
{
    return __builtin_constant_p(y) ? (uint16_t)(x / y) : (uint16_t)((float)x / (float)y);
}

static inline int32_t whole_quotient_i32(int32_t x, int32_t y)
{
    return __builtin_constant_p(y) ? (int32_t)(x / y) : (int32_t)((double)x / (double)y);
}

static inline uint32_t whole_quotient_u32(uint32_t x, uint32_t y)
{
    return __builtin_constant_p(y) ? (uint32_t)(x / y) : (uint32_t)((double)x / (double)y);
}
