/* Threads of parallel regions; one without OpenMP. */

/* The number of the calling thread in its team (omp_get_thread_num). */
#if defined(_OPENMP)
extern int omp_get_thread_num(void);
static inline int thread_number(void)
{
    return omp_get_thread_num();
}
#else
static inline int thread_number(void)
{
    return 0;
}
#endif

/* The size of a team: all available threads, at most `most`. */
#if defined(_OPENMP)
extern int omp_get_max_threads(void);
static inline int thread_count(int64_t most)
{
    const int threads = omp_get_max_threads();
    return threads < most ? threads : (int)most;
}
#else
static inline int thread_count(int64_t most)
{
    (void)most;
    return 1;
}
#endif
