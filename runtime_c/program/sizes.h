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
