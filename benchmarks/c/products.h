/* Matrix products of floats and doubles; see product.h. */
#pragma once

#include "common.h"

enum { TILE_ROWS = 8 };

#define NUMBER float
#define VECTOR floats
#define NAME(x) x##_float
#include "product.h"

#define NUMBER double
#define VECTOR doubles
#define NAME(x) x##_double
#include "product.h"

static inline struct matrix_float matrix(const float *data, int64_t columns)
{
    return (struct matrix_float){data, columns, 1};
}

/* The transpose of a matrix that has so many columns. */
static inline struct matrix_float transposed(const float *data, int64_t columns)
{
    return (struct matrix_float){data, 1, columns};
}
