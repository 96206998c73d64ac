/* numpy.sqrt of complex numbers, for targets whose library has no accurate functions of them.
   Method: the larger part is sqrt((|x| + |z|) / 2), the other one the quotient that does not cancel
   (W. Kahan, Branch Cuts for Complex Elementary Functions, 1987); extreme operands are scaled by
   powers of four. */
static inline double complex complex_sqrt_c128(double complex z)
{
    const double x = real_c128(z), y = imag_c128(z), a = fabs(x), b = fabs(y);
    if (b > 0x1.fffffffffffffp1023) {
        return make_complex_f64((double)INFINITY, y);
    }
    if (a == 0 && b == 0) {
        return make_complex_f64(0.0, y);
    }
    const bool is_huge = a > 0x1p1000 || b > 0x1p1000, is_tiny = a < 0x1p-900 && b < 0x1p-900;
    const double scale = is_huge ? 0x1p-4 : is_tiny ? 0x1p200 : 1.0;
    const double back = is_huge ? 0x1p2 : is_tiny ? 0x1p-100 : 1.0;
    const double larger = sqrt(0.5 * (a * scale + hypot_f64(a * scale, b * scale)));
    const double smaller = 0.5 * (b * scale) / larger * back;
    return x >= 0 ? make_complex_f64(larger * back, copysign(smaller, y))
                  : make_complex_f64(smaller, copysign(larger * back, y));
}

/* numpy.exp of complex numbers: exp(x) cos(y) and exp(x) sin(y), in two factors where exp(x) alone
   would overflow. */
static inline double complex complex_exp_c128(double complex z)
{
    const double x = real_c128(z), y = imag_c128(z);
    if (y == 0) {
        return make_complex_f64(exp_f64(x), y);
    }
    const double size = exp_f64(x > 700 ? 0.5 * x : x), again = x > 700 ? size : 1.0;
    if (!(fabs(y) <= 0x1.fffffffffffffp1023) && fabs(x) > 0x1.fffffffffffffp1023) {
        return x < 0 ? make_complex_f64(0.0, 0.0) : make_complex_f64(x, (double)NAN);
    }
    return make_complex_f64(size * cos_f64(y) * again, size * sin_f64(y) * again);
}

/* numpy.log of complex numbers: log |z| and the argument of z.
   Method: near the unit circle log |z| is log1p(|z|^2 - 1) / 2, and |z|^2 - 1 a sum of exact
   products and differences, so that the result is accurate where it is small. */
static inline double complex complex_log_c128(double complex z)
{
    const double x = fabs(real_c128(z)), y = fabs(imag_c128(z));
    const double a = x > y ? x : y, b = x > y ? y : x;
    const double angle = arctan2_f64(imag_c128(z), real_c128(z));
    const double square = a * a, small = b * b;
    if (square + small > 0.5 && square + small < 2.0) {
        const double rest = fma(a, a, -square) + fma(b, b, -small);
        const double most = square - 1, sum = most + small;
        const double error = two_sum_error_f64(most, small, sum);
        return make_complex_f64(0.5 * log1p_f64(sum + (error + rest)), angle);
    }
    const bool is_huge = a > 0x1p1000, is_tiny = a < 0x1p-900;
    const double scale = is_huge ? 0x1p-100 : is_tiny ? 0x1p200 : 1.0;
    const double back = is_huge ? 100.0 : is_tiny ? -200.0 : 0.0;
    const double size = log_f64(hypot_f64(x * scale, y * scale));
    return make_complex_f64(multiply_add_f64(back, 0x1.62e42fefa39efp-1, size), angle);
}

/* numpy.sinh of complex numbers: sinh(x) cos(y) and cosh(x) sin(y). */
static inline double complex complex_sinh_c128(double complex z)
{
    const double x = real_c128(z), y = imag_c128(z);
    double even, factor;
    const double odd = hyperbolic_parts_f64(x, &even, &factor);
    const bool is_infinite = !(fabs(y) <= 0x1.fffffffffffffp1023);
    if (y == 0 || (is_infinite && (x == 0 || factor != 1))) {
        return make_complex_f64(y == 0 ? odd * factor : x, y == 0 ? y : (double)NAN);
    }
    return make_complex_f64(odd * cos_f64(y) * factor, even * sin_f64(y) * factor);
}

/* numpy.cosh of complex numbers: cosh(x) cos(y) and sinh(x) sin(y). */
static inline double complex complex_cosh_c128(double complex z)
{
    const double x = real_c128(z), y = imag_c128(z);
    double even, factor;
    const double odd = hyperbolic_parts_f64(x, &even, &factor);
    const bool is_infinite = !(fabs(y) <= 0x1.fffffffffffffp1023);
    if (y == 0) {
        return make_complex_f64(even * factor, x == x ? copysign(1.0, x) * y : y);
    }
    if (is_infinite && (x == 0 || factor != 1)) {
        return make_complex_f64(x == 0 ? (double)NAN : fabs(x), x == 0 ? x : (double)NAN);
    }
    return make_complex_f64(even * cos_f64(y) * factor, odd * sin_f64(y) * factor);
}

/* sinh(x) and, in *even, cosh(x), up to a factor: where these would overflow, although their
   products with a sine may not. */
static inline double hyperbolic_parts_f64(double x, double *even, double *factor)
{
    const bool is_large = fabs(x) > 700;
    const double half = exp_f64(0.5 * fabs(x));
    *even = is_large ? 0.5 * half : cosh_f64(x);
    *factor = is_large ? half : 1.0;
    return is_large ? copysign(0.5 * half, x) : sinh_f64(x);
}

/* numpy.sin of complex numbers: sin(z) = -i sinh(iz). */
static inline double complex complex_sin_c128(double complex z)
{
    const double complex turned = complex_sinh_c128(make_complex_f64(-imag_c128(z), real_c128(z)));
    return make_complex_f64(imag_c128(turned), -real_c128(turned));
}

/* numpy.cos of complex numbers: cos(z) = cosh(iz). */
static inline double complex complex_cos_c128(double complex z)
{
    return complex_cosh_c128(make_complex_f64(-imag_c128(z), real_c128(z)));
}

/* numpy.tanh of complex numbers, by the tangent of y and the hyperbolic sine of x (Kahan). */
static inline double complex complex_tanh_c128(double complex z)
{
    const double x = real_c128(z), y = imag_c128(z);
    const bool is_finite = fabs(y) <= 0x1.fffffffffffffp1023;
    if (fabs(x) > 0x1.fffffffffffffp1023) {
        const double turn = is_finite ? sin_f64(y) * cos_f64(y) : y;
        return make_complex_f64(copysign(1.0, x), copysign(0.0, turn));
    }
    if (fabs(x) > 22) {
        const double decay = exp_f64(-fabs(x)), turn = 4 * sin_f64(y) * cos_f64(y);
        return make_complex_f64(copysign(1.0, x), turn * decay * decay);
    }
    if (y == 0) {
        return make_complex_f64(tanh_f64(x), y);
    }
    const double tangent = tan_f64(y), sine = sinh_f64(x);
    const double beta = 1 + tangent * tangent, root = sqrt(1 + sine * sine);
    const double below = 1 + beta * sine * sine;
    return make_complex_f64(beta * root * sine / below, tangent / below);
}

/* numpy.tan of complex numbers: tan(z) = -i tanh(iz). */
static inline double complex complex_tan_c128(double complex z)
{
    const double complex turned = complex_tanh_c128(make_complex_f64(-imag_c128(z), real_c128(z)));
    return make_complex_f64(imag_c128(turned), -real_c128(turned));
}

/* The parts of arcsine and arccosine of x + iy, x and y not negative: the imaginary part of both,
   and the real part of each (T. Hull, T. Fairgrieve, P. Tang, Implementing the Complex Arcsine and
   Arccosine Functions Using Exception Handling, 1997). */
static inline double arcsine_parts_f64(double x, double y, double *arcsine, double *arccosine)
{
    if (x > 0x1p500 || y > 0x1p500) {
        *arcsine = arctan2_f64(x, y);
        *arccosine = arctan2_f64(y, x);
        return 0x1.62e42fefa39efp-1 + log_f64(hypot_f64(0.5 * x, 0.5 * y)) + 0x1.62e42fefa39efp-1;
    }
    const double above = x + 1, below = x < 1 ? 1 - x : x - 1;
    if (y < 0x1p-500) { // y^2 would underflow, and only x = 1 is near enough to a branch point
        const double root = x == 1 ? sqrt(y) : sqrt(above * below);
        *arcsine = x < 1 ? arcsin_f64(x) : 0x1.921fb54442d18p+0 - (x == 1 ? root : y / root);
        *arccosine = x < 1 ? arccos_f64(x) : x == 1 ? root : y / root;
        return x < 1 ? y / root : x == 1 ? root : log1p_f64(below + root);
    }
    const double r = hypot_f64(above, y), s = hypot_f64(below, y), a = 0.5 * (r + s), b = x / a;
    const double near_one = y * (y / (r + above));
    if (b <= 0.6417) {
        *arcsine = arcsin_f64(b);
        *arccosine = arccos_f64(b);
    } else if (x <= 1) {
        const double root = sqrt(0.5 * (a + x) * (near_one + (s + below)));
        *arcsine = arctan_f64(x / root);
        *arccosine = arctan_f64(root / x);
    } else {
        const double root = y * sqrt(0.5 * ((a + x) / (r + above) + (a + x) / (s + below)));
        *arcsine = arctan_f64(x / root);
        *arccosine = arctan_f64(root / x);
    }
    if (a > 1.5) {
        return log_f64(a + sqrt(a * a - 1));
    }
    const double further = 0.5 * (near_one + (x < 1 ? y * (y / (s + below)) : s + below));
    return log1p_f64(further + sqrt(further * (a + 1)));
}

/* numpy.arcsin of complex numbers. */
static inline double complex complex_asin_c128(double complex z)
{
    double sine, cosine;
    const double imag = arcsine_parts_f64(fabs(real_c128(z)), fabs(imag_c128(z)), &sine, &cosine);
    return make_complex_f64(copysign(sine, real_c128(z)), copysign(imag, imag_c128(z)));
}

/* numpy.arccos of complex numbers. */
static inline double complex complex_acos_c128(double complex z)
{
    double sine, cosine;
    const double imag = arcsine_parts_f64(fabs(real_c128(z)), fabs(imag_c128(z)), &sine, &cosine);
    const bool is_left = bits_f64(real_c128(z)) >> 63 != 0;
    const double angle = is_left ? (0x1.921fb54442d18p+1 - cosine) + 0x1.1a62633145c07p-53 : cosine;
    return make_complex_f64(angle, -copysign(imag, imag_c128(z)));
}

/* numpy.arcsinh of complex numbers: arcsinh(z) = -i arcsin(iz). */
static inline double complex complex_asinh_c128(double complex z)
{
    const double complex turned = complex_asin_c128(make_complex_f64(-imag_c128(z), real_c128(z)));
    return make_complex_f64(imag_c128(turned), -real_c128(turned));
}

/* numpy.arccosh of complex numbers: the arccosine turned to the right half plane. */
static inline double complex complex_acosh_c128(double complex z)
{
    const double complex turned = complex_acos_c128(z);
    return make_complex_f64(fabs(imag_c128(turned)), copysign(real_c128(turned), imag_c128(z)));
}

/* numpy.arctanh of complex numbers: log1p(4x / ((1 - x)^2 + y^2)) / 4, and half of the argument of
   1 - |z|^2 + 2iy. */
static inline double complex complex_atanh_c128(double complex z)
{
    const double x = fabs(real_c128(z)), y = fabs(imag_c128(z));
    double real, imag;
    if (x > 0x1p500 || y > 0x1p500) {
        const double larger = x > y ? x : y, ratio = (x > y ? y : x) / larger;
        real = larger > 0x1.fffffffffffffp1023 ? 0.0 : x / larger / (larger * (1 + ratio * ratio));
        imag = y == y ? 0x1.921fb54442d18p+0 : y;
    } else {
        const double near = 1 - x;
        const bool is_pole = near == 0 && y < 0x1p-500;
        real = is_pole ? 0.5 * (0x1.62e42fefa39efp-1 - log_f64(y))
                       : 0.25 * log1p_f64(4 * x / (near * near + y * y));
        imag = 0.5 * arctan2_f64(2 * y, near * (1 + x) - y * y);
    }
    return make_complex_f64(copysign(real, real_c128(z)), copysign(imag, imag_c128(z)));
}

/* numpy.arctan of complex numbers: arctan(z) = -i arctanh(iz). */
static inline double complex complex_atan_c128(double complex z)
{
    const double complex turned = complex_atanh_c128(make_complex_f64(-imag_c128(z), real_c128(z)));
    return make_complex_f64(imag_c128(turned), -real_c128(turned));
}

/* numpy.power of complex numbers as exp(y log x), for x not 0; its relative error grows with the
   size of y log x, as that of C's cpow does. */
static inline double complex complex_pow_c128(double complex x, double complex y)
{
    return complex_exp_c128(multiply_c128(y, complex_log_c128(x)));
}
