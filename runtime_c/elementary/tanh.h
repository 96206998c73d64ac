/* numpy.tanh: the hyperbolic tangent.
   Method: an odd minimax polynomial up to 9/16; beyond it 1 - 1 / (h + 1) with h = (exp(2 |x|) -
   1) / 2. From 22 (10 in single precision) on, the result is 1.
   Largest error measured: 1.5 ulp in single, 1.5 ulp in double precision. */
static inline float tanh_f32(float x)
{
    float x2 = x * x;
    float p = -0x1.949a3cp-8f;
    p = multiply_add_f32(p, x2, 0x1.581cb8p-6f);
    p = multiply_add_f32(p, x2, -0x1.b906dp-5f);
    p = multiply_add_f32(p, x2, 0x1.110c62p-3f);
    p = multiply_add_f32(p, x2, -0x1.555548p-2f);
    float small = multiply_add_f32(p * x2, x, x);
    float a = fabsf(x);
    float half = half_expm1_f32(a > 10.0f ? 20.0f : 2.0f * a);
    float large = 1.0f - 1.0f / (half + 1.0f);
    return copysignf(a < 0.5625f ? small : large, x);
}

static inline double tanh_f64(double x)
{
    double x2 = x * x;
    double p = 0x1.9f9e80a05a50ap-15;
    p = multiply_add_f64(p, x2, -0x1.b481dd4bb2962p-13);
    p = multiply_add_f64(p, x2, 0x1.2eeeeb818d848p-11);
    p = multiply_add_f64(p, x2, -0x1.7cd5177ea424bp-10);
    p = multiply_add_f64(p, x2, 0x1.d6c2f9aa1d807p-9);
    p = multiply_add_f64(p, x2, -0x1.226dc3ff1a168p-7);
    p = multiply_add_f64(p, x2, 0x1.664f44ce03daap-6);
    p = multiply_add_f64(p, x2, -0x1.ba1ba1a83ae01p-5);
    p = multiply_add_f64(p, x2, 0x1.11111110fbaa6p-3);
    p = multiply_add_f64(p, x2, -0x1.5555555555439p-2);
    double small = multiply_add_f64(p * x2, x, x);
    double a = fabs(x);
    double half = half_expm1_f64(a > 22.0 ? 44.0 : 2.0 * a);
    double large = 1.0 - 1.0 / (half + 1.0);
    return copysign(a < 0.5625 ? small : large, x);
}
