/* What functions say of themselves when a program runs: their arrays and their runtime sizes. */
#ifndef TRANSPILE_DESCRIPTION
#define TRANSPILE_DESCRIPTION

typedef struct {
    const char *name;         /* of the parameter */
    const char *dtype;        /* as NumPy calls it */
    size_t itemsize;          /* bytes of an element */
    int rank;                 /* how many axes */
    const char *const *shape; /* the extent of each, a number or a formula of the sizes: 2*n + 1 */
} transpile_array;

typedef struct {
    const char *name; /* of the parameter */
    int64_t least;
    int64_t most; /* where none is declared, INT64_MAX; memory has an end before */
    int64_t multiple_of;
} transpile_size;

#endif
