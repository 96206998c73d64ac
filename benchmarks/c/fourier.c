/* The Fourier transform of 2^20 numbers, as one of 1024 columns and one of 1024 rows (Gentleman and
 * Sande's four steps). Each of these is done for 16 columns at once, one in each lane, so that every
 * operation is one of whole vectors; what is between them is transposed a tile at a time. */

#include "common.h"

enum { SIDE = 1024, BLOCKS = SIDE / LANES };

/* 1024 complex numbers of each of 16 columns. */
struct columns {
    floats real[SIDE], imaginary[SIDE];
};

/* What is known before the data are: exp(-2 pi i k / 1024), and the factors between the two
 * transforms in the order in which they are used. */
struct plan {
    float real[SIDE], imaginary[SIDE];
    floats between_real[BLOCKS][SIDE], between_imaginary[BLOCKS][SIDE];
};

static struct plan *make_plan(void)
{
    struct plan *plan = aligned_alloc(64, sizeof *plan);
    if (plan == NULL)
        abort();
    const double turn = -2 * 3.14159265358979323846;
    for (int k = 0; k < SIDE; k++) {
        plan->real[k] = (float)cos(turn * k / SIDE);
        plan->imaginary[k] = (float)sin(turn * k / SIDE);
        for (int column = 0; column < SIDE; column++) {
            const double angle = turn * k * column / (SIDE * SIDE);
            plan->between_real[column / LANES][k][column % LANES] = (float)cos(angle);
            plan->between_imaginary[column / LANES][k][column % LANES] = (float)sin(angle);
        }
    }
    return plan;
}

/* One step of Stockham's algorithm of radix 4: `done` numbers have been combined before it. */
static void radix_4(const struct plan *plan, int done, const struct columns *from,
                    struct columns *to)
{
    const int quarter = SIDE / 4, groups = quarter / done;
    for (int group = 0; group < groups; group++) {
        const int at = group * done;
        const float w1r = plan->real[at], w1i = plan->imaginary[at];
        const float w2r = plan->real[2 * at], w2i = plan->imaginary[2 * at];
        const float w3r = plan->real[3 * at], w3i = plan->imaginary[3 * at];
        for (int k = 0; k < done; k++) {
            const floats *r = from->real + at + k, *i = from->imaginary + at + k;
            const floats r0 = r[0] + r[2 * quarter], i0 = i[0] + i[2 * quarter];
            const floats r1 = r[0] - r[2 * quarter], i1 = i[0] - i[2 * quarter];
            const floats r2 = r[quarter] + r[3 * quarter], i2 = i[quarter] + i[3 * quarter];
            const floats r3 = r[quarter] - r[3 * quarter], i3 = i[quarter] - i[3 * quarter];
            const floats a = r1 + i3, b = i1 - r3, c = r0 - r2, d = i0 - i2;
            const floats e = r1 - i3, f = i1 + r3;
            floats *to_r = to->real + 4 * at + k, *to_i = to->imaginary + 4 * at + k;
            to_r[0] = r0 + r2, to_i[0] = i0 + i2;
            to_r[done] = a * w1r - b * w1i, to_i[done] = a * w1i + b * w1r;
            to_r[2 * done] = c * w2r - d * w2i, to_i[2 * done] = c * w2i + d * w2r;
            to_r[3 * done] = e * w3r - f * w3i, to_i[3 * done] = e * w3i + f * w3r;
        }
    }
}

/* The transforms of 16 columns; they end in `other`, after five steps. */
static void transform(const struct plan *plan, struct columns *columns, struct columns *other)
{
    radix_4(plan, 1, columns, other);
    radix_4(plan, 4, other, columns);
    radix_4(plan, 16, columns, other);
    radix_4(plan, 64, other, columns);
    radix_4(plan, 256, columns, other);
}

/* 16 complex numbers, their parts apart. */
static inline void load_complex(const float *from, floats *real, floats *imaginary)
{
    const integers even = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    const floats a = ((const floats *)from)[0], b = ((const floats *)from)[1];
    *real = __builtin_shuffle(a, b, even);
    *imaginary = __builtin_shuffle(a, b, even + 1);
}

static inline void store_complex(float *to, floats real, floats imaginary)
{
    const integers low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    ((floats *)to)[0] = __builtin_shuffle(real, imaginary, low);
    ((floats *)to)[1] = __builtin_shuffle(real, imaginary, low + 8);
}

/* Transform columns `block`, multiply, and hand them out to the blocks of rows. */
static void first_half(const struct plan *plan, int block, const float *x,
                       struct columns *columns, struct columns *other, struct columns *rows)
{
    for (int k = 0; k < SIDE; k++)
        load_complex(x + 2 * (k * SIDE + block * LANES), columns->real + k,
                     columns->imaginary + k);
    transform(plan, columns, other);
    for (int part = 0; part < BLOCKS; part++) {
        floats real[LANES], imaginary[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            const int k = part * LANES + lane;
            const floats r = plan->between_real[block][k], i = plan->between_imaginary[block][k];
            real[lane] = other->real[k] * r - other->imaginary[k] * i;
            imaginary[lane] = other->real[k] * i + other->imaginary[k] * r;
        }
        transpose_tile(real);
        transpose_tile(imaginary);
        memcpy(rows[part].real + block * LANES, real, sizeof real);
        memcpy(rows[part].imaginary + block * LANES, imaginary, sizeof imaginary);
    }
}

void fourier(const float *restrict x, float *restrict out)
{
    static struct plan *plan;
    static struct kept kept, kept_work;
    if (plan == NULL)
        plan = make_plan();
    struct columns *rows = scratch(&kept, sizeof *rows * BLOCKS);
    struct columns *work = scratch(&kept_work, sizeof *work * 2 * (size_t)omp_get_max_threads());
    #pragma omp parallel
    {
        struct columns *columns = work + 2 * omp_get_thread_num(), *other = columns + 1;
        #pragma omp for
        for (int block = 0; block < BLOCKS; block++)
            first_half(plan, block, x, columns, other, rows);
        #pragma omp for
        for (int block = 0; block < BLOCKS; block++) {
            transform(plan, rows + block, other);
            for (int k = 0; k < SIDE; k++)
                store_complex(out + 2 * (k * SIDE + block * LANES), other->real[k],
                              other->imaginary[k]);
        }
    }
}
