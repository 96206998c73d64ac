/* numpy.log10: the logarithm to base 10.
   Method: that of numpy.log2, with log10(2) in two parts, the first short enough that k times it
   is exact; in single precision log10(1 + f) = c f - f^2/4 + f P(f), with the rounding error of c f.
   Largest error measured: 0.75 ulp in single, 0.62 ulp in double precision. */
static inline float log10_f32(float x)
{
    float k = exponent_f32(x);
    float f = fraction_f32(x) - 1.0f;
    float p = 0x1.da3b38p-6f;
    p = multiply_add_f32(p, f, -0x1.9f78f2p-5f);
    p = multiply_add_f32(p, f, 0x1.a898cap-5f);
    p = multiply_add_f32(p, f, -0x1.b9830ep-5f);
    p = multiply_add_f32(p, f, 0x1.f9a3f2p-5f);
    p = multiply_add_f32(p, f, -0x1.287d06p-4f);
    p = multiply_add_f32(p, f, 0x1.63d1cep-4f);
    p = multiply_add_f32(p, f, -0x1.bcb7eap-4f);
    p = multiply_add_f32(p, f, 0x1.287a64p-3f);
    p = multiply_add_f32(p, f, 0x1.0d213cp-5f);
    p = multiply_add_f32(p, f, -0x1.51b57p-27f);
    float whole = k * 0x1.344p-2f;
    float lead = f * 0x1.bcb7b2p-2f;
    float sum = whole + lead;
    float low = (lead - (sum - whole)) + fmaf(f, 0x1.bcb7b2p-2f, -lead);
    low = multiply_add_f32(k, 0x1.3509f8p-18f, low);
    low = multiply_add_f32(p, f, low);
    return log_special_f32(x, sum + multiply_add_f32(-0.25f * f, f, low));
}

static inline double log10_f64(double x)
{
    double k = exponent_f64(x);
    double low;
    double high =
        scaled_log_f64(fraction_f64(x) - 1.0, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, &low);
    double whole = k * 0x1.34413509f8p-2;
    double sum = whole + high;
    low += multiply_add_f64(k, -0x1.80433b83b532ap-44, high - (sum - whole));
    return log_special_f64(x, sum + low);
}
