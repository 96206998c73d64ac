/* numpy.gcd: Euclid's algorithm on the absolute values. */
static inline U gcd_U(U x, U y)
{
    while (y != 0) {
        U rest = (U)(x % y);
        x = y;
        y = rest;
    }
    return x;
}

static inline S gcd_S(S x, S y)
{
    return (S)gcd_U(x < 0 ? (U)(0u - (U)x) : (U)x, y < 0 ? (U)(0u - (U)y) : (U)y);
}
