/* numpy.matmul(a, b), a few rows of C at a time on one thread, so that an epilogue finds them in
   its cache. The results are those of matmul, to the bit.

   B either has rows of whole vectors and is read in place, or is packed by matmul_panels: for each
   of the parts into which matmul splits k, panels of MATMUL_COLUMNS columns. Where both will do, the
   number of rows of all products decides: more than MATMUL_IN_PLACE repay the packing, and more than
   MATMUL_DOTTED of a B whose columns are contiguous. */

/* Packs B[k][n] into panels, in parallel: k times n, rounded up to a multiple of 32, elements. */
static inline void matmul_panels_F(int64_t n, int64_t k, const F *b, int64_t b_row, int64_t b_col,
                                   F *panels)
{
    const int64_t wide = MATMUL_COLUMNS_F, depth = matmul_part_length(k, MATMUL_DEPTH);
    int64_t across = (n + wide - 1) / wide;
    #pragma omp parallel for NUM_THREADS schedule(static) collapse(2) if (n * k > MATMUL_COPY)
    for (int64_t p = 0; p < k; p += depth) {
        for (int64_t panel = 0; panel < across; panel++) {
            int64_t j = panel * wide, count = matmul_min(depth, k - p);
            matmul_pack_F(wide, matmul_min(wide, n - j), count, b + p * b_row + j * b_col,
                          b_col, b_row, panels + p * across * wide + j * count);
        }
    }
}

/* True if so many rows repay packing a B that may be read in place. */
static inline bool matmul_is_packed(int64_t rows, int64_t b_col)
{
    return rows > (b_col == 1 ? MATMUL_IN_PLACE : MATMUL_DOTTED);
}

/* matmul_panels for products of `rows` rows in all, if these are many. */
static inline void matmul_panels_of_many_F(int64_t rows, int64_t n, int64_t k,
                                           const F *b, int64_t b_row, int64_t b_col, F *panels)
{
    if (matmul_is_packed(rows, b_col)) {
        matmul_panels_F(n, k, b, b_row, b_col, panels);
    }
}

/* C[m][n] = A[m][k] @ B[k][n]: element (i, p) of A is a[i * a_row + p * a_col]; the row strides of
   C and B are c_row and b_row; b_row is 0 where B is packed. */
static inline void matmul_rows_F(int64_t m, int64_t n, int64_t k,
                                 const F *a, int64_t a_row, int64_t a_col,
                                 const F *b, int64_t b_row, F *c, int64_t c_row)
{
    if (matmul_is_streamed_F(m, n, k, a_col, b_row, 1)) {
        for (int64_t piece = 0; piece < matmul_pieces_F(n); piece++) {
            matmul_stream_F(piece, m, n, k, a, a_row, b, b_row, c, c_row);
        }
        return;
    }
    const int64_t wide = MATMUL_COLUMNS_F, part = matmul_part_length(k, MATMUL_DEPTH);
    int64_t whole = (n + wide - 1) / wide * wide;
    for (int64_t p = 0; p < k; p += part) {
        int64_t depth = matmul_min(part, k - p);
        for (int64_t group = 0; group < n; group += MATMUL_GROUP * wide) {
            int64_t end = matmul_min(n, group + MATMUL_GROUP * wide);
            for (int64_t i = 0; i < m; i += MATMUL_ROWS) {
                matmul_group_F(matmul_min(MATMUL_ROWS, m - i), end - group, depth,
                               a + i * a_row + p * a_col, a_row, a_col,
                               b_row == 0 ? b + p * whole + group * depth : b + p * b_row + group,
                               b_row, c + i * c_row + group, c_row, p > 0);
            }
        }
    }
}

/* matmul_rows for products of `rows` rows in all, after matmul_panels_of_many: rows of A are
   contiguous where columns of B are. */
static inline void matmul_either_rows_F(int64_t rows, int64_t m, int64_t n, int64_t k,
                                        const F *a, int64_t a_row, int64_t a_col,
                                        const F *b, int64_t b_row, int64_t b_col,
                                        const F *panels, F *c, int64_t c_row)
{
    if (matmul_is_packed(rows, b_col)) {
        matmul_rows_F(m, n, k, a, a_row, a_col, panels, 0, c, c_row);
    } else if (b_col == 1) {
        matmul_rows_F(m, n, k, a, a_row, a_col, b, b_row, c, c_row);
    } else {
        matmul_dots_F(m, n, k, a, a_row, b, b_col, c, c_row);
    }
}
