/* numpy.minimum: the smaller operand; NaN if either is. The first comparison is one that processors
   have an instruction for: x where the two are equal or unordered. */
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
    return choose_C(isnan_C(x) | less_equal_C(x, y), x, y);
}
