/* numpy.less of complex numbers: lexicographic, by real part, then imaginary part. */
static inline bool less_C(C x, C y)
{
    R a = real_C(x), b = imag_C(x), c = real_C(y), d = imag_C(y);
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b < d));
}

static inline bool less_equal_C(C x, C y)
{
    R a = real_C(x), b = imag_C(x), c = real_C(y), d = imag_C(y);
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b <= d));
}
