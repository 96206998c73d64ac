/* numpy.sign: -1, 0 or 1; NaN for NaN. */
static inline F sign_F(F x)
{
    return x > 0 ? (F)1 : x < 0 ? (F)-1 : x == 0 ? (F)0 : x;
}

static inline S sign_S(S x)
{
    return (S)((x > 0) - (x < 0));
}

static inline U sign_U(U x)
{
    return (U)(x > 0);
}

/* numpy.sign of complex numbers: x / |x|. */
static inline C sign_C(C x)
{
    R a = real_C(x), b = imag_C(x), size = absolute_C(x);
    if (size == 0) {
        return make_complex_R(0, 0);
    }
    if (isinf(size)) {
        if (isinf(a) && isinf(b)) {
            return make_complex_R((R)NAN, (R)NAN);
        }
        return isinf(a) ? make_complex_R(copysign_R(1, a), 0) : make_complex_R(0, copysign_R(1, b));
    }
    return make_complex_R(a / size, b / size);
}
