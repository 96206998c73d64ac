/* jax.random.gamma: a sample of the gamma distribution of shape `alpha`.
   Method: rejection sampling (G. Marsaglia and W. Tsang, "A simple method for generating gamma
   variables", ACM Transactions on Mathematical Software 26(3), 2000); for alpha < 1 a sample of
   shape alpha + 1 times U^(1 / alpha), U uniform, as they propose. Keys are split and consumed in
   JAX's order, so the samples are JAX's. */
static inline F random_gamma_F(F alpha, uint64_t key)
{
    F boost = 1;
    if (!(alpha >= 1))
        boost = power_F(1 - unit_float_F(threefry_2x32_u64(key, 1)), 1 / alpha);
    F shifted = alpha >= 1 ? alpha : alpha + 1;
    return (shifted - (F)1 / 3) * gamma_volume_F(shifted, threefry_2x32_u64(key, 0)) * boost;
}

/* jax.random.loggamma: the logarithm of such a sample, finite where the sample would underflow. */
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

/* A sample of shape alpha >= 1 divided by d = alpha - 1/3: Marsaglia and Tsang's v^3. */
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

/* The first uniform number that a key gives in JAX: a float in [1, 2) with random fraction bits,
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

/* The first standard normal number that a key gives in JAX: the inverse of the distribution
   function at a uniform number. */
static inline F normal_float_F(uint64_t key)
{
    F low = nextafter_F(-1, 0);
    return (F)1.4142135623730951 * erf_inv_F(unit_float_F(key) * (1 - low) + low);
}
