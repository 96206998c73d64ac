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
    bool is_steep = !(absolute_R(b) <= absolute_R(a));
    R large = is_steep ? b : a, small = is_steep ? a : b;
    R ratio = small / large, size = large + small * ratio;
    R real = is_steep ? ratio : 1, imag = is_steep ? 1 : ratio;
    return make_complex_R(real / size, -imag / size);
}
