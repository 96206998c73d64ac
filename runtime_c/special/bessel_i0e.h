/* scipy.special.i0e: exp(-|x|) I0(x).
   Method: exp(-|x|) times a polynomial of x^2 up to 8, and one of 16 / x - 1, over sqrt(x), beyond;
   interpolated at Chebyshev points with mpmath (40 digits). Single precision in double.
   Largest error measured: 0.51 ulp in single, 4 ulp in double precision. */
static inline float bessel_i0e_f32(float x)
{
    return (float)bessel_i0e_f64((double)x);
}

static inline double bessel_i0e_f64(double x)
{
    double a = fabs(x);
    double b = a > 8.0 ? 8.0 : a;
    double t = b * b;
    double near = 0x1.0b7cab2f3475fp-151;
    near = multiply_add_f64(near, t, 0x1.c4a39576f59aep-142);
    near = multiply_add_f64(near, t, 0x1.45942923d798cp-131);
    near = multiply_add_f64(near, t, 0x1.695af56542849p-121);
    near = multiply_add_f64(near, t, 0x1.6a05eb7d5abc9p-111);
    near = multiply_add_f64(near, t, 0x1.3e21e507c165dp-101);
    near = multiply_add_f64(near, t, 0x1.e72572382e283p-92);
    near = multiply_add_f64(near, t, 0x1.4197a6f6d6eb9p-82);
    near = multiply_add_f64(near, t, 0x1.69ca9d037f8b6p-73);
    near = multiply_add_f64(near, t, 0x1.5601885da0e63p-64);
    near = multiply_add_f64(near, t, 0x1.0b313289c5526p-55);
    near = multiply_add_f64(near, t, 0x1.522a43f6541c6p-47);
    near = multiply_add_f64(near, t, 0x1.522a43f6548b2p-39);
    near = multiply_add_f64(near, t, 0x1.02e85c0898b6fp-31);
    near = multiply_add_f64(near, t, 0x1.23456789abcdfp-24);
    near = multiply_add_f64(near, t, 0x1.c71c71c71c71cp-18);
    near = multiply_add_f64(near, t, 0x1.c71c71c71c71cp-12);
    near = multiply_add_f64(near, t, 0x1.0000000000000p-6);
    near = multiply_add_f64(near, t, 0x1.0000000000000p-2);
    near = multiply_add_f64(near, t, 0x1.0000000000000p+0);
    near *= exp_f64(-b);
    double u = 16.0 / (a < 8.0 ? 8.0 : a) - 1.0;
    double far = 0x1.795fd475b2f56p-36;
    far = multiply_add_f64(far, u, -0x1.052a44112c062p-34);
    far = multiply_add_f64(far, u, -0x1.53aa1a386a88dp-33);
    far = multiply_add_f64(far, u, 0x1.ee936a6bf8e31p-32);
    far = multiply_add_f64(far, u, 0x1.1f21a72e408edp-31);
    far = multiply_add_f64(far, u, -0x1.b73a634164f71p-30);
    far = multiply_add_f64(far, u, -0x1.3ef0022c16f58p-30);
    far = multiply_add_f64(far, u, 0x1.ef8d074c71f22p-29);
    far = multiply_add_f64(far, u, 0x1.236c0f5b5b9acp-29);
    far = multiply_add_f64(far, u, -0x1.96f61f2a8116cp-28);
    far = multiply_add_f64(far, u, -0x1.0d0a6b261aa24p-28);
    far = multiply_add_f64(far, u, 0x1.fd395ec9469a1p-28);
    far = multiply_add_f64(far, u, 0x1.09fec7a12434bp-27);
    far = multiply_add_f64(far, u, -0x1.72d06750d8416p-28);
    far = multiply_add_f64(far, u, -0x1.cebe0a52bd9b8p-27);
    far = multiply_add_f64(far, u, -0x1.cfdd7e426b2fdp-28);
    far = multiply_add_f64(far, u, 0x1.03fc83c33c694p-27);
    far = multiply_add_f64(far, u, 0x1.7234b8b57b421p-26);
    far = multiply_add_f64(far, u, 0x1.51cb27a54ecaep-25);
    far = multiply_add_f64(far, u, 0x1.7d0f0927f0f8ap-24);
    far = multiply_add_f64(far, u, 0x1.3f49af3fd66e4p-22);
    far = multiply_add_f64(far, u, 0x1.8e513a7c3c1f1p-20);
    far = multiply_add_f64(far, u, 0x1.75e5ee6fa3128p-17);
    far = multiply_add_f64(far, u, 0x1.1daa72b5e23c0p-13);
    far = multiply_add_f64(far, u, 0x1.b87969bb93bd4p-9);
    far = multiply_add_f64(far, u, 0x1.9bd428ad249a5p-2);
    double result = a < 8.0 ? near : far / sqrt(a);
    return x != x ? x : result;
}
