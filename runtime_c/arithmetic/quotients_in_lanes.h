/* numpy.floor_divide of integers in vector loops: the same numbers as floor_divide's. What depends on
   y alone is no choice: gcc makes two loops of it, and no lanes of a sum in them. */
static inline S floor_divide_in_lanes_S(S x, S y)
{
    return (S)(lower_quotient_S(x, y) & -(y != 0));
}

static inline U floor_divide_in_lanes_U(U x, U y)
{
    return (U)(lower_quotient_U(x, y) & (0 - (U)(y != 0)));
}

/* numpy.remainder of integers in vector loops. */
static inline S remainder_in_lanes_S(S x, S y)
{
    S rest = (S)((U)x - (U)(1u * (U)lower_quotient_S(x, y) * (U)y));
    return (S)(rest & -(y != 0));
}

static inline U remainder_in_lanes_U(U x, U y)
{
    U rest = (U)(x - (U)(lower_quotient_U(x, y) * y));
    return (U)(rest & (0 - (U)(y != 0)));
}

/* numpy.fmod of integers in vector loops. */
static inline S fmod_in_lanes_S(S x, S y)
{
    S rest = remainder_in_lanes_S(x, y);
    S moved = (S)((U)rest - (U)y);
    return ((rest != 0) & ((x < 0) != (y < 0))) ? moved : rest;
}

static inline U fmod_in_lanes_U(U x, U y)
{
    return remainder_in_lanes_U(x, y);
}

/* numpy.trunc(x / y) of integers in vector loops; -1 (all bits set) when y is 0. */
static inline S quotient_in_lanes_S(S x, S y)
{
    S whole = lower_quotient_S(x, y);
    bool has_rest = (S)(1u * (U)whole * (U)y) != x;
    whole = (S)(whole + (has_rest & ((x < 0) != (y < 0))));
    return (S)(whole | -(y == 0));
}

static inline U quotient_in_lanes_U(U x, U y)
{
    U whole = lower_quotient_U(x, y);
    return (U)(whole | (0 - (U)(y == 0)));
}

/* floor(x / y) where y is not 0; the one overflow (the most negative number by -1) wraps around.
   Method: a product with the reciprocal, of which processors have vectors, and which is computed
   once where y is the same for all x. Up to 32 bits in a float of twice as many: the quotient is at
   least 1 / |y| below the next integer, and its error is much smaller. So floor is the integer
   nearest to the quotient plus 1 / (2 |y|) minus 1/2, which is in the low bits of the sum with
   1.5 * 2^52 (2^23). 64 bits take two such quotients; where y has more than 51 bits, the rest says
   whether the second is one off. Divisors that compilers know are multiplications or shifts
   already; a division of 64 bits is a product only where there are vectors of conversions (clang
   warns of functions that are not named elsewhere). Of uint8 it is a product of 16 bits. */
static inline int8_t lower_quotient_i8(int8_t x, int8_t y)
{
    float reciprocal = 1.0f / (float)y;
    float nearest = multiply_add_f32((float)x, reciprocal, 0.5f * fabsf(reciprocal) - 0.5f);
    int8_t whole = (int8_t)bits_f32(nearest + 0x1.8p23f);
    return __builtin_constant_p(y) ? floor_divide_i8(x, y) : whole;
}

static inline int16_t lower_quotient_i16(int16_t x, int16_t y)
{
    float reciprocal = 1.0f / (float)y;
    float nearest = multiply_add_f32((float)x, reciprocal, 0.5f * fabsf(reciprocal) - 0.5f);
    int16_t whole = (int16_t)bits_f32(nearest + 0x1.8p23f);
    return __builtin_constant_p(y) ? floor_divide_i16(x, y) : whole;
}

static inline int32_t lower_quotient_i32(int32_t x, int32_t y)
{
    double reciprocal = 1.0 / (double)y;
    double nearest = multiply_add_f64((double)x, reciprocal, 0.5 * fabs(reciprocal) - 0.5);
    int32_t whole = (int32_t)bits_f64(nearest + 0x1.8p52);
    return __builtin_constant_p(y) ? floor_divide_i32(x, y) : whole;
}

static inline uint8_t lower_quotient_u8(uint8_t x, uint8_t y)
{
    // 2^16 / y rounded up, 2^16 itself as 0: x times that is less than 1 / y too large
    uint16_t factor = (uint16_t)((int32_t)(65535.0f / (float)(y | (y == 0))) + 1);
    uint8_t whole = (uint8_t)((uint32_t)x * factor >> 16);
    return __builtin_constant_p(y) ? floor_divide_u8(x, y) : y == 1 ? x : whole;
}

static inline uint16_t lower_quotient_u16(uint16_t x, uint16_t y)
{
    float reciprocal = 1.0f / (float)y;
    float nearest = multiply_add_f32((float)x, reciprocal, 0.5f * reciprocal - 0.5f);
    uint16_t whole = (uint16_t)bits_f32(nearest + 0x1.8p23f);
    return __builtin_constant_p(y) ? floor_divide_u16(x, y) : whole;
}

static inline uint32_t lower_quotient_u32(uint32_t x, uint32_t y)
{
    double reciprocal = 1.0 / (double)y;
    double nearest = multiply_add_f64((double)x, reciprocal, 0.5 * reciprocal - 0.5);
    uint32_t whole = (uint32_t)bits_f64(nearest + 0x1.8p52);
    return __builtin_constant_p(y) ? floor_divide_u32(x, y) : whole;
}

static inline int64_t lower_quotient_i64(int64_t x, int64_t y)
{
#if defined(__AVX512DQ__)
    // the first quotient is in range for divisors of 1, -1 and 0, too
    double reciprocal = 1.0 / (double)y, most = 0x1.ffffffffffffcp-1;
    double less = reciprocal < most ? reciprocal : most;
    less = less > -most ? less : -most;
    int64_t whole = (int64_t)((double)x * less);
    int64_t rest = (int64_t)((uint64_t)x - (uint64_t)whole * (uint64_t)y);
    double nearest = multiply_add_f64((double)rest, reciprocal, 0.5 * fabs(reciprocal) - 0.5);
    int64_t more = (int64_t)(bits_f64(nearest + 0x1.8p52) - 0x4338000000000000u);
    rest = (int64_t)((uint64_t)rest - (uint64_t)more * (uint64_t)y);
    more -= (rest != 0) & ((rest < 0) != (y < 0));
    more += ((rest <= y) & (y < 0)) | ((rest >= y) & (y > 0));
    whole = (int64_t)((uint64_t)whole + (uint64_t)more);
    return is_known_shift_i64(y) ? floor_divide_i64(x, y) : whole;
#else
    (void)multiply_add_f64, (void)bits_f64, (void)is_known_shift_i64;
    return floor_divide_i64(x, y);
#endif
}

static inline uint64_t lower_quotient_u64(uint64_t x, uint64_t y)
{
#if defined(__AVX512DQ__)
    // the first quotient is not above the exact one, so that the rest is not negative
    double reciprocal = 1.0 / (double)y;
    double less = (reciprocal < 1.0 ? reciprocal : 1.0) * 0x1.ffffffffffffcp-1;
    uint64_t whole = (uint64_t)((double)x * less);
    uint64_t rest = x - whole * y;
    double nearest = multiply_add_f64((double)rest, reciprocal, 0.5 * reciprocal - 0.5);
    uint64_t more = bits_f64(nearest + 0x1.8p52) - 0x4338000000000000u;
    uint64_t is_large = 0u - (uint64_t)(y > 0x8000000000000u);
    whole += (more & ~is_large) | ((uint64_t)(rest >= y) & is_large);
    return is_known_shift_u64(y) ? floor_divide_u64(x, y) : whole;
#else
    (void)multiply_add_f64, (void)bits_f64, (void)is_known_shift_u64;
    return floor_divide_u64(x, y);
#endif
}

/* True if the compiler knows that y is a power of two. */
static inline bool is_known_shift_i64(int64_t y)
{
    return __builtin_constant_p(y) && y > 0 && (y & (y - 1)) == 0;
}

static inline bool is_known_shift_u64(uint64_t y)
{
    return __builtin_constant_p(y) && y > 0 && (y & (y - 1)) == 0;
}
