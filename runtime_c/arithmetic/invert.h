/* numpy.invert: every bit flipped. */
static inline S invert_S(S x)
{
    return (S)~x;
}

static inline U invert_U(U x)
{
    return (U)~x;
}
