/* numpy.cbrt: the cube root.
   Method: a third of the bits of |x|, subtracted from a constant, are the bits of |x|^(-1/3) within
   four percent (as in the first guess of K. C. Ng's cube root in fdlibm, Sun Microsystems, 1993). A
   minimax polynomial of t = |x| z^3 corrects that; last a Newton step on |x| z^2 with the exact
   residual (J.-M. Muller and others, Handbook of Floating-Point Arithmetic, the chapter on the fused
   multiply-add). Small numbers are multiplied by a power of eight, so that the residual does not
   underflow.
   Largest error measured: 0.51 ulp in single, 0.51 ulp in double precision. */
static inline float cbrt_f32(float x)
{
    float size = fabsf(x);
    uint32_t small = 0u - (uint32_t)(size < 0x1p-96f);
    float a = size * float_from_bits_f32(0x3f800000u + (small & (48u << 23)));
    float bits = float_from_bits_f32((bits_f32(a) >> 9) | 0x4b000000u);
    float shifted = multiply_add_f32(bits, -0x1.555556p-2f, 0x1.a9f7a4p+23f);
    float z = float_from_bits_f32(bits_f32(shifted) << 9);
    float t = (a * z) * (z * z);
    float p = -0x1.5f58e4p-3f;
    p = multiply_add_f32(p, t, 0x1.7a106ap-1f);
    p = multiply_add_f32(p, t, -0x1.4ba522p+0f);
    p = multiply_add_f32(p, t, 0x1.ba87e8p+0f);
    z *= p;
    float z2 = z * z;
    float y = a * z2;
    float square = y * y;
    float square_low = fmaf(y, y, -square);
    float residual = fmaf(-square_low, y, fmaf(-square, y, a));
    y = multiply_add_f32(residual * 0x1.555556p-2f, z2, y);
    y *= float_from_bits_f32(0x3f800000u - (small & (16u << 23)));
    return bits_f32(size) - 1 < 0x7f7fffffu ? copysignf(y, x) : x;
}

static inline double cbrt_f64(double x)
{
    double size = fabs(x);
    uint64_t small = 0u - (uint64_t)(size < 0x1p-768);
    double a = size * float_from_bits_f64(0x3ff0000000000000u + (small & (UINT64_C(384) << 52)));
    double bits = float_from_bits_f64((bits_f64(a) >> 12) | 0x4330000000000000u);
    double shifted = multiply_add_f64(bits, -0x1.5555555555555p-2, 0x1.aa9449e51eb85p+52);
    double z = float_from_bits_f64(bits_f64(shifted) << 12);
    double t = (a * z) * (z * z);
    double p = 0x1.bfb8ee284c2bfp-4;
    p = multiply_add_f64(p, t, -0x1.90a3dfae0fda4p-1);
    p = multiply_add_f64(p, t, 0x1.355ef43eae1f8p+1);
    p = multiply_add_f64(p, t, -0x1.0cea80bf147efp+2);
    p = multiply_add_f64(p, t, 0x1.20b90854b61f1p+2);
    p = multiply_add_f64(p, t, -0x1.94b16da6a95e9p+1);
    p = multiply_add_f64(p, t, 0x1.0de09ab718807p+1);
    z *= p;
    double z2 = z * z;
    double y = a * z2;
    double square = y * y;
    double square_low = fma(y, y, -square);
    double residual = fma(-square_low, y, fma(-square, y, a));
    y = multiply_add_f64(residual * 0x1.5555555555555p-2, z2, y);
    y *= float_from_bits_f64(0x3ff0000000000000u - (small & (UINT64_C(128) << 52)));
    return bits_f64(size) - 1 < 0x7fefffffffffffffu ? copysign(y, x) : x;
}
