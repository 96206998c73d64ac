/* numpy.sinh: the hyperbolic sine, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float sinh_precise_f32(float x)
{
    return (float)sinh((double)x);
}

static inline double sinh_precise_f64(double x)
{
    return (double)sinhl((long double)x);
}

/* numpy.cosh: the hyperbolic cosine, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float cosh_precise_f32(float x)
{
    return (float)cosh((double)x);
}

static inline double cosh_precise_f64(double x)
{
    return (double)coshl((long double)x);
}

/* numpy.tanh: the hyperbolic tangent, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float tanh_precise_f32(float x)
{
    return (float)tanh((double)x);
}

static inline double tanh_precise_f64(double x)
{
    return (double)tanhl((long double)x);
}

/* numpy.arcsinh: the inverse hyperbolic sine, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float arcsinh_precise_f32(float x)
{
    return (float)asinh((double)x);
}

static inline double arcsinh_precise_f64(double x)
{
    return (double)asinhl((long double)x);
}

/* numpy.arccosh: the inverse hyperbolic cosine, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float arccosh_precise_f32(float x)
{
    return (float)acosh((double)x);
}

static inline double arccosh_precise_f64(double x)
{
    return (double)acoshl((long double)x);
}

/* numpy.arctanh: the inverse hyperbolic tangent, where precise_math asks for at most 1 ulp.
   Method: the C library's function of the next wider type, as that of this type is up to 2 ulp off.
   Where long double is no wider than double, the error of the C library's function remains. */
static inline float arctanh_precise_f32(float x)
{
    return (float)atanh((double)x);
}

static inline double arctanh_precise_f64(double x)
{
    return (double)atanhl((long double)x);
}

/* numpy.log10: the logarithm to base 10, where precise_math asks for at most 1 ulp.
   Method: log10_F is within 0.6 ulp, and the C library's is not within 1. */
static inline float log10_precise_f32(float x)
{
    return log10_f32(x);
}

static inline double log10_precise_f64(double x)
{
    return log10_f64(x);
}

/* numpy.cbrt: the cube root, where precise_math asks for at most 1 ulp.
   Method: cbrt_F is within 0.6 ulp, and the C library's is not within 1. */
static inline float cbrt_precise_f32(float x)
{
    return cbrt_f32(x);
}

static inline double cbrt_precise_f64(double x)
{
    return cbrt_f64(x);
}

/* numpy.logaddexp: log(exp(x) + exp(y)), where precise_math asks for at most 1 ulp.
   Method: that of logaddexp_F, in the next wider type. */
static inline float logaddexp_precise_f32(float x, float y)
{
    return (float)logaddexp_f64((double)x, (double)y);
}

static inline double logaddexp_precise_f64(double x, double y)
{
    long double larger = x > y ? x : y;
    long double distance = fabsl((long double)x - (long double)y);
    long double result = larger + log1pl(expl(-distance));
    result = x == y ? larger + 0x1.62e42fefa39ef35793c7673007e6p-1L : result;
    return distance != distance && x != y ? x + y : (double)result;
}

/* numpy.logaddexp2: log2(2^x + 2^y), where precise_math asks for at most 1 ulp.
   Method: that of logaddexp2_F, in the next wider type. */
static inline float logaddexp2_precise_f32(float x, float y)
{
    return (float)logaddexp2_f64((double)x, (double)y);
}

static inline double logaddexp2_precise_f64(double x, double y)
{
    long double larger = x > y ? x : y;
    long double distance = fabsl((long double)x - (long double)y);
    long double result = larger + log1pl(exp2l(-distance)) * 0x1.71547652b82fe1777d0ffda0d23a8p+0L;
    result = x == y ? larger + 1.0L : result;
    return distance != distance && x != y ? x + y : (double)result;
}

/* numpy.arctan2: the angle of the point (y, x), where precise_math asks for at most 1 ulp.
   Method: the C library's function of double, as that of this type is up to 1.5 ulp off. */
static inline float arctan2_precise_f32(float x, float y)
{
    return (float)atan2((double)x, (double)y);
}

/* numpy.tan: the tangent, where precise_math asks for at most 1 ulp.
   Method: tan_F is within 0.6 ulp, and the C library's is not within 1. */
static inline float tan_precise_f32(float x)
{
    return tan_f32(x);
}
