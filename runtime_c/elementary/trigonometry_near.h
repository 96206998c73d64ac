/* numpy.sin, numpy.cos and numpy.tan for ordinary arguments: |x| up to 2^40. The operations of sin,
   cos and tan without the reduction of huge arguments: the results are the same to the bit, in a
   third of the time in double precision. The caller has checked the range. */
static inline float sin_near_f32(float x)
{
    double y = (double)x;
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-2, 0x1.8p52);
    double k = shifted - 0x1.8p52;
    double r = fma(-k, 0x1.921fb54442d18p+1, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-53, r);
    float sine = (float)sine_with_sign_f32(r, bits_f64(shifted) << 63);
    return x == 0.0f ? x : sine;
}

static inline double sin_near_f64(double x)
{
    double shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-2, 0x1.8p52);
    double r = subtract_half_turns_f64(x, shifted - 0x1.8p52);
    double sine = sine_with_sign_f64(r, bits_f64(shifted) << 63);
    return x == 0.0 ? x : sine;
}

static inline float cos_near_f32(float x)
{
    double y = (double)x;
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-2, -0.5) + (0x1.8p52 + 1.0);
    double k = shifted - (0x1.8p52 + 1.0) + 0.5;
    double r = fma(-k, 0x1.921fb54442d18p+1, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-53, r);
    return (float)sine_with_sign_f32(r, bits_f64(shifted) << 63);
}

static inline double cos_near_f64(double x)
{
    double shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-2, -0.5) + (0x1.8p52 + 1.0);
    double r = subtract_half_turns_f64(x, shifted - (0x1.8p52 + 1.0) + 0.5);
    return sine_with_sign_f64(r, bits_f64(shifted) << 63);
}

static inline float tan_near_f32(float x)
{
    double y = (double)x;
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double k = shifted - 0x1.8p52;
    double r = fma(-k, 0x1.921fb54442d18p+0, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-54, r);
    float tangent = (float)tangent_of_quarter_f32(r, bits_f64(shifted));
    return x == 0.0f ? x : tangent;
}

static inline double tan_near_f64(double x)
{
    double shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double r = subtract_half_turns_f64(x, 0.5 * (shifted - 0x1.8p52));
    double tangent = tangent_of_quarter_f64(r, bits_f64(shifted));
    return x == 0.0 ? x : tangent;
}
