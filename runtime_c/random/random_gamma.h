/* jax.random.gamma: one sample for a parameter and a key.
   Method: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); below 1, the
   sample for the parameter plus one times a power of a uniform number, as they say there. Keys are
   made and taken as JAX does, so that the samples are the same. */
static inline F random_gamma_F(F alpha, uint64_t key)
{
    F boost = 1;
    if (!(alpha >= 1))
        boost = power_F(1 - unit_float_F(threefry_2x32_u64(key, 1)), 1 / alpha);
    F shifted = alpha >= 1 ? alpha : alpha + 1;
    return (shifted - (F)1 / 3) * gamma_volume_F(shifted, threefry_2x32_u64(key, 0)) * boost;
}

/* jax.random.loggamma: the logarithm of such a sample, which is a number where the sample would be
   zero. */
static inline F random_loggamma_F(F alpha, uint64_t key)
{
    F boost = 0;
    F uniform = unit_float_F(threefry_2x32_u64(key, 1));
    if (!(alpha >= 1) && uniform > 0)
        boost = log1p_F(-uniform) * (1 / alpha);
    F shifted = alpha >= 1 ? alpha : alpha + 1;
    F volume = gamma_volume_F(shifted, threefry_2x32_u64(key, 0));
    return log_F(shifted - (F)1 / 3) + log_F(volume) + boost;
}

/* The sample for a parameter of at least 1, divided by the parameter minus 1/3. */
static inline F gamma_volume_F(F alpha, uint64_t key)
{
    F d = alpha - (F)1 / 3, c = (F)1 / 3 / sqrt_F(d);
    for (;;) {
        uint64_t next = threefry_2x32_u64(key, 1);
        F x, v;
        do {
            x = normal_float_F(threefry_2x32_u64(next, 1));
            v = 1 + x * c;
            next = threefry_2x32_u64(next, 0);
        } while (v <= 0);
        F u = unit_float_F(threefry_2x32_u64(key, 2));
        F square = x * x, volume = v * v * v;
        if (!(u >= 1 - (F)0.0331 * (square * square)))
            return volume;
        if (!(log_F(u) >= square / 2 + d * (1 - volume + log_F(volume))))
            return volume;
        key = threefry_2x32_u64(key, 0);
    }
}

/* The uniform float that a key gives as its first: the float from [1, 2) whose fraction is random,
   minus 1. */
static inline float unit_float_f32(uint64_t key)
{
    uint64_t words = threefry_2x32_u64(key, 0);
    uint32_t fraction = (uint32_t)(words ^ words >> 32) >> 9;
    return float_from_bits_f32(fraction | 0x3F800000u) - 1.0f;
}

static inline double unit_float_f64(uint64_t key)
{
    uint64_t fraction = threefry_2x32_u64(key, 0) >> 12;
    return float_from_bits_f64(fraction | 0x3FF0000000000000u) - 1.0;
}

/* The normal float that a key gives as its first: where the distribution function has a uniform
   value. */
static inline F normal_float_F(uint64_t key)
{
    F low = nextafter_F(-1, 0);
    return (F)1.4142135623730951 * erf_inv_F(unit_float_F(key) * (1 - low) + low);
}
