/* scipy.special.erf, math.erf (not in numpy): the error function.
   Method: an odd minimax polynomial up to 1; beyond it 1 - erfc(|x|) (see erfc). Single precision
   in double.
   Largest error measured: 0.53 ulp in single, 1.6 ulp in double precision. */
static inline float erf_f32(float x)
{
    double a = (double)fabsf(x);
    double large = 1.0 - erfc_large_f32(a > 6.0 ? 6.0 : a);
    return copysignf((float)(a < 1.0 ? erf_small_f32((double)x) : large), x);
}

static inline double erf_f64(double x)
{
    double a = fabs(x);
    double large = 1.0 - erfc_large_f64(a > 7.0 ? 7.0 : a);
    return copysign(a < 1.0 ? erf_small_f64(x) : large, x);
}

/* erf(r) for |r| <= 1, accurate to single precision. */
static inline double erf_small_f32(double r)
{
    double r2 = r * r;
    double p = 0x1.496a713740fcep-14;
    p = multiply_add_f64(p, r2, -0x1.a3f7008782e48p-11);
    p = multiply_add_f64(p, r2, 0x1.5405adcf4e4eap-8);
    p = multiply_add_f64(p, r2, -0x1.b7f90bcc4781ep-6);
    p = multiply_add_f64(p, r2, 0x1.ce2cf71cf4c8dp-4);
    p = multiply_add_f64(p, r2, -0x1.81273de7de697p-2);
    p = multiply_add_f64(p, r2, 0x1.20dd74fe45383p+0);
    return p * r;
}

/* erf(r) for |r| <= 1, accurate to double precision. */
static inline double erf_small_f64(double r)
{
    double r2 = r * r;
    double p = -0x1.0bea9fc727aaap-33;
    p = multiply_add_f64(p, r2, 0x1.e5cb627bfa6ccp-31);
    p = multiply_add_f64(p, r2, -0x1.82da8be68bbap-29);
    p = multiply_add_f64(p, r2, 0x1.2e38f41493e8bp-28);
    p = multiply_add_f64(p, r2, 0x1.069e7631d0188p-27);
    p = multiply_add_f64(p, r2, -0x1.51e5b214be2bfp-23);
    p = multiply_add_f64(p, r2, 0x1.b8d7ecdce432cp-20);
    p = multiply_add_f64(p, r2, -0x1.f4c348205639cp-17);
    p = multiply_add_f64(p, r2, 0x1.f9a28ec0af548p-14);
    p = multiply_add_f64(p, r2, -0x1.c02dafd599e2p-11);
    p = multiply_add_f64(p, r2, 0x1.565bccfae2c35p-8);
    p = multiply_add_f64(p, r2, -0x1.b82ce31215871p-6);
    p = multiply_add_f64(p, r2, 0x1.ce2f21a0413cbp-4);
    p = multiply_add_f64(p, r2, -0x1.812746b0379c1p-2);
    p = multiply_add_f64(p, r2, 0x1.20dd750429b6dp+0);
    return p * r;
}
