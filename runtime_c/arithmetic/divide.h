/* numpy.divide of complex numbers: R. L. Smith, "Algorithm 116: Complex division" (Communications
   of the ACM 5(8), 1962), which scales by the larger component of the divisor, so that its squared
   modulus cannot overflow. */
static inline C divide_C(C x, C y)
{
    R a = real_C(x), b = imag_C(x), c = real_C(y), d = imag_C(y);
    R c_size = absolute_R(c), d_size = absolute_R(d);
    if (c_size >= d_size) {
        if (c_size == 0 && d_size == 0) {
            return make_complex_R(a / c_size, b / c_size);
        }
        R ratio = d / c, scale = 1 / (c + d * ratio);
        return make_complex_R((a + b * ratio) * scale, (b - a * ratio) * scale);
    }
    R ratio = c / d, scale = 1 / (d + c * ratio);
    return make_complex_R((a * ratio + b) * scale, (b * ratio - a) * scale);
}
