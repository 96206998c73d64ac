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
    bool a_infinite = absolute_R(a) == (R)INFINITY, b_infinite = absolute_R(b) == (R)INFINITY;
    R real = a_infinite ? copysign_R((R)1, a) : 0;
    R imag = a_infinite ? 0 : copysign_R((R)1, b);
    R none = (a_infinite & b_infinite) ? (R)NAN : 0;
    bool is_infinite = size == (R)INFINITY, is_zero = size == 0;
    size = is_zero ? 1 : size;
    real = is_infinite ? real + none : is_zero ? 0 : a / size;
    imag = is_infinite ? imag + none : is_zero ? 0 : b / size;
    return make_complex_R(real, imag);
}
