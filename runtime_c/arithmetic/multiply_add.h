/* numpy: a * b + c, fused where the processor has such an instruction, else rounded twice. Where
   the result relies on the single rounding, call fma. */
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
