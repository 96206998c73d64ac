/* numpy.fmin: the smaller operand; if one is a NaN, the other. */
static inline F fmin_F(F x, F y)
{
    return x <= y || y != y ? x : y;
}

static inline C fmin_C(C x, C y)
{
    return choose_C(isnan_C(y) | less_equal_C(x, y), x, y);
}
