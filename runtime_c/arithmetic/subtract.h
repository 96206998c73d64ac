/* numpy.subtract of integers: wraps around. */
static inline S subtract_S(S x, S y)
{
    return (S)((U)x - (U)y);
}

static inline U subtract_U(U x, U y)
{
    return (U)(x - y);
}
