/* numpy.isnan */
static inline bool isnan_F(F x)
{
    return x != x;
}

static inline bool isnan_C(C x)
{
    return isnan_R(real_C(x)) | isnan_R(imag_C(x));
}

/* numpy.isinf */
static inline bool isinf_F(F x)
{
    return absolute_F(x) == (F)INFINITY;
}

static inline bool isinf_C(C x)
{
    return isinf_R(real_C(x)) | isinf_R(imag_C(x));
}

/* numpy.isfinite */
static inline bool isfinite_F(F x)
{
    return absolute_F(x) < (F)INFINITY;
}

static inline bool isfinite_C(C x)
{
    return isfinite_R(real_C(x)) & isfinite_R(imag_C(x));
}

/* numpy.signbit, by the bit itself: gcc 12 fails to vectorise signbit(x) where x is a reinterpreted
   integer. */
static inline bool signbit_F(F x)
{
    return bits_F(x) >> (8 * sizeof(F) - 1) != 0;
}
