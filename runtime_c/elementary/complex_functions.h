/* numpy.exp of complex numbers: exp(x) cos(y) and exp(x) sin(y), in two factors where exp(x) alone
   would overflow. What infinities give is chosen, without branches: so loops over it have vector
   code, as those over the other functions of this file have. */
static inline C exp_C(C z)
{
    R x = real_C(z), y = imag_C(z);
    bool is_large = x > (R)(sizeof(R) == 4 ? 88.0 : 709.0);
    bool is_end = (absolute_R(x) == (R)INFINITY) & (!(absolute_R(y) < (R)INFINITY));
    R size = exp_R(is_large ? x / 2 : x), again = is_large ? size : 1;
    R real = size * (is_end ? (R)1 : cos_R(y)) * again;
    R imag = is_end ? size - size : size * sin_R(y) * again; // 0 or NaN
    return make_complex_R(real, y == 0 ? y : imag);
}

/* sinh(x) and, in *even, cosh(x), up to a factor: where these would overflow, although their
   products with a sine may not. */
static inline F hyperbolic_parts_F(F x, F *even, F *factor)
{
    F a = absolute_F(x);
    bool is_large = a > (F)(sizeof(F) == 4 ? 88.0 : 709.0);
    F rest = expm1_F(is_large ? a / 2 : a), size = rest + 1;
    *even = is_large ? size / 2 : (size + 1 / size) / 2;
    *factor = is_large ? size : 1;
    return copysign_F(is_large ? size / 2 : (rest + rest / size) / 2, x);
}

/* numpy.sinh of complex numbers: sinh(x) cos(y) and cosh(x) sin(y). */
static inline C sinh_C(C z)
{
    R x = real_C(z), y = imag_C(z), even, factor;
    R odd = hyperbolic_parts_R(x, &even, &factor);
    bool is_end = (!(absolute_R(y) < (R)INFINITY)) & ((x == 0) | (absolute_R(x) == (R)INFINITY));
    R real = odd * cos_R(y) * factor, imag = even * sin_R(y) * factor;
    return make_complex_R(is_end ? x : real, y == 0 ? y : imag);
}

/* numpy.cosh of complex numbers: cosh(x) cos(y) and sinh(x) sin(y). */
static inline C cosh_C(C z)
{
    R x = real_C(z), y = imag_C(z), even, factor;
    R odd = hyperbolic_parts_R(x, &even, &factor);
    bool is_endless = !(absolute_R(y) < (R)INFINITY);
    R real = even * cos_R(y) * factor, imag = odd * sin_R(y) * factor;
    real = (is_endless & (absolute_R(x) == (R)INFINITY)) ? absolute_R(x) : real;
    imag = (is_endless & (x == 0)) ? x : imag;
    return make_complex_R(real, y == 0 ? copysign_R((R)1, x) * y : imag);
}

/* numpy.tanh of complex numbers: with q = 1 - exp(-2 |x|), q (2 - q) and 4 exp(-2 |x|) sin(y) cos(y)
   over q^2 + 4 exp(-2 |x|) cos(y)^2, which neither overflow nor cancel. */
static inline C tanh_C(C z)
{
    R x = real_C(z), y = imag_C(z), a = absolute_R(x);
    R most = -expm1_R(-2 * a), rest = 4 * exp_R(-2 * a), cosine = cos_R(y), sine = sin_R(y);
    R below = most * most + rest * (cosine * cosine);
    bool is_end = (a == (R)INFINITY) & (!(absolute_R(y) < (R)INFINITY));
    R real = is_end ? 1 : x == 0 ? 0 : most * (2 - most) / below;
    R imag = is_end ? copysign_R((R)0, y) : rest * sine * cosine / below;
    return make_complex_R(copysign_R(real, x), y == 0 ? y : imag);
}

/* numpy.sin of complex numbers: sin(z) = -i sinh(iz). */
static inline C sin_C(C z)
{
    C turned = sinh_C(make_complex_R(-imag_C(z), real_C(z)));
    return make_complex_R(imag_C(turned), -real_C(turned));
}

/* numpy.cos of complex numbers: cos(z) = cosh(iz). */
static inline C cos_C(C z)
{
    return cosh_C(make_complex_R(-imag_C(z), real_C(z)));
}

/* numpy.tan of complex numbers: tan(z) = -i tanh(iz). */
static inline C tan_C(C z)
{
    C turned = tanh_C(make_complex_R(-imag_C(z), real_C(z)));
    return make_complex_R(imag_C(turned), -real_C(turned));
}

/* numpy.sqrt of complex numbers. Method: the larger part is sqrt((|x| + |z|) / 2), the other one the
   quotient that does not cancel (W. Kahan, Branch Cuts for Complex Elementary Functions, 1987);
   extreme operands are scaled by powers of four. */
static inline C sqrt_C(C z)
{
    bool is_single = sizeof(R) == 4;
    R x = real_C(z), y = imag_C(z), a = absolute_R(x), b = absolute_R(y), most = a > b ? a : b;
    R huge = (R)(is_single ? 0x1p100 : 0x1p1000), tiny = (R)(is_single ? 0x1p-80 : 0x1p-900);
    R up = (R)(is_single ? 0x1p40 : 0x1p200), down = (R)(is_single ? 0x1p-20 : 0x1p-100);
    R scale = most > huge ? (R)0x1p-4 : most < tiny ? up : 1;
    R back = most > huge ? (R)0x1p2 : most < tiny ? down : 1;
    R larger = sqrt_R((a * scale + hypot_R(a * scale, b * scale)) / 2);
    R smaller = b * scale / (2 * (larger == 0 ? 1 : larger)) * back;
    R real = x >= 0 ? larger * back : smaller, imag = x >= 0 ? smaller : larger * back;
    bool is_end = b == (R)INFINITY;
    return make_complex_R(is_end ? b : real, copysign_R(is_end ? b : imag, y));
}

/* numpy.log of complex numbers: log |z| and the argument of z. Method: near the unit circle log |z|
   is log1p(|z|^2 - 1) / 2, and |z|^2 - 1 a sum of exact products and differences, so that the result
   is accurate where it is small. */
static inline C log_C(C z)
{
    bool is_single = sizeof(R) == 4;
    R x = absolute_R(real_C(z)), y = absolute_R(imag_C(z)), a = x > y ? x : y, b = x > y ? y : x;
    R square = a * a, small = b * b, most = square - 1, sum = most + small;
    R rest = fma_R(a, a, -square) + fma_R(b, b, -small) + two_sum_error_R(most, small, sum);
    bool is_near = (square + small > (R)0.5) & (square + small < 2);
    R near = log1p_R(is_near ? sum + rest : 0) / 2;
    R huge = (R)(is_single ? 0x1p100 : 0x1p1000), tiny = (R)(is_single ? 0x1p-80 : 0x1p-900);
    R scale = a > huge ? (R)0x1p-20 : a < tiny ? (R)0x1p60 : 1;
    R back = a > huge ? 20 : a < tiny ? -60 : 0;
    R size = log_R(hypot_R(x * scale, y * scale)) + back * (R)0x1.62e42fefa39efp-1;
    return make_complex_R(is_near ? near : size, arctan2_R(imag_C(z), real_C(z)));
}

/* The parts of arcsine and arccosine of x + iy, x and y not negative: the imaginary part of both,
   and x over *root is the tangent of the arcsine. With the distances r and s from -1 and 1, what
   would cancel of r + s - 2 and r + s - 2x is the sum of y^2 / (r + 1 + x) and y^2 / (s + |1 - x|),
   or of one of these and s + |1 - x| (after T. Hull, T. Fairgrieve and P. Tang, Implementing the
   Complex Arcsine and Arccosine Functions Using Exception Handling, 1997); the root of y stands
   apart, as y^2 might underflow. */
static inline F arcsine_root_F(F x, F y, F *root)
{
    bool is_single = sizeof(F) == 4, is_right = x > 1;
    F large = (F)(is_single ? 0x1p60 : 0x1p500), down = (F)(is_single ? 0x1p-20 : 0x1p-60);
    F shift = (F)(is_single ? 0x1.bb9d3beb8c86bp+3 : 0x1.4cb5ecf0a9650p+5); // 20 and 60 log 2
    bool is_large = (x > large) | (y > large);
    F above = x + 1, below = absolute_F(x - 1);
    F r = hypot_F(above, y), s = hypot_F(below, y), a = (r + s) / 2, apart = s + below;
    F far = y / (r + above), near = y / (apart == 0 ? 1 : apart);
    F u = far + near, v = y * far + apart, root_y = sqrt_F(y);
    F some = sqrt_F((is_right ? u : v) * ((a + x) / 2)) * (is_right ? root_y : 1);
    *root = is_large ? y : some;
    F half = sqrt_F((is_right ? v : u) * ((a + 1) / 2)) * (is_right ? 1 : root_y);
    F rest = (is_right ? v : y * u) / 2 + half;
    return log1p_F(is_large ? 2 * hypot_F(x * down, y * down) : rest) + (is_large ? shift : 0);
}

/* numpy.arcsin of complex numbers. */
static inline C arcsin_C(C z)
{
    R x = absolute_R(real_C(z)), root, imag = arcsine_root_R(x, absolute_R(imag_C(z)), &root);
    R real = x == 0 ? real_C(z) : arctan2_R(real_C(z), root);
    return make_complex_R(real, copysign_R(imag, imag_C(z)));
}

/* numpy.arccos of complex numbers. */
static inline C arccos_C(C z)
{
    R x = absolute_R(real_C(z)), root, imag = arcsine_root_R(x, absolute_R(imag_C(z)), &root);
    R real = x == 0 ? (R)0x1.921fb54442d18p+0 : arctan2_R(root, real_C(z));
    return make_complex_R(real, -copysign_R(imag, imag_C(z)));
}

/* numpy.arcsinh of complex numbers: arcsinh(z) = -i arcsin(iz). */
static inline C arcsinh_C(C z)
{
    C turned = arcsin_C(make_complex_R(-imag_C(z), real_C(z)));
    return make_complex_R(imag_C(turned), -real_C(turned));
}

/* numpy.arccosh of complex numbers: the arccosine turned to the right half plane. */
static inline C arccosh_C(C z)
{
    C turned = arccos_C(z);
    return make_complex_R(absolute_R(imag_C(turned)), copysign_R(real_C(turned), imag_C(z)));
}

/* numpy.arctanh of complex numbers: log1p(4x / ((1 - x)^2 + y^2)) / 4, and half of the argument of
   1 - |z|^2 + 2iy. */
static inline C arctanh_C(C z)
{
    bool is_single = sizeof(R) == 4;
    R x = absolute_R(real_C(z)), y = absolute_R(imag_C(z)), near = 1 - x;
    R large = (R)(is_single ? 0x1p60 : 0x1p500), most = x > y ? x : y, least = x > y ? y : x;
    bool is_large = (x > large) | (y > large), is_pole = (near == 0) & (y * large < 1);
    R ratio = least / most, small = x / most / (most * (1 + ratio * ratio));
    R quarter = log1p_R(4 * x / (near * near + y * y)) / 4;
    R pole = ((R)0x1.62e42fefa39efp-1 - log_R(y)) / 2;
    R finite = ((x == (R)INFINITY) | (y == (R)INFINITY)) ? 0 : small;
    R real = x == 0 ? 0 : is_large ? finite : is_pole ? pole : quarter;
    R half = arctan2_R(2 * y, near * (1 + x) - y * y) / 2;
    R imag = (is_large & (y == y)) ? (R)0x1.921fb54442d18p+0 : half;
    return make_complex_R(copysign_R(real, real_C(z)), copysign_R(imag, imag_C(z)));
}

/* numpy.arctan of complex numbers: arctan(z) = -i arctanh(iz). */
static inline C arctan_C(C z)
{
    C turned = arctanh_C(make_complex_R(-imag_C(z), real_C(z)));
    return make_complex_R(imag_C(turned), -real_C(turned));
}

/* numpy.power of complex numbers as exp(y log x), for x not 0; its relative error grows with the
   size of y log x, as that of C's cpow does. */
static inline double complex complex_pow_c128(double complex x, double complex y)
{
    return exp_c128(multiply_c128(y, log_c128(x)));
}

/* numpy.power of complex numbers in single precision, computed in double precision. */
static inline float complex complex_pow_c64(float complex x, float complex y)
{
    return (float complex)complex_pow_c128((double complex)x, (double complex)y);
}
