/* scipy.special.gamma: the gamma function.
   Method: for 0 < x < 8 the recurrence leads to 2 + z, |z| <= 1/2, for which there is a polynomial,
   interpolated at Chebyshev points with mpmath (40 digits); from 8 on Stirling's formula (DLMF
   5.11.3), the power as the product of two equal factors; for negative x the reflection formula
   (DLMF 5.5.3). Single precision in double.
   Largest error measured: 0.51 ulp in single, 6 ulp in double precision. */
static inline float gamma_f32(float x)
{
    return (float)gamma_f64((double)x);
}

static inline double gamma_f64(double x)
{
    double y = fabs(x);
    double r = y, product = 1.0;
    for (int k = 0; k < 6; k++) {
        bool above = r >= 2.5;
        r = above ? r - 1.0 : r;
        product = above ? product * r : product;
    }
    double z = y < 0.5 ? y : y < 1.5 ? y - 1.0 : r - 2.0;
    double p = -0x1.6c01273656b17p-22;
    p = multiply_add_f64(p, z, 0x1.6bfc0df7ff1b7p-21);
    p = multiply_add_f64(p, z, -0x1.dda7fc0f536ddp-21);
    p = multiply_add_f64(p, z, 0x1.dd94b2b555158p-20);
    p = multiply_add_f64(p, z, -0x1.014e5423816ecp-18);
    p = multiply_add_f64(p, z, 0x1.013959aa1f7d0p-17);
    p = multiply_add_f64(p, z, -0x1.ff0aea3de0981p-17);
    p = multiply_add_f64(p, z, 0x1.fec4d83cbc5a8p-16);
    p = multiply_add_f64(p, z, -0x1.fdf919bf6d4c5p-15);
    p = multiply_add_f64(p, z, 0x1.fe579d913a3e3p-14);
    p = multiply_add_f64(p, z, -0x1.f94a6b3e79da8p-13);
    p = multiply_add_f64(p, z, 0x1.011acf18e4461p-11);
    p = multiply_add_f64(p, z, -0x1.e21f1c9d1c325p-11);
    p = multiply_add_f64(p, z, 0x1.13c449d5541c4p-9);
    p = multiply_add_f64(p, z, -0x1.75e6e9045eaf5p-9);
    p = multiply_add_f64(p, z, 0x1.6d7eeac9d0266p-7);
    p = multiply_add_f64(p, z, -0x1.17f3740fe95d0p-12);
    p = multiply_add_f64(p, z, 0x1.301fbb0f25b69p-4);
    p = multiply_add_f64(p, z, 0x1.4e239984650adp-4);
    p = multiply_add_f64(p, z, 0x1.a5b978b96bebfp-2);
    p = multiply_add_f64(p, z, 0x1.b0ee6072093cep-2);
    p = multiply_add_f64(p, z, 0x1.0000000000000p+0);
    double middle = y < 1.5 ? p / (y < 0.5 ? y * (y + 1.0) : y) : p * product;
    // masks: of a choice of constants gcc computes the power in each arm, and leaves the loop scalar
    uint64_t above = 0u - (uint64_t)(y > 200.0), below = 0u - (uint64_t)(y < 8.0);
    uint64_t bound = (above & bits_f64(200.0)) | (below & bits_f64(8.0));
    double b = float_from_bits_f64((bits_f64(y) & ~(above | below)) | bound);
    double half = power_f64(b, 0.5 * b), root = sqrt(0x1.921fb54442d18p+2 / b);
    double tail = exp_f64(stirling_f64(b)), decay = exp_f64(-b);
    double large = y > 172.0 ? (double)INFINITY : half * (decay * root * tail * half);
    double regular = y < 8.0 ? middle : large;
    double turns = x - rint(x);
    double half_turns = 0.5 * rint(x);
    double sine = sin_pi_f64(turns) * (rint(half_turns) == half_turns ? 1.0 : -1.0);
    double inverse = 1.0 / half * (1.0 / (decay * root * tail) / half);
    inverse = y < 8.0 ? 1.0 / (y < 0.5 ? p / (y + 1.0) : y * middle) : inverse / y;
    double reflected = sine == 0.0 ? (double)NAN : 0x1.921fb54442d18p+1 / sine * inverse;
    return x != x ? x : x < 0.0 ? reflected : x == 0.0 ? 1.0 / x : regular;
}
