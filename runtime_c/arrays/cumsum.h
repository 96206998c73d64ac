/* numpy.cumsum of floats, along rows.

   Method: a parallel prefix sum in two passes (G. Blelloch, "Prefix sums and their applications",
   1990). A row is cut into runs. The first pass reduces each run; a serial scan of these totals
   gives the offset of each run; the second pass scans the runs. Runs have a fixed length, so
   results do not depend on the number of threads. Prefix sums of nonnegative numbers never
   decrease, as in a serial scan: rounded addition is monotonic, within a run and from its end to
   the next offset. The neutral element is -0.0.

   The runs of a group are in the lanes of vectors: blocks of their elements are transposed in
   registers. Both passes run over a part of the groups that fits into a cache, then over the next
   part. */

enum { CUMSUM_RUN = 1008, CUMSUM_LANES = 8, CUMSUM_PART = 32, CUMSUM_ROWS = 4 };

/* With up to this number of elements, one thread is faster than several. */
enum { CUMSUM_SHARED = 65536 };

/* The elements of a group from x[0] on, as many as a vector has lanes: block[k][lane] is the k-th
   of run number `lane`; `step` is -1 where the row is read backwards from x[0]. */
static inline void cumsum_load_F(int64_t step, const F *x, F block[][CUMSUM_LANES])
{
    const F *first = step < 0 ? x - (TRANSPOSE_LANES_U - 1) : x;
    for (int64_t lane = 0; lane < CUMSUM_LANES; lane += TRANSPOSE_LANES_U)
        transpose_block_U((const U *)(first + lane * CUMSUM_RUN * step), CUMSUM_RUN * step,
                          (U *)(block[0] + lane), CUMSUM_LANES);
}

/* The total of each run of a group, whose runs are adjacent in x. */
static inline void cumsum_totals_F(int64_t step, const F *x, F *totals)
{
    F sums[CUMSUM_LANES];
    for (int64_t lane = 0; lane < CUMSUM_LANES; lane++)
        sums[lane] = (F)-0.0;
    for (int64_t i = 0; i < CUMSUM_RUN; i += TRANSPOSE_LANES_U) {
        F block[TRANSPOSE_LANES_U][CUMSUM_LANES];
        cumsum_load_F(step, x + i * step, block);
        #pragma GCC unroll 8
        for (int64_t k = 0; k < TRANSPOSE_LANES_U; k++) {
            const F *next = block[step < 0 ? TRANSPOSE_LANES_U - 1 - k : k];
            for (int64_t lane = 0; lane < CUMSUM_LANES; lane++)
                sums[lane] += next[lane];
        }
    }
    for (int64_t lane = 0; lane < CUMSUM_LANES; lane++)
        totals[lane] = sums[lane];
}

/* out[i] = start + (x[0] + ... + x[i]) within each run of a group. */
static inline void cumsum_runs_F(int64_t step, const F *x, const F *starts, F *out)
{
    F sums[CUMSUM_LANES];
    for (int64_t lane = 0; lane < CUMSUM_LANES; lane++)
        sums[lane] = (F)-0.0;
    for (int64_t i = 0; i < CUMSUM_RUN; i += TRANSPOSE_LANES_U) {
        F block[TRANSPOSE_LANES_U][CUMSUM_LANES];
        cumsum_load_F(step, x + i * step, block);
        #pragma GCC unroll 8
        for (int64_t k = 0; k < TRANSPOSE_LANES_U; k++) {
            F *next = block[step < 0 ? TRANSPOSE_LANES_U - 1 - k : k];
            for (int64_t lane = 0; lane < CUMSUM_LANES; lane++) {
                sums[lane] += next[lane];
                next[lane] = starts[lane] + sums[lane];
            }
        }
        F *first = out + i * step - (step < 0 ? TRANSPOSE_LANES_U - 1 : 0);
        for (int64_t lane = 0; lane < CUMSUM_LANES; lane += TRANSPOSE_LANES_U)
            transpose_block_U((const U *)(block[0] + lane), CUMSUM_LANES,
                              (U *)(first + lane * CUMSUM_RUN * step), CUMSUM_RUN * step);
    }
}

/* For up to CUMSUM_LANES runs of a row, from number `run` on: their totals, to `starts`, or, where
   `out` is not NULL, their prefix sums. `step` is -1 where the row is read backwards from x[0]. */
static inline void cumsum_group_F(int64_t n, int64_t run, int64_t step, const F *x, F *starts, F *out)
{
    const int64_t first = run * CUMSUM_RUN, end = first + CUMSUM_LANES * CUMSUM_RUN;
    if (end <= n && out == NULL) {
        cumsum_totals_F(step, x + first * step, starts + run);
        return;
    }
    if (end <= n) {
        cumsum_runs_F(step, x + first * step, starts + run, out + first * step);
        return;
    }
    for (int64_t at = first; at < n; at += CUMSUM_RUN, run++) {
        F sum = (F)-0.0;
        for (int64_t i = at; i < n && i < at + CUMSUM_RUN; i++) {
            sum += x[i * step];
            if (out != NULL)
                out[i * step] = starts[run] + sum;
        }
        if (out == NULL)
            starts[run] = sum;
    }
}

/* Rows of one run each, some at a time: their additions do not wait for each other. */
static inline void cumsum_short_F(int64_t rows, int64_t n, int64_t step, const F *x, F *out)
{
    int64_t row = 0;
    for (; row + CUMSUM_ROWS <= rows; row += CUMSUM_ROWS) {
        F sums[CUMSUM_ROWS];
        #pragma GCC unroll 4
        for (int64_t k = 0; k < CUMSUM_ROWS; k++)
            sums[k] = (F)-0.0;
        for (int64_t i = 0; i < n; i++) {
            #pragma GCC unroll 4
            for (int64_t k = 0; k < CUMSUM_ROWS; k++) {
                sums[k] += x[(row + k) * n + i * step];
                out[(row + k) * n + i * step] = sums[k];
            }
        }
    }
    for (; row < rows; row++) {
        F sum = (F)-0.0;
        for (int64_t i = 0; i < n; i++) {
            sum += x[row * n + i * step];
            out[row * n + i * step] = sum;
        }
    }
}

/* numpy.cumsum of each row of x[rows][n], from its end if `reverse`. `scratch` has room for a
   number for each run of each row. */
static inline void cumsum_F(int64_t rows, int64_t n, int64_t reverse, const F *x, F *out,
                            void *scratch)
{
    const int64_t runs = (n + CUMSUM_RUN - 1) / CUMSUM_RUN;
    const int64_t groups = (runs + CUMSUM_LANES - 1) / CUMSUM_LANES;
    const int64_t step = reverse ? -1 : 1, begin = reverse ? n - 1 : 0;
    F *starts = scratch, sum = (F)-0.0;
    if (n == 0) {
        return; /* arrays without elements have no address to add to */
    }
    if (runs <= 1 && rows * n <= CUMSUM_SHARED) {
        cumsum_short_F(rows, n, step, x + begin, out + begin);
        return;
    }
    for (int64_t part = 0; part < rows * groups; part += CUMSUM_PART) {
        const int64_t next = part + CUMSUM_PART, end = next < rows * groups ? next : rows * groups;
        #pragma omp parallel for NUM_THREADS schedule(static) if (rows * n > CUMSUM_SHARED)
        for (int64_t k = part; k < end; k++) {
            const int64_t row = k / groups;
            cumsum_group_F(n, k % groups * CUMSUM_LANES, step, x + row * n + begin,
                           starts + row * runs, NULL);
        }
        for (int64_t k = part; k < end; k++) {
            const int64_t first = k % groups * CUMSUM_LANES;
            F *start = starts + k / groups * runs;
            sum = first == 0 ? (F)-0.0 : sum;
            for (int64_t run = first; run < runs && run < first + CUMSUM_LANES; run++) {
                const F total = start[run];
                start[run] = sum;
                sum += total;
            }
        }
        #pragma omp parallel for NUM_THREADS schedule(static) if (rows * n > CUMSUM_SHARED)
        for (int64_t k = part; k < end; k++) {
            const int64_t row = k / groups;
            cumsum_group_F(n, k % groups * CUMSUM_LANES, step, x + row * n + begin,
                           starts + row * runs, out + row * n + begin);
        }
    }
}
