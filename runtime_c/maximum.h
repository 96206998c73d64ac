/* numpy.maximum: the larger number; a NaN if there is one. */
static inline F maximum_F(F x, F y)
{
    F larger = x >= y ? x : y;
    return x != x ? x : larger;
}

static inline S maximum_S(S x, S y)
{
    return x > y ? x : y;
}

static inline U maximum_U(U x, U y)
{
    return x > y ? x : y;
}

static inline C maximum_C(C x, C y)
{
    return isnan_C(x) || less_equal_C(y, x) ? x : y;
}
