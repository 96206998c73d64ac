/* numpy.where of complex numbers, each part by itself: gcc 12 vectorises nested choices between
   complex numbers wrongly. */
static inline C choose_C(bool test, C x, C y)
{
    return make_complex_R(test ? real_C(x) : real_C(y), test ? imag_C(x) : imag_C(y));
}
