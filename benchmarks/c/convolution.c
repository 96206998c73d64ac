/* A convolution of pictures with filters of 3 x 3, with a border of zeros. */

#include "products.h"

/* The picture with its border: rows of width + 2 numbers, one after the other, so that what a filter
 * reads for neighbouring results is contiguous, across the ends of rows too. */
static void pad(int64_t channels, int64_t height, int64_t width, const float *restrict x,
                float *restrict to)
{
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < height; i++)
            memcpy(to + (c * (height + 2) + i + 1) * (width + 2) + 1,
                   x + (c * height + i) * width, sizeof(float) * (size_t)width);
}

/* Sums of 8 filters for 32 places of the padded picture that follow each other. */
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

void conv2d(int64_t pictures, int64_t channels, int64_t height, int64_t width, int64_t filters,
            const float *restrict x, const float *restrict kernel, float *restrict out)
{
    static struct kept kept_pictures, kept_filters;
    const int64_t row = width + 2, plane = (height + 2) * row, size = channels * plane + 4 * LANES;
    const int64_t taps = channels * 9;
    float *padded = scratch(&kept_pictures, sizeof(float) * (size_t)(pictures * size));
    float *packed = scratch(&kept_filters, sizeof(float) * (size_t)(filters * taps));
    for (int64_t f = 0; f < filters; f++)
        for (int64_t k = 0; k < taps; k++)
            packed[f / TILE_ROWS * taps * TILE_ROWS + k * TILE_ROWS + f % TILE_ROWS] =
                kernel[f * taps + k];
    #pragma omp parallel for
    for (int64_t picture = 0; picture < pictures; picture++) {
        float *own = padded + picture * size;
        memset(own, 0, sizeof(float) * (size_t)size);
        pad(channels, height, width, x + picture * channels * height * width, own);
        for (int64_t start = 0; start < height * row; start += 2 * LANES) {
            for (int64_t f = 0; f < filters; f += TILE_ROWS) {
                floats sums[TILE_ROWS][2];
                places(channels, row, plane, own + start, packed + f * taps, sums);
                for (int64_t k = 0; k < 2 * LANES; k++) {
                    const int64_t i = (start + k) / row, j = (start + k) % row;
                    for (int r = 0; r < TILE_ROWS && i < height && j < width; r++)
                        out[((picture * filters + f + r) * height + i) * width + j] =
                            ((const float *)sums[r])[k];
                }
            }
        }
    }
}
