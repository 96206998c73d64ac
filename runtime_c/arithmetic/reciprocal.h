/* numpy.reciprocal of integers: 1 / x in floating point, truncated. */
static inline S reciprocal_S(S x)
{
    return x == 1 || x == -1 ? x : x == 0 ? convert_f64_S((double)INFINITY) : 0;
}

static inline U reciprocal_U(U x)
{
    return x == 1 ? 1 : x == 0 ? convert_f64_U((double)INFINITY) : 0;
}

/* numpy.reciprocal of complex numbers: Smith's method, as in divide. */
static inline C reciprocal_C(C x)
{
    R a = real_C(x), b = imag_C(x);
    if (absolute_R(b) <= absolute_R(a)) {
        R ratio = b / a, size = a + b * ratio;
        return make_complex_R(1 / size, -ratio / size);
    }
    R ratio = a / b, size = a * ratio + b;
    return make_complex_R(ratio / size, -1 / size);
}
