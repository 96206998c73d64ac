/* numpy.transpose of tiles of a matrix, for elements of any type with the size of U.

   Method: a square block of as many rows as a vector has lanes is transposed in registers, in log2
   of that many stages. Each interleaves the rows k and k + half for all k, which rotates the bits
   of the index (row, lane) by one. */

#if defined(__AVX__)
enum { TRANSPOSE_BYTES = 32 };
#else
enum { TRANSPOSE_BYTES = 16 };
#endif

enum {
    TRANSPOSE_LANES_U = TRANSPOSE_BYTES / sizeof(U),
    TRANSPOSE_HALF_U = TRANSPOSE_LANES_U / 2
};

/* Elements are of another type: these accesses alias them. */
typedef U transpose_word_U __attribute__((may_alias));

typedef U transpose_lanes_U __attribute__((vector_size(TRANSPOSE_BYTES), may_alias));

typedef transpose_lanes_U transpose_vector_U __attribute__((aligned(sizeof(U))));

/* Interleaves the lanes of a and b from `first` on: a0 b0 a1 b1 ... */
static inline transpose_vector_U transpose_interleave_U(transpose_vector_U a, transpose_vector_U b,
                                                        int first)
{
    transpose_vector_U result = a;
#if defined(__clang__)
    for (int i = 0; i < TRANSPOSE_LANES_U; i++)
        result[i] = i % 2 ? b[first + i / 2] : a[first + i / 2];
#else
    #pragma GCC unroll 16
    for (int i = 0; i < TRANSPOSE_LANES_U; i++)
        result[i] = (U)(first + i / 2 + i % 2 * TRANSPOSE_LANES_U);
    result = __builtin_shuffle(a, b, result);
#endif
    return result;
}

/* out[j * out_row + i] = x[i * row + j] for all i and j below the number of lanes. */
static inline void transpose_block_U(const transpose_word_U *x, int64_t row, transpose_word_U *out,
                                     int64_t out_row)
{
    transpose_vector_U lines[TRANSPOSE_LANES_U], next[TRANSPOSE_LANES_U];
    for (int i = 0; i < TRANSPOSE_LANES_U; i++)
        lines[i] = *(const transpose_vector_U *)(x + i * row);
    #pragma GCC unroll 4
    for (int round = 1; round < TRANSPOSE_LANES_U; round *= 2) {
        #pragma GCC unroll 8
        for (int k = 0; k < TRANSPOSE_HALF_U; k++) {
            const transpose_vector_U a = lines[k], b = lines[k + TRANSPOSE_HALF_U];
            next[2 * k] = transpose_interleave_U(a, b, 0);
            next[2 * k + 1] = transpose_interleave_U(a, b, TRANSPOSE_HALF_U);
        }
        #pragma GCC unroll 16
        for (int i = 0; i < TRANSPOSE_LANES_U; i++)
            lines[i] = next[i];
    }
    for (int i = 0; i < TRANSPOSE_LANES_U; i++)
        *(transpose_vector_U *)(out + i * out_row) = lines[i];
}

/* out[j][i] = x[i][j] for i < min(rows, tile) and j < min(columns, tile). Rows of x are `row`
   elements apart, those of out `tile`. */
static inline void transpose_tile_U(int64_t tile, int64_t rows, int64_t columns, const void *x,
                                    int64_t row, void *out)
{
    const transpose_word_U *from = x;
    transpose_word_U *to = out;
    rows = rows < tile ? rows : tile;
    columns = columns < tile ? columns : tile;
    const int64_t whole_rows = rows - rows % TRANSPOSE_LANES_U;
    const int64_t whole_columns = columns - columns % TRANSPOSE_LANES_U;
    for (int64_t i = 0; i < whole_rows; i += TRANSPOSE_LANES_U)
        for (int64_t j = 0; j < whole_columns; j += TRANSPOSE_LANES_U)
            transpose_block_U(from + i * row + j, row, to + j * tile + i, tile);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[j * tile + i] = from[i * row + j];
}
