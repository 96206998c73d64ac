/* numpy.argmax along rows of n bools for the value 1, numpy.argmin for 0: the position of the first
   one of this value, and 0 where there is none. The first eight are looked at together; C's library
   looks at a vector of bytes at a time, and at none behind the first one. */
static inline void first_of_bool(int64_t rows, int64_t n, int64_t value, const bool *x,
                                 int64_t *position)
{
    #pragma omp parallel for NUM_THREADS schedule(static) if (rows * n > 4000000)
    for (int64_t i = 0; i < rows; i++) {
        const bool *row = x + i * n;
        int64_t known = 0;
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        if (n >= 8) {
            uint64_t flags;
            memcpy(&flags, row, sizeof flags);
            flags ^= value ? 0 : 0x0101010101010101u;
            if (flags != 0) {
                position[i] = __builtin_ctzll(flags) >> 3;
                continue;
            }
            known = 8;
        }
#endif
        const bool *found = memchr(row + known, (int)value, (size_t)(n - known));
        position[i] = found == NULL ? 0 : found - row;
    }
}
