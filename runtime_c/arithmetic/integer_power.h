/* numpy.power of integers: by repeated squaring, wrapping around. NumPy raises for negative
   exponents; here the power is truncated: 0, but for the bases 1 and -1. A known base of 2 is a
   shift, which has vectors. */
static inline S power_S(S x, S y)
{
    if (__builtin_constant_p(x) && x == 2) {
        return left_shift_S((S)1, y);
    }
    if (y < 0) {
        return x == 1 ? 1 : x != -1 ? 0 : y % 2 == 0 ? 1 : -1;
    }
    return (S)power_U((U)x, (U)y);
}

static inline U power_U(U x, U y)
{
    if (__builtin_constant_p(x) && x == 2) {
        return left_shift_U((U)1, y);
    }
    U result = (y & 1) != 0 ? x : 1;
    while ((y = (U)(y >> 1)) != 0) {
        x = multiply_U(x, x);
        result = multiply_U(result, (y & 1) != 0 ? x : 1);
    }
    return result;
}
