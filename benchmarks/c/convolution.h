/* Convolutions with filters of 3 x 3 of pictures that have a border of zeros.
 *
 * A padded picture has rows of width + 2 numbers, one after the other, so that what a filter reads
 * for neighbouring results is contiguous, across the ends of rows too. Sums are made for these places
 * in order; two at the end of each row mean nothing. */
#pragma once

#include "products.h"

enum { PLACES = 2 * LANES };

/* Numbers of a padded picture, with what is read beyond its end. */
static inline int64_t padded_size(int64_t channels, int64_t height, int64_t width)
{
    return channels * (height + 2) * (width + 2) + 2 * PLACES;
}

/* Put a picture inside a border that is zero already. */
static inline void pad(int64_t channels, int64_t height, int64_t width, const float *restrict x,
                       float *restrict to)
{
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < height; i++)
            memcpy(to + (c * (height + 2) + i + 1) * (width + 2) + 1,
                   x + (c * height + i) * width, sizeof(float) * (size_t)width);
}

/* Filters (filter, tap) as they are read: by 8 filters, then taps. */
static inline void pack_filters(int64_t filters, int64_t taps, const float *restrict kernel,
                                float *restrict to)
{
    for (int64_t f = 0; f < filters; f++)
        for (int64_t k = 0; k < taps; k++)
            to[(f / TILE_ROWS * taps + k) * TILE_ROWS + f % TILE_ROWS] = kernel[f * taps + k];
}

/* Sums of 8 filters for 32 places. */
static inline void places(int64_t channels, int64_t row, int64_t plane, const float *restrict x,
                          const float *restrict filters, floats sums[TILE_ROWS][2])
{
    floats own[TILE_ROWS][2] = {0};
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t k = 0; k < 9; k++) {
            const float *from = x + c * plane + k / 3 * row + k % 3;
            const float *weights = filters + (c * 9 + k) * TILE_ROWS;
            const floats left = ((const floats *)from)[0], right = ((const floats *)from)[1];
            #pragma GCC unroll 8
            for (int r = 0; r < TILE_ROWS; r++)
                own[r][0] += weights[r] * left, own[r][1] += weights[r] * right;
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < TILE_ROWS; r++)
        sums[r][0] = own[r][0], sums[r][1] = own[r][1];
}

/* One padded picture through packed filters. Filter f's row i begins at out + f * filter_step +
 * i * row_step. */
static inline void convolve(int64_t channels, int64_t height, int64_t width, int64_t filters,
                            const float *restrict padded, const float *restrict packed,
                            float *restrict out, int64_t filter_step, int64_t row_step)
{
    const int64_t row = width + 2, plane = (height + 2) * row, end = height * row - 2;
    for (int64_t start = 0; start < end; start += PLACES) {
        for (int64_t f = 0; f < filters; f += TILE_ROWS) {
            floats sums[TILE_ROWS][2];
            places(channels, row, plane, padded + start, packed + f * channels * 9, sums);
            for (int64_t at = start; at < least(start + PLACES, end);) {
                const int64_t i = at / row, j = at % row;
                const int64_t count = least(width - j, start + PLACES - at);
                for (int r = 0; r < TILE_ROWS && count > 0; r++)
                    memcpy(out + (f + r) * filter_step + i * row_step + j,
                           (const float *)sums[r] + (at - start), sizeof(float) * (size_t)count);
                at += count > 0 ? count : 1;
            }
        }
    }
}
