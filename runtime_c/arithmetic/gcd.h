/* numpy.gcd: Euclid's algorithm on the absolute values, from the larger one on: a division of the
   smaller would only exchange them. */
static inline U gcd_U(U x, U y)
{
    U larger = x > y ? x : y;
    U smaller = x > y ? y : x;
    while (smaller != 0) {
        U rest = (U)(larger % smaller);
        larger = smaller;
        smaller = rest;
    }
    return larger;
}

static inline S gcd_S(S x, S y)
{
    return (S)gcd_U(x < 0 ? (U)(0u - (U)x) : (U)x, y < 0 ? (U)(0u - (U)y) : (U)y);
}
