/* numpy.frexp, first result: the mantissa m of x = m * 2^exponent, 0.5 <= |m| < 1. */
static inline F frexp_mantissa_F(F x)
{
    int exponent;
    return frexp_F(x, &exponent);
}

/* numpy.frexp, second result: the exponent; 0 for infinities and NaN. */
static inline int32_t frexp_exponent_F(F x)
{
    int exponent = 0;
    (void)frexp_F(x, &exponent);
    return exponent;
}

/* numpy.ldexp: x * 2^y; y is clamped to int, beyond the range of exponents. */
static inline F ldexp_scaled_F(F x, int64_t y)
{
    return ldexp_F(x, y > 10000 ? 10000 : y < -10000 ? -10000 : (int)y);
}

/* numpy.spacing: the distance to the adjacent number away from zero, with the sign of x. */
static inline F spacing_F(F x)
{
    if (absolute_F(x) == (F)INFINITY) {
        return (F)NAN;
    }
    return nextafter_F(x, x < 0 ? -(F)INFINITY : (F)INFINITY) - x;
}

/* numpy.heaviside: 0 below zero, 1 above, y at zero. */
static inline F heaviside_F(F x, F y)
{
    return x != x ? x : x == 0 ? y : x < 0 ? 0 : 1;
}

/* numpy.rint of complex numbers: rounds real and imaginary part. */
static inline C rint_C(C x)
{
    return make_complex_R(rint_R(real_C(x)), rint_R(imag_C(x)));
}
