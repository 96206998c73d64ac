/* numpy.trunc(x / y), exact: C's integer division; -1 (all bits set) when y is 0. */
static inline S quotient_S(S x, S y)
{
    S whole = whole_quotient_S(x, (S)(((y == 0) | (y == -1)) ? 1 : y));
    whole = y == -1 ? (S)(0u - (U)x) : whole;
    return (S)(y == 0 ? -1 : whole);
}

static inline U quotient_U(U x, U y)
{
    U whole = whole_quotient_U(x, (U)(y == 0 ? 1 : y));
    return y == 0 ? MAX_U : whole;
}

/* x / y in C, y neither 0 nor -1. */
static inline S whole_quotient_S(S x, S y)
{
    return (S)(x / y);
}

static inline U whole_quotient_U(U x, U y)
{
    return (U)(x / y);
}
