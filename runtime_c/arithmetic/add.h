/* numpy.add of integers: wraps around. C leaves the overflow of signed integers undefined, and
   promotes narrow unsigned ones to int. */
static inline S add_S(S x, S y)
{
    return (S)((U)x + (U)y);
}

static inline U add_U(U x, U y)
{
    return (U)(x + y);
}
