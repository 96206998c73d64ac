/* numpy.negative of integers: wraps around, so the most negative number is returned unchanged. */
static inline S negative_S(S x)
{
    return (S)(0u - (U)x);
}

static inline U negative_U(U x)
{
    return (U)(0u - x);
}
