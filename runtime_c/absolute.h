/* numpy.absolute of integers: the most negative number stays itself. */
static inline S absolute_S(S x)
{
    return x < 0 ? (S)(0u - (U)x) : x;
}
