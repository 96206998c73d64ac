/* numpy.lcm: x / gcd(x, y) * y on the absolute values; 0 when one of them is 0. */
static inline U lcm_U(U x, U y)
{
    U divisor = gcd_U(x, y);
    return (U)(divisor == 0 ? 0u : 1u * (U)(x / divisor) * y);
}

static inline S lcm_S(S x, S y)
{
    return (S)lcm_U(x < 0 ? (U)(0u - (U)x) : (U)x, y < 0 ? (U)(0u - (U)y) : (U)y);
}
