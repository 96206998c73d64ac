/* numpy.matmul, the tiles of matmul.h: what is accumulated in vector registers over one block of k.

   A microtile has MATMUL_ROWS rows, a flat tile few: up to MATMUL_FLAT rows of MATMUL_VECTORS / 2
   vectors, or half as many rows of all of them. Products of few rows read each element of B once, so
   that they take as long as reading does, and the processor reads long pieces of rows faster: of
   784 x 512 floats in the second-level cache, rows of 8 vectors take half of the time of rows of 2.

   For so few rows a B whose columns are contiguous is not transposed, which takes as long as five or
   six of them: each element is a sum of its own, MATMUL_DOTS columns at a time. */

/* As many sums as a processor with 32 vector registers holds beside a part of B, or with 16. */
#if defined(__SSE2__) && !defined(__AVX512F__)
enum { MATMUL_FLAT = 4, MATMUL_VECTORS = 4 };
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__riscv_vector)
enum { MATMUL_FLAT = 4, MATMUL_VECTORS = 8 };
#else
enum { MATMUL_FLAT = 2, MATMUL_VECTORS = 2 };
#endif

/* The most rows whose elements are dot products, and how many are computed at a time. */
enum { MATMUL_DOTTED = 4, MATMUL_DOTS = 4 };

enum { MATMUL_FLAT_COLUMNS_F = MATMUL_VECTORS / 2 * LANES_F };

/* to[i] = from[i] for i < count < LANES, in moves of 1, 2, 4, ... elements. */
static inline void matmul_copy_few_F(int64_t count, const F *from, F *to)
{
    #pragma GCC unroll 4
    for (int64_t part = LANES_F / 2; part > 0; part /= 2) {
        if (count & part) {
            memcpy(to, from, (size_t)part * sizeof(F));
            from += part;
            to += part;
        }
    }
}

/* C[rows][columns] = (or += if `add`) sums[rows][columns], of row stride MATMUL_COLUMNS. */
__attribute__((noinline))
static void matmul_store_F(int64_t rows, int64_t columns, const F *sums,
                           F *c, int64_t c_row, bool add)
{
    int64_t whole = columns / LANES_F * LANES_F, left = columns - whole;
    for (int64_t i = 0; i < rows; i++, sums += MATMUL_COLUMNS_F, c += c_row) {
        for (int64_t j = 0; j < whole; j += LANES_F) {
            lanes_F sum = *(const lanes_F *)(sums + j);
            if (add) {
                sum += *(const lanes_F *)(c + j);
            }
            *(lanes_F *)(c + j) = sum;
        }
        const F *rest = sums + whole;
        lanes_F sum = {0}, before = {0};
        if (add) {
            matmul_copy_few_F(left, rest, (F *)&sum);
            matmul_copy_few_F(left, c + whole, (F *)&before);
            sum += before;
            rest = (const F *)&sum;
        }
        matmul_copy_few_F(left, rest, c + whole);
    }
}

/* C[rows][columns] = (or += if `add`) A[rows][k] @ B[k][columns] for up to `tall` rows and up to
   `vectors` * LANES columns, or LANES_NARROW if `vectors` is 0. Callers pass constants for
   both, so that the sums are in registers. Missing rows repeat the last one. Rows are addressed
   from two base pointers, which takes fewer registers than a pointer for each. */
static inline __attribute__((always_inline)) void matmul_accumulate_F(
    int64_t tall, int64_t vectors, int64_t rows, int64_t columns, int64_t k,
    const F *a, int64_t a_row, int64_t a_col, const F *b, int64_t b_row,
    F *c, int64_t c_row, bool add)
{
    int64_t from[MATMUL_ROWS];
    lanes_F sum[MATMUL_ROWS][2] = {{{0}}};
    lanes_narrow_F narrow[MATMUL_ROWS] = {{0}};
    #pragma GCC unroll 8
    for (int64_t i = 0; i < tall; i++) {
        from[i] = (matmul_min(i, rows - 1) - (i < MATMUL_HALF ? 0 : MATMUL_HALF)) * a_row;
    }
    for (int64_t p = 0; p < k; p++) {
        const lanes_F *b_p = (const lanes_F *)(b + p * b_row);
        const F *upper = a + p * a_col, *lower = a + MATMUL_HALF * a_row + p * a_col;
        #pragma GCC unroll 8
        for (int64_t i = 0; i < tall; i++) {
            F x = i < MATMUL_HALF ? upper[from[i]] : lower[from[i]];
            if (vectors == 0) {
                lanes_narrow_F y = *(const lanes_narrow_F *)b_p;
                narrow[i] = multiply_add_narrow_F(x - (lanes_narrow_F){0}, y, narrow[i]);
            }
            if (vectors > 0) {
                sum[i][0] = multiply_add_lanes_F(lanes_of_F(x), b_p[0], sum[i][0]);
            }
            if (vectors == 2) {
                sum[i][1] = multiply_add_lanes_F(lanes_of_F(x), b_p[1], sum[i][1]);
            }
        }
    }
    F sums[MATMUL_ROWS * MATMUL_COLUMNS_F];
    bool whole = rows == tall && columns == (vectors == 0 ? LANES_NARROW_F : vectors * LANES_F);
    F *to = whole ? c : sums;
    int64_t to_row = whole ? c_row : MATMUL_COLUMNS_F;
    if (whole && add) {
        #pragma GCC unroll 8
        for (int64_t i = 0; i < tall; i++) {
            const F *before = c + i * c_row;
            if (vectors == 0) {
                narrow[i] += *(const lanes_narrow_F *)before;
            }
            #pragma GCC unroll 2
            for (int64_t v = 0; v < vectors; v++) {
                sum[i][v] += ((const lanes_F *)before)[v];
            }
        }
    }
    #pragma GCC unroll 8
    for (int64_t i = 0; i < tall; i++) {
        if (vectors == 0) {
            *(lanes_narrow_F *)(to + i * to_row) = narrow[i];
        }
        #pragma GCC unroll 2
        for (int64_t v = 0; v < vectors; v++) {
            ((lanes_F *)(to + i * to_row))[v] = sum[i][v];
        }
    }
    if (!whole) {
        matmul_store_F(rows, columns, sums, c, c_row, add);
    }
}

/* The microkernel: matmul_accumulate, instantiated for each size. Not inlined, as it is long. */
__attribute__((noinline))
static void matmul_microkernel_F(
    int64_t rows, int64_t columns, int64_t k,
    const F *a, int64_t a_row, int64_t a_col, const F *b, int64_t b_row,
    F *c, int64_t c_row, bool add)
{
    const int64_t tall = MATMUL_ROWS, half = MATMUL_HALF;
    const int64_t lanes = LANES_F, narrow = LANES_NARROW_F % LANES_F;
    if (columns > lanes && rows == 1) {
        matmul_accumulate_F(1, 2, 1, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (columns > narrow && rows == 1) {
        matmul_accumulate_F(1, 1, 1, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (rows == 1) {
        matmul_accumulate_F(1, 0, 1, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (columns > lanes && rows > half) {
        matmul_accumulate_F(tall, 2, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (columns > lanes) {
        matmul_accumulate_F(half, 2, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (columns > narrow && rows > half) {
        matmul_accumulate_F(tall, 1, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (columns > narrow) {
        matmul_accumulate_F(half, 1, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else if (rows > half) {
        matmul_accumulate_F(tall, 0, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    } else {
        matmul_accumulate_F(half, 0, rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
    }
}

/* C[rows][columns] = (or += if `add`) A[rows][k] @ B[k][columns], for rows in 1 .. MATMUL_ROWS and
   columns in 1 .. MATMUL_COLUMNS. Rows of B must be readable in whole vectors, the last one narrow
   where that fits. */
static inline void matmul_tile_F(int64_t rows, int64_t columns, int64_t k,
                                 const F *a, int64_t a_row, int64_t a_col,
                                 const F *b, int64_t b_row, F *c, int64_t c_row, bool add)
{
    const int64_t lanes = LANES_F, narrow = LANES_NARROW_F % LANES_F;
    if (columns > lanes && columns <= lanes + narrow) {
        matmul_microkernel_F(rows, lanes, k, a, a_row, a_col, b, b_row, c, c_row, add);
        b += lanes;
        c += lanes;
        columns -= lanes;
    }
    matmul_microkernel_F(rows, columns, k, a, a_row, a_col, b, b_row, c, c_row, add);
}

/* A flat tile: C[rows][vectors * LANES] = (or += if `add`) A[rows][k] @ B[k][..] for up to `tall`
   rows, which callers pass as constants. B is read in longer pieces than by the microkernel. */
static inline __attribute__((always_inline)) void matmul_flat_F(
    int64_t tall, int64_t vectors, int64_t rows, int64_t k,
    const F *a, int64_t a_row, int64_t a_col, const F *b, int64_t b_row,
    F *c, int64_t c_row, bool add)
{
    lanes_F sum[MATMUL_FLAT][MATMUL_VECTORS] = {{{0}}};
    int64_t from[MATMUL_FLAT];
    #pragma GCC unroll 4
    for (int64_t i = 0; i < tall; i++) {
        from[i] = matmul_min(i, rows - 1) * a_row;
    }
    for (int64_t p = 0; p < k; p++) {
        const lanes_F *b_p = (const lanes_F *)(b + p * b_row);
        #pragma GCC unroll 4
        for (int64_t i = 0; i < tall; i++) {
            lanes_F x = lanes_of_F(a[from[i] + p * a_col]);
            #pragma GCC unroll 8
            for (int64_t v = 0; v < vectors; v++) {
                sum[i][v] = multiply_add_lanes_F(x, b_p[v], sum[i][v]);
            }
        }
    }
    #pragma GCC unroll 4
    for (int64_t i = 0; i < tall; i++) {
        if (i < rows) {
            #pragma GCC unroll 8
            for (int64_t v = 0; v < vectors; v++) {
                lanes_F *to = (lanes_F *)(c + i * c_row) + v;
                if (add) {
                    sum[i][v] += *to;
                }
                *to = sum[i][v];
            }
        }
    }
}

/* C[rows][columns] = (or += if `add`) A[rows][k] @ B[k][columns], for rows in 1 .. MATMUL_FLAT and
   whole flat tiles: columns is a multiple of MATMUL_FLAT_COLUMNS. */
__attribute__((noinline))
static void matmul_flat_tiles_F(
    int64_t rows, int64_t columns, int64_t k,
    const F *a, int64_t a_row, int64_t a_col, const F *b, int64_t b_row,
    F *c, int64_t c_row, bool add)
{
    const int64_t tall = MATMUL_FLAT, vectors = MATMUL_VECTORS, one = MATMUL_FLAT_COLUMNS_F;
    int64_t j = 0;
    for (; rows == 1 && j + 2 * one <= columns; j += 2 * one) {
        matmul_flat_F(1, vectors, 1, k, a, a_row, a_col, b + j, b_row, c + j, c_row, add);
    }
    for (; rows <= tall / 2 && j + 2 * one <= columns; j += 2 * one) {
        matmul_flat_F(tall / 2, vectors, rows, k, a, a_row, a_col, b + j, b_row, c + j, c_row, add);
    }
    for (; rows == 1 && j < columns; j += one) {
        matmul_flat_F(1, vectors / 2, 1, k, a, a_row, a_col, b + j, b_row, c + j, c_row, add);
    }
    for (; rows <= tall / 2 && j < columns; j += one) {
        matmul_flat_F(tall / 2, vectors / 2, rows, k, a, a_row, a_col, b + j, b_row, c + j, c_row, add);
    }
    for (; j < columns; j += one) {
        matmul_flat_F(tall, vectors / 2, rows, k, a, a_row, a_col, b + j, b_row, c + j, c_row, add);
    }
}

/* C[rows][columns] = (or += if `add`) A[rows][k] @ B[k][columns], for rows in 1 .. MATMUL_ROWS and
   any columns. The row stride of B is 0 where it is packed into panels. Otherwise few rows have flat
   tiles where these are whole. */
static inline void matmul_group_F(int64_t rows, int64_t columns, int64_t k,
                                  const F *a, int64_t a_row, int64_t a_col,
                                  const F *b, int64_t b_row, F *c, int64_t c_row, bool add)
{
    const int64_t wide = MATMUL_COLUMNS_F, flat = MATMUL_FLAT_COLUMNS_F;
    int64_t j = rows <= MATMUL_FLAT && b_row != 0 ? columns / flat * flat : 0;
    if (j > 0) {
        matmul_flat_tiles_F(rows, j, k, a, a_row, a_col, b, b_row, c, c_row, add);
    }
    for (; j < columns; j += wide) {
        matmul_tile_F(rows, matmul_min(wide, columns - j), k, a, a_row, a_col,
                      b_row == 0 ? b + j * k : b + j, b_row == 0 ? wide : b_row,
                      c + j, c_row, add);
    }
}

/* C[m][n] = A[m][k] @ B[k][n] for few rows, of which an element is a sum over lanes: rows of A and
   columns of B are contiguous. Missing columns repeat the last one. */
__attribute__((noinline))
static void matmul_dots_F(int64_t m, int64_t n, int64_t k,
                                                    const F *a, int64_t a_row,
                                                    const F *b, int64_t b_col, F *c, int64_t c_row)
{
    #pragma omp parallel for NUM_THREADS schedule(static) if (n * k > MATMUL_COPY)
    for (int64_t j = 0; j < n; j += MATMUL_DOTS) {
        const F *b_0 = b + j * b_col, *b_1 = b + matmul_min(j + 1, n - 1) * b_col;
        const F *b_2 = b + matmul_min(j + 2, n - 1) * b_col;
        const F *b_3 = b + matmul_min(j + 3, n - 1) * b_col;
        for (int64_t i = 0; i < m; i++) {
            const F *x = a + i * a_row;
            F sum_0 = 0, sum_1 = 0, sum_2 = 0, sum_3 = 0;
            #pragma omp simd reduction(+:sum_0, sum_1, sum_2, sum_3)
            for (int64_t p = 0; p < k; p++) {
                sum_0 = multiply_add_F(x[p], b_0[p], sum_0);
                sum_1 = multiply_add_F(x[p], b_1[p], sum_1);
                sum_2 = multiply_add_F(x[p], b_2[p], sum_2);
                sum_3 = multiply_add_F(x[p], b_3[p], sum_3);
            }
            const F sums[MATMUL_DOTS] = {sum_0, sum_1, sum_2, sum_3};
            memcpy(c + i * c_row + j, sums, (size_t)matmul_min(MATMUL_DOTS, n - j) * sizeof(F));
        }
    }
}
