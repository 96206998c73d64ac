/* numpy.power of complex numbers: x^0 is 1, powers of 0 are 0 or undefined, small integer exponents
   are products, all else is exp(y log x). */
static inline C power_C(C x, C y)
{
    R real = real_C(y), imag = imag_C(y);
    if (real == 0 && imag == 0) {
        return make_complex_R(1, 0);
    }
    if (real_C(x) == 0 && imag_C(x) == 0) {
        R part = real > 0 ? 0 : (R)NAN;
        return make_complex_R(part, part);
    }
    if (imag == 0 && absolute_R(real) < 100 && rint_R(real) == real) {
        return integer_power_C(x, (int)real);
    }
    return cpow_C(x, y);
}

/* x^n for n != 0, by repeated squaring. As in NumPy, exponents 1, 2 and 3 are plain products; for
   others the accumulator starts at 1, whose complex product with an infinity has a NaN part. */
static inline C integer_power_C(C x, int n)
{
    C result = make_complex_R(1, 0);
    if (n >= 1 && n <= 3) {
        for (result = x; n > 1; n--) {
            result = multiply_C(result, x);
        }
        return result;
    }
    for (int left = n < 0 ? -n : n; left != 0; left /= 2) {
        if (left % 2 != 0) {
            result = multiply_C(result, x);
        }
        x = multiply_C(x, x);
    }
    if (n < 0) {
        return divide_C(make_complex_R(1, 0), result);
    }
    return result;
}
