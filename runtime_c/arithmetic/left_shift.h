/* numpy.left_shift: 0 for counts that are negative or at least the width (undefined in C). */
static inline S left_shift_S(S x, S y)
{
    return (S)(U)((U)y < BITS_S ? 1u * (U)x << y : 0u);
}

static inline U left_shift_U(U x, U y)
{
    return (U)(y < BITS_U ? 1u * x << y : 0u);
}
