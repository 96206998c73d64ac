/* numpy.matmul for few rows and a large right operand, read in place in the order of its memory.

   Tiles of few columns read a row of B in pieces, each in another page, which neither caches nor
   prefetching like: rows of a power of two bytes share a few sets of a cache. For few rows that is
   what takes the time. So MATMUL_STEPS rows of B, two kilobytes of each, are multiplied by all rows
   of A before the next ones are read; the sums wait in the first-level cache. The results are those
   of matmul, to the bit. */

enum { MATMUL_STREAMED = 16, MATMUL_LARGE = 12 << 20, MATMUL_STEPS = 4, MATMUL_QUAD = 4 };

enum { MATMUL_PIECE_F = 2048 / sizeof(F), MATMUL_PIECE_ROW_F = MATMUL_PIECE_F + LANES_F };

/* sums[i][j] += A[i][p] * B[p][j] for up to MATMUL_QUAD rows, of which missing ones repeat the last,
   `steps` values of p, which callers pass as a constant, and at least LANES columns; the last vector
   of columns overlaps that before in B, and has a place of its own in the sums. */
static inline __attribute__((always_inline)) void matmul_quad_F(
    int64_t rows, int64_t steps, int64_t columns, const F *a, int64_t a_row,
    const F *b, int64_t b_row, F *sums)
{
    int64_t from[MATMUL_QUAD];
    #pragma GCC unroll 4
    for (int64_t i = 0; i < MATMUL_QUAD; i++) {
        from[i] = matmul_min(i, rows - 1) * a_row;
    }
    for (int64_t j = 0; j < columns; j += LANES_F) {
        const F *b_j = b + matmul_min(j, columns - LANES_F);
        lanes_F sum[MATMUL_QUAD];
        #pragma GCC unroll 4
        for (int64_t i = 0; i < MATMUL_QUAD; i++) {
            sum[i] = *(const lanes_F *)(sums + i * MATMUL_PIECE_ROW_F + j);
        }
        #pragma GCC unroll 4
        for (int64_t p = 0; p < steps; p++) {
            lanes_F y = *(const lanes_F *)(b_j + p * b_row);
            #pragma GCC unroll 4
            for (int64_t i = 0; i < MATMUL_QUAD; i++) {
                sum[i] = multiply_add_lanes_F(lanes_of_F(a[from[i] + p]), y, sum[i]);
            }
        }
        #pragma GCC unroll 4
        for (int64_t i = 0; i < MATMUL_QUAD; i++) {
            *(lanes_F *)(sums + i * MATMUL_PIECE_ROW_F + j) = sum[i];
        }
    }
}

/* The product for up to MATMUL_STREAMED rows, LANES to MATMUL_PIECE columns and one part of k. */
__attribute__((noinline))
static void matmul_piece_F(
    int64_t m, int64_t columns, int64_t k, const F *a, int64_t a_row,
    const F *b, int64_t b_row, F *c, int64_t c_row, bool add)
{
    F sums[MATMUL_STREAMED * MATMUL_PIECE_ROW_F];
    const int64_t row = MATMUL_PIECE_ROW_F, whole = columns / LANES_F * LANES_F;
    memset(sums, 0, (size_t)((m + MATMUL_QUAD - 1) / MATMUL_QUAD * MATMUL_QUAD * row) * sizeof(F));
    int64_t p = 0;
    for (; p + MATMUL_STEPS <= k; p += MATMUL_STEPS) {
        for (int64_t i = 0; i < m; i += MATMUL_QUAD) {
            matmul_quad_F(matmul_min(MATMUL_QUAD, m - i), MATMUL_STEPS, columns,
                          a + i * a_row + p, a_row, b + p * b_row, b_row,
                          sums + i * row);
        }
    }
    for (; p < k; p++) {
        for (int64_t i = 0; i < m; i += MATMUL_QUAD) {
            matmul_quad_F(matmul_min(MATMUL_QUAD, m - i), 1, columns, a + i * a_row + p, a_row,
                          b + p * b_row, b_row, sums + i * row);
        }
    }
    for (int64_t i = 0; i < m; i++) {
        F *to = c + i * c_row, *sum = sums + i * row;
        memmove(sum + whole, sum + whole + LANES_F - columns % LANES_F,
                (size_t)(columns - whole) * sizeof(F));
        for (int64_t j = 0; j < columns; j++) {
            to[j] = add ? to[j] + sum[j] : sum[j];
        }
    }
}

/* True for a product of few rows by a large B, where rows of both are contiguous. One row alone is
   read as fast by flat tiles, and costs a fourth of the multiplications. */
static inline bool matmul_is_streamed_F(int64_t m, int64_t n, int64_t k, int64_t a_col,
                                        int64_t b_row, int64_t b_col)
{
    return m > 1 && m <= MATMUL_STREAMED && a_col == 1 && b_col == 1 && b_row != 0 && n >= LANES_F
        && k > MATMUL_LARGE / (int64_t)sizeof(F) / n;
}

/* How many pieces the columns of such a product have. */
static inline int64_t matmul_pieces_F(int64_t n)
{
    return (n + MATMUL_PIECE_F - 1) / MATMUL_PIECE_F;
}

/* The first column of a piece; no piece has fewer than LANES. */
static inline int64_t matmul_piece_start_F(int64_t n, int64_t piece)
{
    int64_t start = piece * MATMUL_PIECE_F;
    return start >= n ? n : matmul_min(start, n - LANES_F);
}

/* One piece of C[m][n] = A[m][k] @ B[k][n], for these. */
static inline void matmul_stream_F(int64_t piece, int64_t m, int64_t n, int64_t k,
                                   const F *a, int64_t a_row,
                                   const F *b, int64_t b_row, F *c, int64_t c_row)
{
    const int64_t part = matmul_part_length(k, MATMUL_DEPTH);
    int64_t j = matmul_piece_start_F(n, piece), end = matmul_piece_start_F(n, piece + 1);
    for (int64_t p = 0; p < k; p += part) {
        matmul_piece_F(m, end - j, matmul_min(part, k - p), a + p, a_row, b + p * b_row + j, b_row,
                       c + j, c_row, p > 0);
    }
}
