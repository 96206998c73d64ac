/* 8 * itemsize - int.bit_length of the bits: how many bits stand above the highest one that is set.
   Warren, Hacker's Delight, 5-3: halving, without branches. */
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
