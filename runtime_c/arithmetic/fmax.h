/* numpy.fmax: the larger operand; if one is a NaN, the other. */
static inline F fmax_F(F x, F y)
{
    return x >= y || y != y ? x : y;
}

static inline C fmax_C(C x, C y)
{
    return choose_C(isnan_C(y) | less_equal_C(y, x), x, y);
}
