/* numpy.floor_divide of integers: rounds towards minus infinity; 0 when y is 0, and the one overflow
   (the most negative number by -1) wraps around. */
static inline S floor_divide_S(S x, S y)
{
    S divisor = (S)(((y == 0) | (y == -1)) ? 1 : y);
    S whole = whole_quotient_S(x, divisor);
    S rest = (S)((U)x - (U)(1u * (U)whole * (U)divisor));
    whole = (S)(whole - is_opposed_S(rest, y));
    whole = y == -1 ? (S)(0u - (U)x) : whole;
    return y == 0 ? 0 : whole;
}

static inline int64_t floor_divide_i64(int64_t x, int64_t y)
{
    if ((uint64_t)y + 1 <= 1) {
        return y == 0 ? 0 : (int64_t)(0u - (uint64_t)x);
    }
    return is_opposed_i64(x % y, y) ? x / y - 1 : x / y;
}

static inline U floor_divide_U(U x, U y)
{
    U whole = whole_quotient_U(x, (U)(y == 0 ? 1 : y));
    return y == 0 ? 0 : whole;
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
        return copysign_F((F)0, x / y);
    }
    F whole = floor_F(quotient);
    return quotient - whole > (F)0.5 ? whole + 1 : whole;
}
