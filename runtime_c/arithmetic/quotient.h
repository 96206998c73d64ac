/* numpy.trunc(x / y), exact: C's integer division; -1 (all bits set) when y is 0. */
static inline S quotient_S(S x, S y)
{
    if (y == -1) {
        return (S)(0u - (U)x);
    }
    return (S)(y == 0 ? -1 : x / y);
}

static inline U quotient_U(U x, U y)
{
    return y == 0 ? MAX_U : (U)(x / y);
}
