/* scipy.special.i1e: exp(-|x|) I1(x).
   Method: x exp(-|x|) times a polynomial of x^2 up to 8, one of 16 / x - 1, over sqrt(x), beyond;
   interpolated at Chebyshev points with mpmath (40 digits). Single precision in double.
   Largest error measured: 0.51 ulp in single, 3 ulp in double precision. */
static inline float bessel_i1e_f32(float x)
{
    return (float)bessel_i1e_f64((double)x);
}

static inline double bessel_i1e_f64(double x)
{
    double a = fabs(x);
    double b = a > 8.0 ? 8.0 : a;
    double t = b * b;
    double near = 0x1.3dab29014526bp-146;
    near = multiply_add_f64(near, t, 0x1.fd4a47e405e00p-137);
    near = multiply_add_f64(near, t, 0x1.59e77b84e7fdep-126);
    near = multiply_add_f64(near, t, 0x1.695c7cc428092p-116);
    near = multiply_add_f64(near, t, 0x1.536551af66e45p-106);
    near = multiply_add_f64(near, t, 0x1.165dae5ada9a1p-96);
    near = multiply_add_f64(near, t, 0x1.8bce6bf3a2ef5p-87);
    near = multiply_add_f64(near, t, 0x1.e2637a8923222p-78);
    near = multiply_add_f64(near, t, 0x1.f17697e304b40p-69);
    near = multiply_add_f64(near, t, 0x1.ab81ea75241bbp-60);
    near = multiply_add_f64(near, t, 0x1.2c9758dafccbfp-51);
    near = multiply_add_f64(near, t, 0x1.522a43f654305p-43);
    near = multiply_add_f64(near, t, 0x1.27e4fb7789f8dp-35);
    near = multiply_add_f64(near, t, 0x1.845c8a0ce5127p-28);
    near = multiply_add_f64(near, t, 0x1.6c16c16c16c17p-21);
    near = multiply_add_f64(near, t, 0x1.c71c71c71c71cp-15);
    near = multiply_add_f64(near, t, 0x1.5555555555555p-9);
    near = multiply_add_f64(near, t, 0x1.0000000000000p-4);
    near = multiply_add_f64(near, t, 0x1.0000000000000p-1);
    near *= exp_f64(-b);
    double u = 16.0 / (a < 8.0 ? 8.0 : a) - 1.0;
    double far = -0x1.659223e07f851p-36;
    far = multiply_add_f64(far, u, 0x1.0f585e1f6bb57p-34);
    far = multiply_add_f64(far, u, 0x1.405884381391ep-33);
    far = multiply_add_f64(far, u, -0x1.010cbd2767234p-31);
    far = multiply_add_f64(far, u, -0x1.0d838e32b41fep-31);
    far = multiply_add_f64(far, u, 0x1.c90b1c486ad52p-30);
    far = multiply_add_f64(far, u, 0x1.2ae927550abc9p-30);
    far = multiply_add_f64(far, u, -0x1.026dc8d61d17ep-28);
    far = multiply_add_f64(far, u, -0x1.13ec9ab898762p-29);
    far = multiply_add_f64(far, u, 0x1.aab87bd0d69abp-28);
    far = multiply_add_f64(far, u, 0x1.0617d272b49a4p-28);
    far = multiply_add_f64(far, u, -0x1.0e4f118f02b39p-27);
    far = multiply_add_f64(far, u, -0x1.0cbe25bdf4c92p-27);
    far = multiply_add_f64(far, u, 0x1.99ee2ac041ab9p-28);
    far = multiply_add_f64(far, u, 0x1.e41f988a6d3a9p-27);
    far = multiply_add_f64(far, u, 0x1.cef7a15949857p-28);
    far = multiply_add_f64(far, u, -0x1.21f6ba6ffa669p-27);
    far = multiply_add_f64(far, u, -0x1.9191ad310aaa3p-26);
    far = multiply_add_f64(far, u, -0x1.7276f1c4dab47p-25);
    far = multiply_add_f64(far, u, -0x1.ad8d45eee614cp-24);
    far = multiply_add_f64(far, u, -0x1.761386832bd7ep-22);
    far = multiply_add_f64(far, u, -0x1.ec8e107a2ca2cp-20);
    far = multiply_add_f64(far, u, -0x1.f89c23043df9cp-17);
    far = multiply_add_f64(far, u, -0x1.cbc54df1e8a5fp-13);
    far = multiply_add_f64(far, u, -0x1.3f796198ee63fp-7);
    far = multiply_add_f64(far, u, 0x1.8ebe783a84030p-2);
    double result = a < 8.0 ? near * a : far / sqrt(a);
    return x != x ? x : copysign(result, x);
}
