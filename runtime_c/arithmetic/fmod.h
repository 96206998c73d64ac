/* numpy.fmod of integers: has the sign of x; 0 when y is 0. */
static inline S fmod_S(S x, S y)
{
    return y == 0 || y == -1 ? 0 : (S)(x % y);
}

static inline U fmod_U(U x, U y)
{
    return y == 0 ? 0 : (U)(x % y);
}
