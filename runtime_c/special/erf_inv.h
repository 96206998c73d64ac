/* scipy.special.erfinv: the inverse of the error function.
   Method: in double precision x P(x^2) up to 1/2; beyond it, with w = sqrt(-log(1 - |x|)), w Q((w -
   3/2) / (w + 3/2)). In single precision x P(-log(1 - x^2)) computed in double, one polynomial for
   the whole domain, as M. Giles, "Approximating the erfinv function" (2010) does in the central
   region; even and odd powers are two independent chains (second-order Horner). The polynomials are
   interpolated at Chebyshev points with mpmath (40 digits).
   Largest error measured: 0.51 ulp in single, 4 ulp in double precision. */
static inline float erf_inv_f32(float x)
{
    double y = (double)x;
    double u = multiply_add_f64(-y, y, 1.0);
    double t = -log_approximate_f64(u) - 8.0;
    double t2 = t * t;
    double even = 0x1.b833cbf2a06e4p-71;
    even = multiply_add_f64(even, t2, -0x1.a30206e40b04ep-62);
    even = multiply_add_f64(even, t2, 0x1.141b1630cce8ep-54);
    even = multiply_add_f64(even, t2, -0x1.d9c636fa244cdp-49);
    even = multiply_add_f64(even, t2, -0x1.7c038526b4aa4p-44);
    even = multiply_add_f64(even, t2, -0x1.433cc24a7701ep-38);
    even = multiply_add_f64(even, t2, 0x1.1189c1876d610p-29);
    even = multiply_add_f64(even, t2, 0x1.58ce88d1082ffp-23);
    even = multiply_add_f64(even, t2, -0x1.2acf6803fe58dp-17);
    even = multiply_add_f64(even, t2, -0x1.4b502b22792dap-8);
    even = multiply_add_f64(even, t2, 0x1.54aa057bc5e2ep+1);
    double odd = -0x1.34cdfcd9daaaap-73;
    odd = multiply_add_f64(odd, t2, 0x1.b049635fdeebap-65);
    odd = multiply_add_f64(odd, t2, -0x1.a027467d10a71p-58);
    odd = multiply_add_f64(odd, t2, 0x1.8b6e8d59d9ec9p-53);
    odd = multiply_add_f64(odd, t2, 0x1.0eaff4940b8b8p-47);
    odd = multiply_add_f64(odd, t2, 0x1.a3186e02d185fp-40);
    odd = multiply_add_f64(odd, t2, -0x1.cbe34ff0e5cf8p-34);
    odd = multiply_add_f64(odd, t2, -0x1.75e676651f66dp-26);
    odd = multiply_add_f64(odd, t2, -0x1.02e58b4b01512p-21);
    odd = multiply_add_f64(odd, t2, 0x1.017cf8280bc94p-12);
    odd = multiply_add_f64(odd, t2, 0x1.692e0190ccf70p-3);
    double special = u == 0.0 ? (double)INFINITY : (double)NAN;
    double factor = u > 0.0 ? multiply_add_f64(odd, t, even) : special;
    return (float)(factor * y);
}

/* log(u) for u from 2^-24 to 1, within 2^-33: enough for erfinv in single precision. */
static inline double log_approximate_f64(double u)
{
    uint64_t bits = bits_f64(u) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = float_from_bits_f64((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double f = float_from_bits_f64((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double f2 = f * f;
    double even = 0x1.b3ac3b074d2bbp-4;
    even = multiply_add_f64(even, f2, 0x1.c44f7ad7d524cp-4);
    even = multiply_add_f64(even, f2, 0x1.24883dada0a00p-3);
    even = multiply_add_f64(even, f2, 0x1.999a7d48c0d3ap-3);
    even = multiply_add_f64(even, f2, 0x1.555553aa0f980p-2);
    even = multiply_add_f64(even, f2, 0x1.0000000034ca3p+0);
    double odd = -0x1.dee09d025c21ap-5;
    odd = multiply_add_f64(odd, f2, -0x1.be62fe319e0dfp-4);
    odd = multiply_add_f64(odd, f2, -0x1.fc599187f3b0ep-4);
    odd = multiply_add_f64(odd, f2, -0x1.5568d22fe6100p-3);
    odd = multiply_add_f64(odd, f2, -0x1.ffffaae30d483p-3);
    odd = multiply_add_f64(odd, f2, -0x1.0000001a7f017p-1);
    return multiply_add_f64(k, 0x1.62e42fefa39efp-1, f * multiply_add_f64(odd, f, even));
}

static inline double erf_inv_f64(double x)
{
    double a = fabs(x);
    double x2 = a < 0.5 ? a * a : 0.25;
    double p = 0x1.063bf23dddbf1p-3;
    p = multiply_add_f64(p, x2, -0x1.e982dfd38d68fp-4);
    p = multiply_add_f64(p, x2, 0x1.aef1c6b41b681p-4);
    p = multiply_add_f64(p, x2, -0x1.bef0943d18383p-7);
    p = multiply_add_f64(p, x2, 0x1.0563748d0a3bdp-5);
    p = multiply_add_f64(p, x2, 0x1.7c8509c17fc49p-6);
    p = multiply_add_f64(p, x2, 0x1.ce8fd0b7145e9p-6);
    p = multiply_add_f64(p, x2, 0x1.0362baad0df6fp-5);
    p = multiply_add_f64(p, x2, 0x1.2abe946bcb1bap-5);
    p = multiply_add_f64(p, x2, 0x1.5eeae7c60e671p-5);
    p = multiply_add_f64(p, x2, 0x1.a7c85e789a166p-5);
    p = multiply_add_f64(p, x2, 0x1.0a13189695612p-4);
    p = multiply_add_f64(p, x2, 0x1.62847c47f2ffap-4);
    p = multiply_add_f64(p, x2, 0x1.053c2c0ab907ep-3);
    p = multiply_add_f64(p, x2, 0x1.db29fb2fee5e5p-3);
    p = multiply_add_f64(p, x2, 0x1.c5bf891b4ef6bp-1);
    double large = erfc_inv_near_f64(sqrt(-log_f64(1.0 - a)));
    large = a == 1.0 ? (double)INFINITY : large;
    return a < 0.5 ? p * x : copysign(large, x);
}

/* The y with erfc(y) = exp(-w^2), for w from sqrt(log(2)) to 6. */
static inline double erfc_inv_near_f64(double w)
{
    double t = (w - 1.5) / (w + 1.5);
    double p = -0x1.1abe2c3384502p-15;
    p = multiply_add_f64(p, t, -0x1.413c1adafeb66p-8);
    p = multiply_add_f64(p, t, 0x1.3adb133dbb4dep-6);
    p = multiply_add_f64(p, t, -0x1.f31b3307f2d98p-6);
    p = multiply_add_f64(p, t, 0x1.1da428d53a2e4p-6);
    p = multiply_add_f64(p, t, 0x1.1b7572c244aaep-6);
    p = multiply_add_f64(p, t, -0x1.577cd9ba9c6e0p-5);
    p = multiply_add_f64(p, t, 0x1.c8f9579953eadp-6);
    p = multiply_add_f64(p, t, 0x1.1539cf4a3c36bp-6);
    p = multiply_add_f64(p, t, -0x1.a997d3b27f714p-5);
    p = multiply_add_f64(p, t, 0x1.43770236a5a40p-5);
    p = multiply_add_f64(p, t, 0x1.08d1876ca27e6p-6);
    p = multiply_add_f64(p, t, -0x1.1102141a0544ap-4);
    p = multiply_add_f64(p, t, 0x1.d96b7acd22262p-5);
    p = multiply_add_f64(p, t, 0x1.ea50d375e64d3p-7);
    p = multiply_add_f64(p, t, -0x1.7b772618cd9f9p-4);
    p = multiply_add_f64(p, t, 0x1.773b762e9a312p-4);
    p = multiply_add_f64(p, t, 0x1.c5dd1142660b1p-7);
    p = multiply_add_f64(p, t, -0x1.397453c1e424ep-3);
    p = multiply_add_f64(p, t, 0x1.61bd8b6757a92p-3);
    p = multiply_add_f64(p, t, 0x1.ab04fac8f9039p-6);
    p = multiply_add_f64(p, t, -0x1.9f38d51317c89p-2);
    p = multiply_add_f64(p, t, 0x1.1ada8fdc51389p-1);
    p = multiply_add_f64(p, t, 0x1.86d0763eb4b45p-1);
    return p * w;
}

/* The same for w from 6 to 27.5, beyond which exp(-w^2) underflows. */
static inline double erfc_inv_far_f64(double w)
{
    double t = (w - 3.0) / (w + 3.0) - 0.5625;
    double p = -0x1.c25989c8cb17dp+6;
    p = multiply_add_f64(p, t, -0x1.4763bff0b8912p+5);
    p = multiply_add_f64(p, t, 0x1.97ade3a0785e4p+3);
    p = multiply_add_f64(p, t, 0x1.0343befcc58cep+1);
    p = multiply_add_f64(p, t, -0x1.a9d4d78e208bdp+1);
    p = multiply_add_f64(p, t, -0x1.354c7d531325ap+0);
    p = multiply_add_f64(p, t, -0x1.48fe86c5badd9p-2);
    p = multiply_add_f64(p, t, -0x1.b007881221acep-3);
    p = multiply_add_f64(p, t, -0x1.0dcd3c8c6103cp-3);
    p = multiply_add_f64(p, t, -0x1.2647285f73919p-4);
    p = multiply_add_f64(p, t, -0x1.5561df29f464cp-5);
    p = multiply_add_f64(p, t, -0x1.84f7cf04effc2p-6);
    p = multiply_add_f64(p, t, -0x1.e9cb22f077af1p-7);
    p = multiply_add_f64(p, t, -0x1.5e9dc5418a2e8p-7);
    p = multiply_add_f64(p, t, -0x1.e1bc891e971f2p-10);
    p = multiply_add_f64(p, t, -0x1.f71a6a7ed7a9fp-7);
    p = multiply_add_f64(p, t, 0x1.2fc19be61e0b1p-6);
    p = multiply_add_f64(p, t, -0x1.622e8721234d8p-5);
    p = multiply_add_f64(p, t, 0x1.f597318b929d5p-5);
    p = multiply_add_f64(p, t, -0x1.865570f0e2888p-4);
    p = multiply_add_f64(p, t, 0x1.00e000e16257ap-4);
    p = multiply_add_f64(p, t, 0x1.f96958af05768p-1);
    return p * w;
}
