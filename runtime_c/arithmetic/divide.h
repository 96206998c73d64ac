/* numpy.divide of complex numbers: R. L. Smith, "Algorithm 116: Complex division" (Communications
   of the ACM 5(8), 1962), which scales by the larger component of the divisor, so that its squared
   modulus cannot overflow. Both of its cases are one formula, of components that are exchanged:
   vector lanes take no branches. A divisor of zero divides both parts by 0. */
static inline C divide_C(C x, C y)
{
    R c = real_C(y), d = imag_C(y), c_size = absolute_R(c), d_size = absolute_R(d);
    bool is_steep = !(c_size >= d_size), is_zero = (c_size == 0) & (d_size == 0);
    R large = is_steep ? d : c, small = is_steep ? c : d;
    R p = is_steep ? imag_C(x) : real_C(x), q = is_steep ? real_C(x) : imag_C(x);
    R ratio = small / large, scale = 1 / (large + small * ratio);
    // as sums: sums beside differences gcc 12 contracts to multiply-adds, whatever it is told
    R real = p + q * ratio, imag = (is_steep ? -q : q) + p * (is_steep ? ratio : -ratio);
    real = is_zero ? real_C(x) : real;
    imag = is_zero ? imag_C(x) : imag;
    scale = is_zero ? (R)INFINITY : scale;
    return make_complex_R(real * scale, imag * scale);
}
