/* numpy.arcsin: the inverse sine, in [-pi / 2, pi / 2]; NaN outside [-1, 1].
   Method: an odd minimax polynomial up to 1/2; beyond it arcsin(x) = pi / 2 - 2 arcsin(sqrt((1 -
   x) / 2)), where pi / 2 - 2 sqrt(...) is exact.
   Largest error measured: 2.1 ulp in single, 2.0 ulp in double precision. */
static inline float arcsin_f32(float x)
{
    float a = fabsf(x);
    bool large = a > 0.5f;
    float square = large ? 0.5f - 0.5f * a : a * a;
    float r = large ? sqrtf(square) : a;
    float tail = arcsin_tail_f32(r, square);
    float offset = (0x1.921fb6p+0f - 2.0f * r) - (2.0f * tail + 0x1.777a5cp-25f);
    return copysignf(large ? offset : r + tail, x);
}

static inline double arcsin_f64(double x)
{
    double a = fabs(x);
    bool large = a > 0.5;
    double square = large ? 0.5 - 0.5 * a : a * a;
    double r = large ? sqrt(square) : a;
    double tail = arcsin_tail_f64(r, square);
    double offset = (0x1.921fb54442d18p+0 - 2.0 * r) - (2.0 * tail - 0x1.1a62633145c07p-54);
    return copysign(large ? offset : r + tail, x);
}

/* arcsin(r) - r for 0 <= r <= 1/2, given r^2 too. */
static inline float arcsin_tail_f32(float r, float r2)
{
    float p = 0x1.595a54p-5f;
    p = multiply_add_f32(p, r2, 0x1.8c40b2p-6f);
    p = multiply_add_f32(p, r2, 0x1.747b7cp-5f);
    p = multiply_add_f32(p, r2, 0x1.330206p-4f);
    p = multiply_add_f32(p, r2, 0x1.5555c8p-3f);
    return p * r2 * r;
}

static inline double arcsin_tail_f64(double r, double r2)
{
    double p = 0x1.0b4563fa2fde6p-5;
    p = multiply_add_f64(p, r2, -0x1.57f910762439cp-6);
    p = multiply_add_f64(p, r2, 0x1.63993bb4c1304p-6);
    p = multiply_add_f64(p, r2, 0x1.e60072aa35174p-9);
    p = multiply_add_f64(p, r2, 0x1.613bcc6e16981p-7);
    p = multiply_add_f64(p, r2, 0x1.7585ad5d2a03dp-7);
    p = multiply_add_f64(p, r2, 0x1.ca1f88e172343p-7);
    p = multiply_add_f64(p, r2, 0x1.1c49f08f91994p-6);
    p = multiply_add_f64(p, r2, 0x1.6e8bdedd56e91p-6);
    p = multiply_add_f64(p, r2, 0x1.f1c71a950d67p-6);
    p = multiply_add_f64(p, r2, 0x1.6db6db7212267p-5);
    p = multiply_add_f64(p, r2, 0x1.333333332e135p-4);
    p = multiply_add_f64(p, r2, 0x1.5555555555577p-3);
    return p * r2 * r;
}
