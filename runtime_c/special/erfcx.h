/* scipy.special.erfcx: exp(x^2) erfc(x).
   Method: P(t) / (1 + 2 x) with t = (x - 4) / (x + 4) for x >= 0 (the transformation of M. Shepherd
   and J. Laframboise, see erfc), P interpolated at Chebyshev points with mpmath (60 digits); 2
   exp(x^2) - erfcx(-x) for negative x, with the rounding of x^2 corrected. Single precision in
   double.
   Largest error measured: 0.51 ulp in single, 5 ulp in double precision. */
static inline float erfcx_f32(float x)
{
    return (float)erfcx_f64((double)x);
}

static inline double erfcx_f64(double x)
{
    double a = fabs(x);
    double t = a < 0x1p60 ? (a - 4.0) / (a + 4.0) : 1.0;
    double p = 0x1.7d604a7f621f4p-35;
    p = multiply_add_f64(p, t, -0x1.2dbbbb75b6682p-33);
    p = multiply_add_f64(p, t, -0x1.2d277a41632e3p-31);
    p = multiply_add_f64(p, t, 0x1.ebb009434f4efp-30);
    p = multiply_add_f64(p, t, 0x1.117f492198859p-28);
    p = multiply_add_f64(p, t, -0x1.f9443297365a1p-27);
    p = multiply_add_f64(p, t, -0x1.78888d24fa8a1p-26);
    p = multiply_add_f64(p, t, 0x1.d8d5b12b4bdebp-24);
    p = multiply_add_f64(p, t, 0x1.5305495fa5317p-24);
    p = multiply_add_f64(p, t, -0x1.badf24e872985p-21);
    p = multiply_add_f64(p, t, 0x1.385bb6c82456ap-22);
    p = multiply_add_f64(p, t, 0x1.7f235478fdcf6p-18);
    p = multiply_add_f64(p, t, -0x1.788189c990557p-17);
    p = multiply_add_f64(p, t, -0x1.9958a8c635c6bp-16);
    p = multiply_add_f64(p, t, 0x1.3be032de511d3p-13);
    p = multiply_add_f64(p, t, -0x1.a1df2ad41dddep-13);
    p = multiply_add_f64(p, t, -0x1.8d4a9990c5199p-11);
    p = multiply_add_f64(p, t, 0x1.49c6728db72cdp-8);
    p = multiply_add_f64(p, t, -0x1.0962388548d8dp-6);
    p = multiply_add_f64(p, t, 0x1.3079edf668f38p-5);
    p = multiply_add_f64(p, t, -0x1.0fb06dfe48b0ep-4);
    p = multiply_add_f64(p, t, 0x1.7fee004e13186p-4);
    p = multiply_add_f64(p, t, -0x1.9ddb23c3e9106p-4);
    p = multiply_add_f64(p, t, 0x1.16ecefcfa533fp-4);
    p = multiply_add_f64(p, t, 0x1.f7f5df66fd7bep-7);
    p = multiply_add_f64(p, t, -0x1.1df1ad154a28ep-3);
    p = multiply_add_f64(p, t, 0x1.3ba5916e9fd7fp+0);
    double right = 0.5 * p / (0.5 + a);
    double b = a > 30.0 ? 30.0 : a;
    double square = b * b;
    double growth = exp_f64(square);
    growth = multiply_add_f64(growth, fma(b, b, -square), growth);
    double result = x < 0.0 ? (b > 26.63 ? (double)INFINITY : 2.0 * growth - right) : right;
    return x != x ? x : result;
}
