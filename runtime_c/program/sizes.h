/* Runtime sizes. */

/* True if an array of this shape has at most `most` elements, also where their product overflows. */
static inline bool has_at_most(int64_t most, int64_t rank, const int64_t *shape)
{
    for (int64_t k = 0; k < rank; k++) {
        if (shape[k] > 1) {
            most /= shape[k];
        }
    }
    return most > 0;
}

/* The extent of an array in its declaration, which is 1 for an array without elements. */
static inline int64_t at_least_1(int64_t extent)
{
    return extent > 1 ? extent : 1;
}
