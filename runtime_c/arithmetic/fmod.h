/* numpy.fmod of integers: has the sign of x; 0 when y is 0. */
static inline S fmod_S(S x, S y)
{
    S divisor = (S)(((y == 0) | (y == -1)) ? 1 : y);
    return (S)((U)x - (U)(1u * (U)whole_quotient_S(x, divisor) * (U)divisor));
}

/* Processors have no vectors of quotients of 64 bits: the rare divisors have a branch, for which the
   quotient does not wait. */
static inline int64_t fmod_i64(int64_t x, int64_t y)
{
    return (uint64_t)y + 1 <= 1 ? 0 : x % y;
}

/* Whether a rest of integers that is not 0 has another sign than the divisor y. Of a known divisor one
   test is left. */
static inline bool is_opposed_S(S rest, S y)
{
    return ((rest < 0) & (y > 0)) | ((rest > 0) & (y < 0));
}

/* Unknown divisors have the sign that the last one had: a branch, which is predicted. */
static inline bool is_opposed_i64(int64_t rest, int64_t y)
{
    return __builtin_constant_p(y) ? ((rest < 0) & (y > 0)) | ((rest > 0) & (y < 0))
                                   : (rest ^ y) < 0 && rest != 0;
}

static inline U fmod_U(U x, U y)
{
    U divisor = (U)(y == 0 ? 1 : y);
    return (U)(x - (U)(whole_quotient_U(x, divisor) * divisor));
}

/* numpy.fmod of floats: has the sign of x, exact.
   Method: the quotient is rounded to nearest, so that its integer part is that of the exact one, or
   one more just below an integer. The rest of either is a number of the type, which a multiply-add
   gives exactly; one that is negative wants another divisor. Large quotients are divided in steps,
   as below; what is left are NaNs, infinite x and zero y. */
static inline float fmod_f32(float x, float y)
{
    double size = (double)fabsf(x), step = (double)fabsf(y), quotient = size / step;
    if (quotient < 0x1p29) {
        double rest = quotient < 1.0 ? size : size - trunc(quotient) * step;
        return copysignf((float)(rest < 0.0 ? rest + step : rest), x);
    }
    return ((size < (double)INFINITY) & (step > 0.0)) ? copysignf(rest_in_steps_f32(size, step), x)
                                                      : (float)NAN;
}

static inline double fmod_f64(double x, double y)
{
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    double size = fabs(x), step = fabs(y), quotient = size / step;
    if (quotient < 0x1p52) {
        double rest = quotient < 1.0 ? size : fma(-trunc(quotient), step, size);
        return copysign(rest < 0.0 ? rest + step : rest, x);
    }
    return ((size < (double)INFINITY) & (step > 0.0)) ? copysign(rest_in_steps_f64(size, step), x)
                                                      : (double)NAN;
#else
    (void)rest_in_steps_f64;
    return fmod(x, y);
#endif
}

/* fmod of positive numbers whose quotient is 2^52 (2^29) or more.
   Method: the rests by step * 2^(50 n) (2^(28 n)) for n to 0, each of which has a quotient as above;
   the scaled divisors are exact. The C library finds one bit at a time. */
static inline float rest_in_steps_f32(double size, double step)
{
    double scaled = step, rest = size;
    while (scaled < size * 0x1p-28) {
        scaled *= 0x1p28;
    }
    for (; scaled >= step; scaled *= 0x1p-28) {
        rest -= trunc(rest / scaled) * scaled;
        rest = rest < 0.0 ? rest + scaled : rest;
    }
    return (float)rest;
}

static inline double rest_in_steps_f64(double size, double step)
{
    double scaled = step, rest = size;
    while (scaled < size * 0x1p-51) {
        scaled *= 0x1p50;
    }
    for (; scaled >= step; scaled *= 0x1p-50) {
        rest = fma(-trunc(rest / scaled), scaled, rest);
        rest = rest < 0.0 ? rest + scaled : rest;
    }
    return rest;
}
