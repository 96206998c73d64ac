/* numpy.fmod, numpy.remainder and numpy.floor_divide of floats for ordinary quotients: |x / y| up to
   2^28, or NaN, or y is 0, or x infinite. The operations of fmod, remainder and floor_divide without
   branches, so that they run in vector lanes: the results are the same to the bit. The caller has
   checked the range. */
static inline float fmod_near_f32(float x, float y)
{
    double size = (double)fabsf(x), step = (double)fabsf(y), quotient = size / step;
    double rest = size - trunc(quotient) * step;
    rest = quotient < 1.0 ? size : rest;
    return copysignf((float)(rest < 0.0 ? rest + step : rest), x);
}

static inline double fmod_near_f64(double x, double y)
{
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    double size = fabs(x), step = fabs(y), quotient = fabs(x / y);
    double rest = fma(-trunc(quotient), step, size);
    rest = quotient < 1.0 ? size : rest;
    return copysign(rest < 0.0 ? rest + step : rest, x);
#else
    return fmod(x, y);
#endif
}

static inline F remainder_near_F(F x, F y)
{
    F rest = fmod_near_F(x, y);
    F moved = (y < 0) != (rest < 0) ? rest + y : rest;
    return rest == 0 ? copysign_F((F)0, y) : moved;
}

static inline F floor_divide_near_F(F x, F y)
{
    F rest = fmod_near_F(x, y);
    F quotient = (x - rest) / y;
    quotient -= (F)((rest != 0) & ((y < 0) != (rest < 0)));
    F whole = floor_F(quotient);
    whole += (F)(quotient - whole > (F)0.5);
    whole = y == 0 ? x / y : whole;
    return quotient == 0 ? copysign_F((F)0, x / y) : whole;
}
