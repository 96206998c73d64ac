/* numpy.left_shift: 0 when all bits are shifted out, and for negative counts. */
static inline S left_shift_S(S x, S y)
{
    return (U)y < BITS_S ? (S)(U)(1u * (U)x << y) : 0;
}

static inline U left_shift_U(U x, U y)
{
    return y < BITS_U ? (U)(1u * x << y) : 0;
}
