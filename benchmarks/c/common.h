/* What the files of this folder share.
 *
 * Every function is written for the benchmark that it is named after, as a C programmer would in an
 * afternoon: it takes sizes, arguments and results, row-major, and returns nothing. Scratch memory
 * is taken from the system once and kept. */
#pragma once

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Functions are called from Python, and hidden by the flags otherwise. */
#pragma GCC visibility push(default)

#if defined(__GLIBC__) && defined(__x86_64__)
/* libmvec has these for whole vectors; declared so, loops that are marked for vector lanes call
 * them there. */
#define VECTOR_MATH __attribute__((simd("notinbranch"), const))
VECTOR_MATH float expf(float);
VECTOR_MATH float logf(float);
VECTOR_MATH float sinf(float);
VECTOR_MATH float tanhf(float);
VECTOR_MATH double exp(double);
VECTOR_MATH double log(double);
#endif

/* A vector register of the widest kind; narrower machines take two or four of their own. */
typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t integers __attribute__((vector_size(64), aligned(4), may_alias));
enum { LANES = 16, DOUBLE_LANES = 8 };

/* The same memory at each call with the same `kept`, as large as was ever asked for. */
struct kept {
    void *memory;
    size_t size;
};

static inline void *scratch(struct kept *kept, size_t size)
{
    if (kept->size < size) {
        free(kept->memory);
        kept->size = (size + 63) / 64 * 64;
        kept->memory = aligned_alloc(64, kept->size);
        if (kept->memory == NULL)
            abort();
    }
    return kept->memory;
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A tile of 16 x 16 floats, transposed in registers: four rounds, each of which shuffles rows that
 * are 8 apart into each other. */
static inline void transpose_tile(floats rows[LANES])
{
    const integers low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    const integers high = low + 8;
    for (int round = 0; round < 4; round++) {
        floats next[LANES];
        for (int k = 0; k < LANES / 2; k++) {
            next[2 * k] = __builtin_shuffle(rows[k], rows[k + LANES / 2], low);
            next[2 * k + 1] = __builtin_shuffle(rows[k], rows[k + LANES / 2], high);
        }
        for (int k = 0; k < LANES; k++)
            rows[k] = next[k];
    }
}
