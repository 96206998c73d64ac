/* numpy.exp2: 2 to the power x.
   Method: x = k + r with |r| <= 1/2, exactly; a minimax polynomial in r; the scaling of numpy.exp.
   Largest error measured: 0.87 ulp in single, 0.77 ulp in double precision. */
static inline float exp2_f32(float x)
{
    x = fabsf(x) > 151.0f ? copysignf(151.0f, x) : x;
    float shifted = x + (0x1.8p23f + 254.0f);
    float k = shifted - (0x1.8p23f + 254.0f);
    float r = x - k;
    float p = 0x1.3fa8dep-13f;
    p = multiply_add_f32(p, r, 0x1.5f0cf6p-10f);
    p = multiply_add_f32(p, r, 0x1.3b309cp-7f);
    p = multiply_add_f32(p, r, 0x1.c6af74p-5f);
    p = multiply_add_f32(p, r, 0x1.ebfbd8p-3f);
    p = multiply_add_f32(p, r, 0x1.62e43p-1f);
    return scale_f32(multiply_add_f32(p, r, 1.0f), k, shifted);
}

static inline double exp2_f64(double x)
{
    x = fabs(x) > 1076.0 ? copysign(1076.0, x) : x;
    double shifted = x + (0x1.8p52 + 2046.0);
    double k = shifted - (0x1.8p52 + 2046.0);
    double r = x - k;
    double p = 0x1.e94b8af59fa6ap-32;
    p = multiply_add_f64(p, r, 0x1.e61ce97a7c692p-28);
    p = multiply_add_f64(p, r, 0x1.b5253d4e2571bp-24);
    p = multiply_add_f64(p, r, 0x1.62bfc6b4c96f3p-20);
    p = multiply_add_f64(p, r, 0x1.ffcbfc59f3e51p-17);
    p = multiply_add_f64(p, r, 0x1.4309130f33f4dp-13);
    p = multiply_add_f64(p, r, 0x1.5d87fe78a104ep-10);
    p = multiply_add_f64(p, r, 0x1.3b2ab6fb9ff52p-7);
    p = multiply_add_f64(p, r, 0x1.c6b08d704a122p-5);
    p = multiply_add_f64(p, r, 0x1.ebfbdff82c5a5p-3);
    p = multiply_add_f64(p, r, 0x1.62e42fefa39efp-1);
    return scale_f64(multiply_add_f64(p, r, 1.0), k, shifted);
}

/* 2^x in double precision for |x| < 1000, with an error far below the rounding error of single
   precision. */
static inline double exp2_wide_f32(double x)
{
    double shifted = x + (0x1.8p52 + 1023.0);
    double r = x - (shifted - (0x1.8p52 + 1023.0));
    double p = 0x1.fde4da884668bp-17;
    p = multiply_add_f64(p, r, 0x1.445ddad144175p-13);
    p = multiply_add_f64(p, r, 0x1.5d8a8a70da2ecp-10);
    p = multiply_add_f64(p, r, 0x1.3b29f211cfbd9p-7);
    p = multiply_add_f64(p, r, 0x1.c6b08ab9066ecp-5);
    p = multiply_add_f64(p, r, 0x1.ebfbe0790a367p-3);
    p = multiply_add_f64(p, r, 0x1.62e42ff0e5bfap-1);
    p = multiply_add_f64(p, r, 1.0);
    return p * float_from_bits_f64(bits_f64(shifted) << 52);
}
