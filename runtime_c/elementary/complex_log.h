/* numpy.log1p of complex numbers: log |1 + x| and the argument of 1 + x. */
static inline C log1p_C(C x)
{
    R a = real_C(x) + 1, b = imag_C(x);
    return make_complex_R(log_R(hypot_R(a, b)), arctan2_R(b, a));
}

/* numpy.log2 of complex numbers: log(x) / log 2. */
static inline C log2_C(C x)
{
    const R log2_e = (R)1.442695040888963407359924681001892137;
    C natural = log_C(x);
    return make_complex_R(real_C(natural) * log2_e, imag_C(natural) * log2_e);
}

/* numpy.log10 of complex numbers: log(x) / log 10. */
static inline C log10_C(C x)
{
    const R log10_e = (R)0.434294481903251827651128918916605082;
    C natural = log_C(x);
    return make_complex_R(real_C(natural) * log10_e, imag_C(natural) * log10_e);
}
