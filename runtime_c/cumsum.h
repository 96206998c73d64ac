/* numpy.cumsum of floats, along rows.

   Method: each addition waits for the one before, so a row is cut into runs that are added up side
   by side: first only their sums, from which follows where each run starts, then the elements. The
   runs have a fixed length, so results do not depend on threads. Sums of numbers that are not
   negative never decrease, as when all is added one by one: a run is, and starts at the last sum
   before it. -0.0 is the number to which adding changes nothing. */

enum { CUMSUM_RUN = 1008, CUMSUM_LANES = 8 };

/* Below this number of elements one thread is faster than several. */
enum { CUMSUM_SHARED = 65536 };

/* The sum of each of `lanes` runs of `length` elements, one after the other in x. */
static inline void cumsum_totals_F(int64_t lanes, int64_t length, int64_t step, const F *x, F *totals)
{
    F sums[CUMSUM_LANES];
    for (int64_t lane = 0; lane < lanes; lane++) {
        sums[lane] = x[lane * length * step];
    }
    for (int64_t i = 1; i < length; i++) {
        for (int64_t lane = 0; lane < lanes; lane++) {
            sums[lane] += x[(lane * length + i) * step];
        }
    }
    for (int64_t lane = 0; lane < lanes; lane++) {
        totals[lane] = sums[lane];
    }
}

/* out[i] = start + (x[0] + ... + x[i]) for each of `lanes` runs of `length` elements. */
static inline void cumsum_runs_F(int64_t lanes, int64_t length, int64_t step, const F *x,
                                 const F *starts, F *out)
{
    F sums[CUMSUM_LANES];
    for (int64_t lane = 0; lane < lanes; lane++) {
        sums[lane] = x[lane * length * step];
        out[lane * length * step] = starts[lane] + sums[lane];
    }
    for (int64_t i = 1; i < length; i++) {
        for (int64_t lane = 0; lane < lanes; lane++) {
            const int64_t at = (lane * length + i) * step;
            sums[lane] += x[at];
            out[at] = starts[lane] + sums[lane];
        }
    }
}

/* The totals of the runs of a row from number `run` on, at most CUMSUM_LANES of them, or, where
   `out` is not NULL, their elements; `step` is -1 where the row goes backwards from x[0]. */
static inline void cumsum_group_F(int64_t n, int64_t run, int64_t step, const F *x, F *starts, F *out)
{
    const int64_t first = run * CUMSUM_RUN;
    const int64_t whole = (n - first) / CUMSUM_RUN;
    if (whole >= CUMSUM_LANES && out == NULL) {
        cumsum_totals_F(CUMSUM_LANES, CUMSUM_RUN, step, x + first * step, starts + run);
        return;
    }
    if (whole >= CUMSUM_LANES) {
        cumsum_runs_F(CUMSUM_LANES, CUMSUM_RUN, step, x + first * step, starts + run,
                      out + first * step);
        return;
    }
    for (int64_t at = first; at < n; at += CUMSUM_RUN) {
        const int64_t length = n - at < CUMSUM_RUN ? n - at : CUMSUM_RUN;
        if (out == NULL) {
            cumsum_totals_F(1, length, step, x + at * step, starts + at / CUMSUM_RUN);
        }
        else {
            cumsum_runs_F(1, length, step, x + at * step, starts + at / CUMSUM_RUN, out + at * step);
        }
    }
}

/* numpy.cumsum of each row of x[rows][n], from its end where `reverse`. `scratch` has room for a
   number for each CUMSUM_RUN elements of a row, or part of them. */
static inline void cumsum_F(int64_t rows, int64_t n, int64_t reverse, const F *x, F *out,
                            void *scratch)
{
    const int64_t runs = (n + CUMSUM_RUN - 1) / CUMSUM_RUN;
    const int64_t groups = (runs + CUMSUM_LANES - 1) / CUMSUM_LANES;
    const int64_t step = reverse ? -1 : 1, begin = reverse ? n - 1 : 0;
    F *starts = scratch;
    #pragma omp parallel for schedule(static) if (rows * n > CUMSUM_SHARED)
    for (int64_t k = 0; k < rows * groups; k++) {
        const int64_t row = k / groups;
        cumsum_group_F(n, k % groups * CUMSUM_LANES, step, x + row * n + begin, starts + row * runs,
                       NULL);
    }
    for (int64_t row = 0; row < rows; row++) {
        F sum = (F)-0.0;
        for (int64_t run = row * runs; run < (row + 1) * runs; run++) {
            const F total = starts[run];
            starts[run] = sum;
            sum += total;
        }
    }
    #pragma omp parallel for schedule(static) if (rows * n > CUMSUM_SHARED)
    for (int64_t k = 0; k < rows * groups; k++) {
        const int64_t row = k / groups;
        cumsum_group_F(n, k % groups * CUMSUM_LANES, step, x + row * n + begin, starts + row * runs,
                       out + row * n + begin);
    }
}
