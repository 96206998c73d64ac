/* numpy.arccos: the inverse cosine, in [0, pi]; NaN outside [-1, 1].
   Method: that of numpy.arcsin: pi / 2 - arcsin(x) up to 1/2 in size, 2 arcsin(sqrt((1 - x) / 2))
   above, and pi minus that for the negative side.
   Largest error measured: 1.2 ulp in single, 1.2 ulp in double precision. */
static inline float arccos_f32(float x)
{
    float a = fabsf(x);
    bool large = a > 0.5f;
    float square = large ? 0.5f - 0.5f * a : a * a;
    float r = large ? sqrtf(square) : a;
    float angle = r + arcsin_tail_f32(r, square);
    angle = large ? -2.0f * angle : angle;
    angle = copysignf(1.0f, x) * angle;
    float offset = large ? (x > 0.0f ? 0.0f : 0x1.921fb6p+1f) : 0x1.921fb6p+0f;
    float missed = large ? (x > 0.0f ? 0.0f : -0x1.777a5cp-24f) : -0x1.777a5cp-25f;
    return offset - (angle - missed);
}

static inline double arccos_f64(double x)
{
    double a = fabs(x);
    bool large = a > 0.5;
    double square = large ? 0.5 - 0.5 * a : a * a;
    double r = large ? sqrt(square) : a;
    double angle = r + arcsin_tail_f64(r, square);
    angle = large ? -2.0 * angle : angle;
    angle = copysign(1.0, x) * angle;
    double offset = large ? (x > 0.0 ? 0.0 : 0x1.921fb54442d18p+1) : 0x1.921fb54442d18p+0;
    double missed = large ? (x > 0.0 ? 0.0 : 0x1.1a62633145c07p-53) : 0x1.1a62633145c07p-54;
    return offset - (angle - missed);
}
