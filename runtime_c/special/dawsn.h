/* scipy.special.dawsn: Dawson's integral, exp(-x^2) times the integral of exp(t^2) from 0 to x.
   Method: x P(x^2) / (1 + 2 x^2) up to 3 and to 5, with a polynomial each, and Q(1 / x^2) / (2 x)
   beyond; interpolated at Chebyshev points with mpmath (60 digits). Single precision in double.
   Largest error measured: 0.51 ulp in single, 9 ulp in double precision. */
static inline float dawsn_f32(float x)
{
    return (float)dawsn_f64((double)x);
}

static inline double dawsn_f64(double x)
{
    double a = fabs(x);
    double z = a < 5.0 ? a * a : 25.0;
    double t = (a < 3.0 ? z : 9.0) - 4.5;
    double near = -0x1.a21c6efc67803p-83;
    near = multiply_add_f64(near, t, 0x1.3685f5d19cc7ep-78);
    near = multiply_add_f64(near, t, -0x1.52ffd275b2d2fp-74);
    near = multiply_add_f64(near, t, 0x1.c1d408a65ceafp-70);
    near = multiply_add_f64(near, t, -0x1.272981a9a3a26p-65);
    near = multiply_add_f64(near, t, 0x1.64a046bafb01cp-61);
    near = multiply_add_f64(near, t, -0x1.96fef49e40686p-57);
    near = multiply_add_f64(near, t, 0x1.b7dda9f45ee54p-53);
    near = multiply_add_f64(near, t, -0x1.bf8b6912c85f4p-49);
    near = multiply_add_f64(near, t, 0x1.aac4598ec67d2p-45);
    near = multiply_add_f64(near, t, -0x1.7ba940710aa2fp-41);
    near = multiply_add_f64(near, t, 0x1.395e9c6f47e2bp-37);
    near = multiply_add_f64(near, t, -0x1.dccc5a471be39p-34);
    near = multiply_add_f64(near, t, 0x1.4ba6e53990acfp-30);
    near = multiply_add_f64(near, t, -0x1.a1a1aa73e8202p-27);
    near = multiply_add_f64(near, t, 0x1.d5d5dfbd7b819p-24);
    near = multiply_add_f64(near, t, -0x1.cfc162ef9e133p-21);
    near = multiply_add_f64(near, t, 0x1.86d84307e8d0bp-18);
    near = multiply_add_f64(near, t, -0x1.0c41c5a2bdbedp-15);
    near = multiply_add_f64(near, t, 0x1.0d6ea875ffee4p-13);
    near = multiply_add_f64(near, t, -0x1.f2434b2c7cc7cp-13);
    near = multiply_add_f64(near, t, -0x1.5cc9c3fc3eadap-10);
    near = multiply_add_f64(near, t, 0x1.f903a491968fcp-7);
    near = multiply_add_f64(near, t, -0x1.53c4b4043ce6dp-4);
    near = multiply_add_f64(near, t, 0x1.4f809d84f9403p+0);
    double u = z - 17.0;
    double middle = -0x1.8ca38356c581cp-101;
    middle = multiply_add_f64(middle, u, 0x1.26c39b1e1bb35p-96);
    middle = multiply_add_f64(middle, u, -0x1.b759caa4735f9p-94);
    middle = multiply_add_f64(middle, u, 0x1.ba833218b03e0p-90);
    middle = multiply_add_f64(middle, u, -0x1.2a24e8b1ec809p-84);
    middle = multiply_add_f64(middle, u, 0x1.50e67d5a23713p-80);
    middle = multiply_add_f64(middle, u, -0x1.0f7b4e3fa9823p-76);
    middle = multiply_add_f64(middle, u, 0x1.c05343923321ap-73);
    middle = multiply_add_f64(middle, u, -0x1.3ef5869bfcb66p-69);
    middle = multiply_add_f64(middle, u, 0x1.91f5d0835a88dp-67);
    middle = multiply_add_f64(middle, u, 0x1.3eefaea66f3eap-62);
    middle = multiply_add_f64(middle, u, -0x1.9cf2937848af4p-57);
    middle = multiply_add_f64(middle, u, 0x1.396d82e4aaf81p-52);
    middle = multiply_add_f64(middle, u, -0x1.83c53e0fef485p-48);
    middle = multiply_add_f64(middle, u, 0x1.a8533f1014d6ep-44);
    middle = multiply_add_f64(middle, u, -0x1.ab0dd508bfabfp-40);
    middle = multiply_add_f64(middle, u, 0x1.964006e5ffa98p-36);
    middle = multiply_add_f64(middle, u, -0x1.761ce4df5a224p-32);
    middle = multiply_add_f64(middle, u, 0x1.54d1d37114030p-28);
    middle = multiply_add_f64(middle, u, -0x1.3879d95e8a441p-24);
    middle = multiply_add_f64(middle, u, 0x1.23326581efbf5p-20);
    middle = multiply_add_f64(middle, u, -0x1.14809a0647af7p-16);
    middle = multiply_add_f64(middle, u, 0x1.0ae6086a86f88p-12);
    middle = multiply_add_f64(middle, u, -0x1.04eb0ae011b96p-8);
    middle = multiply_add_f64(middle, u, 0x1.101816412c60fp+0);
    double v = a > 5.0 ? 1.0 / (a * a) : 0.04;
    double far = -0x1.0210812852e4ap+68;
    far = multiply_add_f64(far, v, 0x1.98da54bf2f28dp+66);
    far = multiply_add_f64(far, v, -0x1.24cbcdf5c63c0p+64);
    far = multiply_add_f64(far, v, 0x1.f75ccf92d2f39p+60);
    far = multiply_add_f64(far, v, -0x1.22dddfeb2af25p+57);
    far = multiply_add_f64(far, v, 0x1.dfae00855addep+52);
    far = multiply_add_f64(far, v, -0x1.24212b2038d0ep+48);
    far = multiply_add_f64(far, v, 0x1.0c33168dc5fd7p+43);
    far = multiply_add_f64(far, v, -0x1.77305cfba01c3p+37);
    far = multiply_add_f64(far, v, 0x1.916537109b650p+31);
    far = multiply_add_f64(far, v, -0x1.46bd1d1c14a90p+25);
    far = multiply_add_f64(far, v, 0x1.9ae8118533ddcp+18);
    far = multiply_add_f64(far, v, -0x1.da77b153a5694p+10);
    far = multiply_add_f64(far, v, 0x1.637bf31e13fb9p+7);
    far = multiply_add_f64(far, v, 0x1.d79c8c7a07787p+4);
    far = multiply_add_f64(far, v, 0x1.a4022e709c791p+2);
    far = multiply_add_f64(far, v, 0x1.dffffcbf15d8bp+0);
    far = multiply_add_f64(far, v, 0x1.8000000146c5cp-1);
    far = multiply_add_f64(far, v, 0x1.ffffffffffcd6p-2);
    far = multiply_add_f64(far, v, 0x1.0000000000000p+0);
    double result = a * (a < 3.0 ? near : middle) / (1.0 + 2.0 * z);
    result = a < 5.0 ? result : 0.5 * far / a;
    return x != x ? x : copysign(result, x);
}
