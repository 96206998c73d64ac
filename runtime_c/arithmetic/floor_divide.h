/* numpy.floor_divide of integers: rounds towards minus infinity; 0 when y is 0, and the one overflow
   (the most negative number by -1) wraps around. */
static inline S floor_divide_S(S x, S y)
{
    if (y == 0) {
        return 0;
    }
    if (y == -1) {
        return (S)(0u - (U)x);
    }
    return (S)(x / y - ((x % y != 0) & ((x < 0) != (y < 0))));
}

static inline U floor_divide_U(U x, U y)
{
    return y == 0 ? 0 : (U)(x / y);
}

/* numpy.floor_divide of floats: (x - remainder(x, y)) / y, rounded to an integer. */
static inline F floor_divide_F(F x, F y)
{
    if (y == 0) {
        return x / y;
    }
    F rest = fmod_F(x, y);
    F quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign_F(0, x / y);
    }
    F whole = floor_F(quotient);
    return quotient - whole > (F)0.5 ? whole + 1 : whole;
}
