/* numpy.remainder of integers: has the sign of y; 0 when y is 0. */
static inline S remainder_S(S x, S y)
{
    S rest = fmod_S(x, y);
    S moved = (S)((U)rest + (U)y);
    return is_opposed_S(rest, y) ? moved : rest;
}

static inline U remainder_U(U x, U y)
{
    return fmod_U(x, y);
}

/* numpy.remainder of floats: has the sign of y, also when it is zero. */
static inline F remainder_F(F x, F y)
{
    F rest = fmod_F(x, y);
    if (y == 0) {
        return rest;
    }
    if (rest == 0) {
        return copysign_F((F)0, y);
    }
    return (y < 0) != (rest < 0) ? rest + y : rest;
}
