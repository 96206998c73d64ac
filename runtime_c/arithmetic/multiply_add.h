/* numpy: a * b + c, in one instruction where the processor has one. For places where the rounding
   of the product does not matter; where it does, call fma itself. */
static inline float multiply_add_f32(float a, float b, float c)
{
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double multiply_add_f64(double a, double b, double c)
{
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return fma(a, b, c);
#else
    return a * b + c;
#endif
}
