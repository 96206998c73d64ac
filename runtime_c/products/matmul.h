/* numpy.matmul(a, b) for two matrices: C[m][n] = A[m][k] @ B[k][n].

   The text is written once for the C type F: F stands for float and _F for _f32, then for double
   and _f64.

   Method: K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (ACM
   Transactions on Mathematical Software 34(3), 2008), with the loops named as in F. Van Zee and
   R. van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality" (41(3), 2015).
   From the inside out:
     tile    the microtile: MATMUL_ROWS x MATMUL_COLUMNS of C, accumulated in vector registers over
             one block of k;
     group   MATMUL_GROUP tiles side by side: the same rows of A (in the first-level cache) times a
             part of B that stays in the second-level cache while the rows change;
     block   MATMUL_BLOCK rows and columns of C over MATMUL_DEPTH of k: what the workspace holds.
   The microkernel reads B in rows of MATMUL_COLUMNS adjacent elements and A in rows along k. An
   operand of that layout, or one with too little reuse to repay packing, is read in place; any
   other is packed into panels, a block at a time, whatever its strides. Panels are memory that all
   threads have read when the next product packs its own: a write to a line that another processor
   holds takes up to 30 ns, twenty times as long as one to a line of its own. So a B whose rows lie
   close together, up to MATMUL_NEAR bytes apart, is read in place, too.

   Tiles are shared out in ever smaller chunks: a thread that begins late, or that the system stops
   for a while, does less of them, and the others wait for no more than a chunk.

   Few rows by a large B have an order of their own: matmul_stream.h.

   A processor without vectors has a register for each lane, and so room for two rows; so has
   WebAssembly, which is compiled again for registers that it does not know (8 rows take 3.5 times as
   long in double precision).

   Where B is the transpose of A in the same memory, C is symmetric, and what is above its diagonal
   is copied.

   Each element of C is a sum of chains of multiply-adds, in the order of k, split at the same
   indices for the same k: its value depends on neither m, n, the strides, the number of threads nor
   the vector width. Products of up to MATMUL_DOTTED rows by a B whose columns are contiguous are
   sums over lanes (matmul_tiles.h). */

#if defined(__SSE2__) && !defined(__AVX512F__)
enum { MATMUL_ROWS = 6 };
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__riscv_vector)
enum { MATMUL_ROWS = 8 };
#else
enum { MATMUL_ROWS = 2 };
#endif

enum { MATMUL_HALF = MATMUL_ROWS / 2 };

enum { MATMUL_FEW = 32, MATMUL_LONG = 4096, MATMUL_PARTS = 48 };

enum { MATMUL_BLOCK = 1024, MATMUL_DEPTH = 384, MATMUL_GROUP = 4, MATMUL_SMALL = 64 * 64 * 64,
       MATMUL_COPY = 128 * 128, MATMUL_NEAR = 1024, MATMUL_MIRRORED = 16,
       MATMUL_IN_PLACE = 128 };

enum { MATMUL_COLUMNS_F = 2 * LANES_F };

static inline int64_t matmul_min(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t matmul_max(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* The length of each part when `size` > 0 is split into as few nearly equal parts <= `limit` as
   possible. */
static inline int64_t matmul_part_length(int64_t size, int64_t limit)
{
    int64_t parts = (size + limit - 1) / limit;
    return (size + parts - 1) / parts;
}

/* to[p * to_row + i] = x[i * x_row + p * x_col] for i < size and p < k. Blocks of an x that is
   contiguous along p are transposed in registers; the last one overlaps that before, so that it is
   whole. */
__attribute__((noinline))
static void matmul_transpose_F(int64_t size, int64_t k, const F *x, int64_t x_row, int64_t x_col,
                               F *to, int64_t to_row)
{
    const int64_t block = TRANSPOSE_LANES_U;
    if (x_col == 1 && size >= block && k >= block) {
        for (int64_t p = 0; p < k; p += block) {
            int64_t first = matmul_min(p, k - block);
            for (int64_t i = 0; i < size; i += block) {
                int64_t row = matmul_min(i, size - block);
                transpose_block_U((const transpose_word_U *)(x + row * x_row + first), x_row,
                                  (transpose_word_U *)(to + first * to_row + row), to_row);
            }
        }
        return;
    }
    /* 16 of k at a time: each cache line of x is read once, what is written stays in cache */
    for (int64_t start = 0; start < k; start += 16) {
        for (int64_t i = 0; i < size; i++) {
            for (int64_t p = start; p < matmul_min(k, start + 16); p++) {
                to[p * to_row + i] = x[i * x_row + p * x_col];
            }
        }
    }
}

/* Packs a panel: panel[p][i] = x[i][p] for p < k and i < size, and 0 for size <= i < width. Not
   inlined: a program may pack before each of its products. */
__attribute__((noinline))
static void matmul_pack_F(int64_t width, int64_t size, int64_t k,
                          const F *x, int64_t x_row, int64_t x_col, F *panel)
{
    if (x_row == 1 && size == width) {
        for (int64_t p = 0; p < k; p++) {
            memcpy(panel + p * width, x + p * x_col, (size_t)width * sizeof(F));
        }
    } else if (x_row == 1) {
        for (int64_t p = 0; p < k; p++) {
            for (int64_t i = 0; i < width; i++) {
                panel[p * width + i] = i < size ? x[i + p * x_col] : 0;
            }
        }
    } else {
        if (size < width) {
            memset(panel, 0, (size_t)(k * width) * sizeof(F));
        }
        matmul_transpose_F(size, k, x, x_row, x_col, panel, width);
    }
}

/* Packs x[size][k] into consecutive panels of `width` rows. */
static inline void matmul_pack_all_F(int64_t width, int64_t size, int64_t k,
                                     const F *x, int64_t x_row, int64_t x_col, F *panels)
{
    #pragma omp parallel for NUM_THREADS schedule(static) if (size * k > MATMUL_COPY)
    for (int64_t i = 0; i < size; i += width) {
        matmul_pack_F(width, matmul_min(width, size - i), k, x + i * x_row, x_row, x_col,
                      panels + i * k);
    }
}

/* rows[p] = B[p][0 .. n - 1], padded to a whole vector with unspecified values, for n <
   LANES. */
static inline void matmul_pad_rows_F(int64_t n, int64_t k,
                                     const F *b, int64_t b_row, int64_t b_col, F *rows)
{
    if (b_col != 1) {
        memset(rows, 0, (size_t)(k * LANES_F) * sizeof(F));
        matmul_transpose_F(n, k, b, b_col, b_row, rows, LANES_F);
        return;
    }
    int64_t p = 0;
    for (; b_row >= n && p * b_row + LANES_F <= (k - 1) * b_row + n; p++) {
        lanes_F row = *(const lanes_F *)(b + p * b_row);
        *(lanes_F *)(rows + p * LANES_F) = row;
    }
    for (; p < k; p++) {
        lanes_F row = {0};
        for (int64_t j = 0; j < n; j++) {
            ((F *)&row)[j] = b[p * b_row + j];
        }
        *(lanes_F *)(rows + p * LANES_F) = row;
    }
}

/* The product for one block of k and at most MATMUL_BLOCK columns, on one thread. The last tile of
   a row of tiles overlaps the one before it, so that its vectors are whole. */
static void matmul_small_F(int64_t m, int64_t n, int64_t k,
                           const F *a, int64_t a_row, int64_t a_col,
                           const F *b, int64_t b_row, int64_t b_col,
                           F *c, int64_t c_row, F *packed)
{
    const int64_t lanes = LANES_F, narrow = LANES_NARROW_F, rest = narrow % lanes;
    bool slim = n < lanes && n != narrow;
    int64_t vector = n < narrow ? narrow : lanes;
    if (slim) {
        matmul_pad_rows_F(n, k, b, b_row, b_col, packed);
        b = packed;
        b_row = LANES_F;
    } else if (b_col != 1) {
        matmul_transpose_F(n, k, b, b_col, b_row, packed, n);
        b = packed;
        b_row = n;
    }
    int64_t flat = slim || m > MATMUL_FLAT ? 0 : n / MATMUL_FLAT_COLUMNS_F * MATMUL_FLAT_COLUMNS_F;
    if (flat > 0) {
        matmul_flat_tiles_F(m, flat, k, a, a_row, a_col, b, b_row, c, c_row, false);
    }
    for (int64_t column = flat; column < n;) {
        int64_t left = n - column, columns = slim ? n : narrow;
        if (n >= 2 * lanes && left > lanes + rest) {
            columns = 2 * lanes;
        } else if (n >= lanes && left > rest) {
            columns = lanes;
        }
        int64_t j = matmul_min(column, n - columns);
        for (int64_t i = 0; i < m; i += MATMUL_ROWS) {
            int64_t rows = matmul_min(MATMUL_ROWS, m - i);
            /* rows of C may be stored in whole vectors: the excess is overwritten by the next */
            bool whole = slim && c_row == n && (i + rows - 1) * n + vector <= m * n;
            matmul_tile_F(rows, whole ? vector : columns, k, a + i * a_row, a_row, a_col,
                          b + j, b_row, c + i * c_row + j, c_row, false);
        }
        column += columns;
    }
}

/* Copies what is below the diagonal of C[n][n] to above it, a block at a time. */
static void matmul_mirror_F(int64_t n, F *c, int64_t c_row)
{
    #pragma omp parallel for NUM_THREADS schedule(guided) if (n * n > MATMUL_SMALL)
    for (int64_t i0 = 0; i0 < n; i0 += MATMUL_MIRRORED) {
        int64_t i_end = matmul_min(n, i0 + MATMUL_MIRRORED);
        for (int64_t j0 = i0; j0 < n; j0 += MATMUL_MIRRORED) {
            int64_t j_end = matmul_min(n, j0 + MATMUL_MIRRORED);
            for (int64_t i = i0; i < i_end; i++) {
                for (int64_t j = i < j0 ? j0 : i + 1; j < j_end; j++) {
                    c[i * c_row + j] = c[j * c_row + i];
                }
            }
        }
    }
}

/* The blocked product. Each loop over tiles is a parallel loop. */
static void matmul_blocks_F(int64_t m, int64_t n, int64_t k,
                            const F *a, int64_t a_row, int64_t a_col,
                            const F *b, int64_t b_row, int64_t b_col,
                            F *c, int64_t c_row, F *packed)
{
    const int64_t tall = MATMUL_ROWS, wide = MATMUL_COLUMNS_F;
    int64_t m_part = matmul_part_length(m, MATMUL_BLOCK);
    int64_t n_part = matmul_part_length(n, MATMUL_BLOCK);
    int64_t k_part = matmul_part_length(k, MATMUL_DEPTH);
    F *packed_a = packed + (n_part + wide - 1) / wide * wide * k_part;
    bool pack_a = a_col != 1 && n > 2 * wide;
    bool is_near = b_row >= 0 && b_row * (int64_t)sizeof(F) <= MATMUL_NEAR;
    bool pack_b = b_col != 1 || b_row == 0 || (m > 8 * tall && !is_near);
    /* A and B are transposes of each other; the order of two factors does not matter */
    bool is_gram = a == b && m == n && a_row == b_col && a_col == b_row;
    for (int64_t j0 = 0; j0 < n; j0 += n_part) {
        int64_t columns = matmul_min(n_part, n - j0);
        /* columns of B that are read in place: whole tiles, or whole vectors */
        int64_t in_place = columns % LANES_F == 0 ? columns : columns / wide * wide;
        in_place = pack_b ? 0 : in_place;
        for (int64_t p0 = 0; p0 < k; p0 += k_part) {
            int64_t depth = matmul_min(k_part, k - p0);
            const F *b_block = b + p0 * b_row + j0 * b_col;
            if (in_place < columns) {
                matmul_pack_all_F(wide, columns - in_place, depth, b_block + in_place * b_col,
                                  b_col, b_row, packed + in_place * depth);
            }
            for (int64_t i0 = 0; i0 < m; i0 += m_part) {
                int64_t rows = matmul_min(m_part, m - i0);
                const F *a_block = a + p0 * a_col + i0 * a_row;
                if (pack_a) {
                    matmul_pack_all_F(tall, rows, depth, a_block, a_row, a_col, packed_a);
                }
                #pragma omp parallel for NUM_THREADS schedule(guided) collapse(2) \
                    if (rows * columns * depth > MATMUL_SMALL)
                for (int64_t group = 0; group < columns; group += MATMUL_GROUP * wide) {
                    for (int64_t i = 0; i < rows; i += tall) {
                        int64_t end = matmul_min(columns, group + MATMUL_GROUP * wide);
                        /* of a symmetric C the tiles that are not above the diagonal */
                        end = is_gram ? matmul_min(end, i0 + i + tall - j0) : end;
                        int64_t near = matmul_min(matmul_max(in_place, group), end);
                        int64_t count = matmul_min(tall, rows - i);
                        const F *a_rows = pack_a ? packed_a + i * depth : a_block + i * a_row;
                        int64_t a_step = pack_a ? 1 : a_row, a_next = pack_a ? tall : a_col;
                        F *c_rows = c + (i0 + i) * c_row + j0;
                        matmul_group_F(count, near - group, depth, a_rows, a_step, a_next,
                                       b_block + group, b_row, c_rows + group, c_row, p0 > 0);
                        matmul_group_F(count, end - near, depth, a_rows, a_step, a_next,
                                       packed + near * depth, 0, c_rows + near, c_row, p0 > 0);
                    }
                }
            }
        }
    }
    if (is_gram) {
        matmul_mirror_F(n, c, c_row);
    }
}

/* matmul_small with the packed block of B on the stack of a thread: a vector of columns at a time
   where B has to be packed. */
static void matmul_small_on_stack_F(int64_t m, int64_t n, int64_t k,
                                    const F *a, int64_t a_row, int64_t a_col,
                                    const F *b, int64_t b_row, int64_t b_col, F *c, int64_t c_row)
{
    F packed[MATMUL_DEPTH * LANES_F];
    int64_t wide = b_col == 1 ? n : LANES_F;
    for (int64_t j = 0; j < n; j += wide) {
        matmul_small_F(m, matmul_min(wide, n - j), k, a, a_row, a_col, b + j * b_col, b_row,
                       b_col, c + j, c_row, packed);
    }
}

/* The product for at most MATMUL_FEW rows and columns and k > MATMUL_LONG (split-k): threads
   compute partial products of parts of k, MATMUL_PARTS of them at a time, in the workspace, which
   are then added in order. Where a row of C is shorter than a vector and a column is not, the
   partial products are those of its transpose. */
static void matmul_split_k_F(int64_t m, int64_t n, int64_t k,
                             const F *a, int64_t a_row, int64_t a_col,
                             const F *b, int64_t b_row, int64_t b_col,
                             F *c, int64_t c_row, F *sums)
{
    bool transposed = a_row == 1 && n < LANES_F && m >= LANES_F;
    int64_t to_row = transposed ? 1 : n, to_col = transposed ? m : 1;
    int64_t k_part = matmul_part_length(k, MATMUL_DEPTH);
    for (int64_t start = 0; start < k; start += MATMUL_PARTS * k_part) {
        int64_t end = matmul_min(k, start + MATMUL_PARTS * k_part);
        #pragma omp parallel for NUM_THREADS schedule(guided) if (m * n * (end - start) > MATMUL_SMALL)
        for (int64_t p = start; p < end; p += k_part) {
            F *sum = sums + (p - start) / k_part * m * n;
            const F *a_p = a + p * a_col, *b_p = b + p * b_row;
            int64_t depth = matmul_min(k_part, k - p);
            if (transposed) {
                matmul_small_on_stack_F(n, m, depth, b_p, b_col, b_row, a_p, a_col, a_row, sum, m);
            } else {
                matmul_small_on_stack_F(m, n, depth, a_p, a_row, a_col, b_p, b_row, b_col, sum, n);
            }
        }
        for (int64_t i = 0; i < m; i++) {
            for (int64_t p = start; p < end; p += k_part) {
                const F *sum = sums + (p - start) / k_part * m * n + i * to_row;
                for (int64_t j = 0; j < n; j++) {
                    F before = p == 0 ? 0 : c[i * c_row + j];
                    c[i * c_row + j] = before + sum[j * to_col];
                }
            }
        }
    }
}

/* The size in bytes of matmul's workspace, for any number of threads. */
static inline int64_t matmul_workspace_F(int64_t m, int64_t n, int64_t k)
{
    int64_t panels = matmul_min(m, MATMUL_BLOCK) + matmul_min(n, MATMUL_BLOCK) + 64;
    return panels * matmul_min(k, MATMUL_DEPTH) * (int64_t)sizeof(F) + 128;
}

/* C = A @ B: element (i, p) of A is a[i * a_row + p * a_col], and so on (strides in elements, any
   sign); rows of C are contiguous, c_row apart, and C overlaps neither A nor B. `workspace`:
   matmul_workspace(m, n, k) bytes, of any alignment, which no other thread uses meanwhile. */
static inline void matmul_F(int64_t m, int64_t n, int64_t k,
                            const F *a, int64_t a_row, int64_t a_col,
                            const F *b, int64_t b_row, int64_t b_col,
                            F *c, int64_t c_row, void *workspace)
{
    F *packed = (F *)((char *)workspace + (-(uintptr_t)workspace & 63));
    if (m == 0 || n == 0) {
        return;
    }
    bool is_split = m <= MATMUL_FEW && n <= MATMUL_FEW && k > MATMUL_LONG;
    if (m <= MATMUL_DOTTED && a_col == 1 && b_row == 1 && b_col != 1 && k > 0 && !is_split) {
        matmul_dots_F(m, n, k, a, a_row, b, b_col, c, c_row);
        return;
    }
    if (matmul_is_streamed_F(m, n, k, a_col, b_row, b_col) && !is_split) {
        #pragma omp parallel for NUM_THREADS schedule(guided)
        for (int64_t piece = 0; piece < matmul_pieces_F(n); piece++) {
            matmul_stream_F(piece, m, n, k, a, a_row, b, b_row, c, c_row);
        }
        return;
    }
    bool small = k <= MATMUL_SMALL && m * n <= MATMUL_SMALL && m * n * k <= MATMUL_SMALL;
    if (k == 0 || (small && n <= MATMUL_BLOCK && k <= MATMUL_DEPTH)) {
        matmul_small_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, packed);
        return;
    }
    if (is_split) {
        matmul_split_k_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, packed);
        return;
    }
    matmul_blocks_F(m, n, k, a, a_row, a_col, b, b_row, b_col, c, c_row, packed);
}
