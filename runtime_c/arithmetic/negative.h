/* numpy.negative of integers: wraps around, so that the most negative number stays itself. */
static inline S negative_S(S x)
{
    return (S)(0u - (U)x);
}

static inline U negative_U(U x)
{
    return (U)(0u - x);
}
