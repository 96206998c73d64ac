/* numpy.sqrt of complex numbers in single precision, computed in double precision. */
static inline float complex complex_sqrt_c64(float complex z)
{
    return (float complex)complex_sqrt_c128((double complex)z);
}

/* numpy.exp of complex numbers in single precision, computed in double precision. */
static inline float complex complex_exp_c64(float complex z)
{
    return (float complex)complex_exp_c128((double complex)z);
}

/* numpy.log of complex numbers in single precision, computed in double precision. */
static inline float complex complex_log_c64(float complex z)
{
    return (float complex)complex_log_c128((double complex)z);
}

/* numpy.sinh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_sinh_c64(float complex z)
{
    return (float complex)complex_sinh_c128((double complex)z);
}

/* numpy.cosh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_cosh_c64(float complex z)
{
    return (float complex)complex_cosh_c128((double complex)z);
}

/* numpy.sin of complex numbers in single precision, computed in double precision. */
static inline float complex complex_sin_c64(float complex z)
{
    return (float complex)complex_sin_c128((double complex)z);
}

/* numpy.cos of complex numbers in single precision, computed in double precision. */
static inline float complex complex_cos_c64(float complex z)
{
    return (float complex)complex_cos_c128((double complex)z);
}

/* numpy.tanh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_tanh_c64(float complex z)
{
    return (float complex)complex_tanh_c128((double complex)z);
}

/* numpy.tan of complex numbers in single precision, computed in double precision. */
static inline float complex complex_tan_c64(float complex z)
{
    return (float complex)complex_tan_c128((double complex)z);
}

/* numpy.arcsin of complex numbers in single precision, computed in double precision. */
static inline float complex complex_asin_c64(float complex z)
{
    return (float complex)complex_asin_c128((double complex)z);
}

/* numpy.arccos of complex numbers in single precision, computed in double precision. */
static inline float complex complex_acos_c64(float complex z)
{
    return (float complex)complex_acos_c128((double complex)z);
}

/* numpy.arcsinh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_asinh_c64(float complex z)
{
    return (float complex)complex_asinh_c128((double complex)z);
}

/* numpy.arccosh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_acosh_c64(float complex z)
{
    return (float complex)complex_acosh_c128((double complex)z);
}

/* numpy.arctanh of complex numbers in single precision, computed in double precision. */
static inline float complex complex_atanh_c64(float complex z)
{
    return (float complex)complex_atanh_c128((double complex)z);
}

/* numpy.arctan of complex numbers in single precision, computed in double precision. */
static inline float complex complex_atan_c64(float complex z)
{
    return (float complex)complex_atan_c128((double complex)z);
}

/* numpy.power of complex numbers in single precision, computed in double precision. */
static inline float complex complex_pow_c64(float complex x, float complex y)
{
    return (float complex)complex_pow_c128((double complex)x, (double complex)y);
}
