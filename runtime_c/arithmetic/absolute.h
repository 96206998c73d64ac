/* numpy.absolute of integers: wraps around, so the most negative number is returned unchanged. */
static inline S absolute_S(S x)
{
    return x < 0 ? (S)(0u - (U)x) : x;
}

/* numpy.absolute of complex numbers. */
static inline R absolute_C(C x)
{
    return hypot_R(real_C(x), imag_C(x));
}
