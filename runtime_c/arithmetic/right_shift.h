/* numpy.right_shift: an arithmetic shift; counts that are negative or at least the width, which C
   leaves undefined, give the sign fill. */
static inline S right_shift_S(S x, S y)
{
    return (S)((U)y < BITS_S ? x >> y : x < 0 ? -1 : 0);
}

static inline U right_shift_U(U x, U y)
{
    return (U)(y < BITS_U ? x >> y : 0);
}
