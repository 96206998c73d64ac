/* numpy.exp2 of complex numbers: exp(x log 2). */
static inline C exp2_C(C x)
{
    const R log_2 = (R)0.693147180559945309417232121458176568;
    return exp_C(make_complex_R(real_C(x) * log_2, imag_C(x) * log_2));
}

/* numpy.expm1 of complex numbers: with x = a + bi, exp(x) - 1 is expm1(a) cos(b) - 2 sin(b/2)^2,
   which does not cancel near 0, and exp(a) sin(b) i. */
static inline C expm1_C(C x)
{
    R a = real_C(x), b = imag_C(x), half = sin_R(b / 2);
    return make_complex_R(expm1_R(a) * cos_R(b) - 2 * half * half, exp_R(a) * sin_R(b));
}
