/* Arrays of any strides, which are in elements. */

/* True if these are the strides of an array in row-major order. */
static inline bool is_row_major(int64_t rank, const int64_t *shape, const int64_t *strides)
{
    int64_t step = 1;
    for (int64_t k = rank - 1; strides != NULL && k >= 0; k--) {
        if (shape[k] == 0) {
            return true;
        }
        if (shape[k] != 1 && strides[k] != step) {
            return false;
        }
        step *= shape[k];
    }
    return true;
}

/* Copy a row of elements of so many bytes. */
static inline void copy_row(char *out, int64_t out_step, const char *x, int64_t x_step, int64_t bytes, int64_t count)
{
    if (out_step == 1 && x_step == 1) {
        memcpy(out, x, (size_t)(bytes * count));
    } else if (bytes == 8) {
        for (int64_t i = 0; i < count; i++) {
            memcpy(out + 8 * out_step * i, x + 8 * x_step * i, 8);
        }
    } else if (bytes == 4) {
        for (int64_t i = 0; i < count; i++) {
            memcpy(out + 4 * out_step * i, x + 4 * x_step * i, 4);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            memcpy(out + bytes * out_step * i, x + bytes * x_step * i, (size_t)bytes);
        }
    }
}

/* numpy.copyto: copy an array with at least one axis between memory in row-major order, `packed`, and
   memory of other strides, into the latter if `back`. Returns the end of `packed`. */
static char *copy_strided(char *packed, char *strided, bool back, int64_t bytes, int64_t rank, const int64_t *shape, const int64_t *strides)
{
    const int64_t count = shape[0], step = strides[0];
    if (rank > 1) {
        for (int64_t i = 0; i < count; i++) {
            packed = copy_strided(packed, strided + bytes * step * i, back, bytes, rank - 1, shape + 1, strides + 1);
        }
        return packed;
    }
    if (back) {
        copy_row(strided, step, packed, 1, bytes, count);
    } else {
        copy_row(packed, 1, strided, step, bytes, count);
    }
    return packed + bytes * count;
}
