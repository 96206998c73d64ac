/* numpy.power of integers: by repeated squaring, wrapping around. NumPy raises for negative
   exponents; here the power is truncated: 0, but for the bases 1 and -1. */
static inline S power_S(S x, S y)
{
    if (y < 0) {
        return x == 1 ? 1 : x != -1 ? 0 : y % 2 == 0 ? 1 : -1;
    }
    return (S)power_U((U)x, (U)y);
}

static inline U power_U(U x, U y)
{
    U result = 1;
    while (y != 0) {
        if (y % 2 != 0) {
            result = multiply_U(result, x);
        }
        x = multiply_U(x, x);
        y = (U)(y / 2);
    }
    return result;
}
