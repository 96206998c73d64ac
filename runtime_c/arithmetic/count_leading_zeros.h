/* jax.lax.clz: the number of zero bits above the highest set bit; the width of the type for 0.
   Method: binary search without branches (H. Warren, Hacker's Delight, section 5-3). */
static inline U count_leading_zeros_U(U x)
{
    uint64_t rest = x;
    int highest = 0;
    for (int step = 32; step > 0; step /= 2) {
        bool above = rest >> step != 0;
        highest += above ? step : 0;
        rest = above ? rest >> step : rest;
    }
    return (U)(rest ? BITS_U - 1 - highest : BITS_U);
}

static inline S count_leading_zeros_S(S x)
{
    return (S)count_leading_zeros_U((U)x);
}
