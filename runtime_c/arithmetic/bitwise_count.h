/* numpy.bitwise_count: the population count of |x|. */
static inline uint8_t bitwise_count_U(U x)
{
    return (uint8_t)__builtin_popcountll(x);
}

static inline uint8_t bitwise_count_S(S x)
{
    return bitwise_count_U(x < 0 ? (U)(0u - (U)x) : (U)x);
}
