/* numpy.maximum: the larger operand; NaN if either is. The first comparison is one that processors
   have an instruction for: x where the two are equal or unordered. */
static inline F maximum_F(F x, F y)
{
    F larger = y > x ? y : x;
    return y != y ? y : larger;
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
    return choose_C(isnan_C(x) | less_equal_C(y, x), x, y);
}
