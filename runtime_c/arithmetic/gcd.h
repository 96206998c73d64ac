/* numpy.gcd, of the absolute values.
   Method: the binary algorithm (J. Stein, Computational problems associated with Racah algebra,
   1967), after one step of Euclid's, which brings numbers of different sizes together: a division
   takes as long as several shifts and subtractions. */
static inline U gcd_U(U x, U y)
{
    uint64_t larger = x > y ? x : y;
    uint64_t smaller = x > y ? y : x;
    uint64_t rest = smaller == 0 ? 0u : (U)(larger % smaller);
    if (rest == 0) {
        return (U)(smaller == 0 ? larger : smaller);
    }
    const int twos = __builtin_ctzll(smaller | rest);
    smaller >>= __builtin_ctzll(smaller);
    rest >>= __builtin_ctzll(rest);
    while (smaller != rest) {
        const uint64_t distance = smaller > rest ? smaller - rest : rest - smaller;
        rest = smaller < rest ? smaller : rest;
        smaller = distance >> __builtin_ctzll(distance);
    }
    return (U)(smaller << twos);
}

static inline S gcd_S(S x, S y)
{
    return (S)gcd_U(x < 0 ? (U)(0u - (U)x) : (U)x, y < 0 ? (U)(0u - (U)y) : (U)y);
}
