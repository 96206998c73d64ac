/* numpy.minimum: the smaller number; a NaN if there is one. The choice is what machines have an
 * instruction for: x where the two are equal, or where one is a NaN. */
static inline F minimum_F(F x, F y)
{
    F smaller = y < x ? y : x;
    return y != y ? y : smaller;
}

static inline S minimum_S(S x, S y)
{
    return x < y ? x : y;
}

static inline U minimum_U(U x, U y)
{
    return x < y ? x : y;
}

static inline C minimum_C(C x, C y)
{
    return isnan_C(x) || less_equal_C(x, y) ? x : y;
}
