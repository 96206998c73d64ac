/* numpy.multiply of integers: wraps around. The factor 1u makes the product unsigned: uint16_t
   would be promoted to int, which can overflow. */
static inline S multiply_S(S x, S y)
{
    return (S)(1u * (U)x * (U)y);
}

static inline U multiply_U(U x, U y)
{
    return (U)(1u * x * y);
}

/* numpy.multiply of complex numbers: the textbook formula, without the recovery of infinities of
   C's Annex G. */
static inline C multiply_C(C x, C y)
{
    R a = real_C(x), b = imag_C(x), c = real_C(y), d = imag_C(y);
    return make_complex_R(a * c - b * d, a * d + b * c);
}
