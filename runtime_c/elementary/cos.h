/* numpy.cos, correct for every finite argument. Huge ones, which are rare, take a branch, in vector
   lanes all take both ways.
   Method: that of numpy.sin, shifted by half a period: x = (n + 1/2) pi + r, |r| <= pi / 2, and
   cos(x) = sin(r) (-1)^(n + 1). The shift is odd, so that its lowest bit is the parity of n + 1.
   Largest error measured: 0.63 ulp in single, 2.1 ulp in double precision. */
static inline float cos_f32(float x)
{
    if (fabsf(x) > 0x1p40f) {
        return cos_in_lanes_f32(x);
    }
    return cos_near_f32(x);
}

static inline double cos_f64(double x)
{
    if (fabs(x) > 0x1p40) {
        return cos_in_lanes_f64(x);
    }
    return cos_near_f64(x);
}

static inline float cos_in_lanes_f32(float x)
{
    double multiple;
    double y = reduce_two_pi_f32(x, &multiple);
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-2, -0.5) + (0x1.8p52 + 1.0);
    double k = shifted - (0x1.8p52 + 1.0) + 0.5;
    double r = fma(-k, 0x1.921fb54442d18p+1, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-53, r) + multiple;
    return (float)sine_with_sign_f32(r, bits_f64(shifted) << 63);
}

static inline double cos_in_lanes_f64(double x)
{
    double near_shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-2, -0.5) + (0x1.8p52 + 1.0);
    double near = subtract_half_turns_f64(x, near_shifted - (0x1.8p52 + 1.0) + 0.5);
    double low;
    double lowest;
    double turns = half_turns_f64(x, &low, &lowest);
    double far_shifted = (turns - 0.5) + (0x1.8p52 + 1.0);
    double far_k = far_shifted - (0x1.8p52 + 1.0) + 0.5;
    double far = half_turns_to_angle_f64(turns - far_k, low, lowest);
    bool is_far = fabs(x) > 0x1p40;
    uint64_t sign = bits_f64(is_far ? far_shifted : near_shifted) << 63;
    return sine_with_sign_f64(is_far ? far : near, sign);
}
