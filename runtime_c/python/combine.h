/* Reductions of what devices exchange: elements of any dtype, combined in the order of the members, so
   that all devices get the same bits, whatever carries the values. */
#ifndef TRANSPILE_COMBINE
#define TRANSPILE_COMBINE

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADD(a, b) ((a) + (b))
#define LARGER(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))

/* out[i] op= x[i] */
#define LOOP(type, op)                                  \
    do {                                                \
        type *a = (type *)out;                          \
        const type *b = (const type *)x;                \
        for (int64_t i = 0; i < count; i++)             \
            a[i] = (type)op(a[i], b[i]);                \
    } while (0)

#define ORDERED(type)                                   \
    do {                                                \
        if (by == '+')                                  \
            LOOP(type, ADD);                            \
        else if (by == '>')                             \
            LOOP(type, LARGER);                         \
        else                                            \
            LOOP(type, SMALLER);                        \
    } while (0)

/* Combine the elements of x into those of out; false for elements that it does not know. */
static bool combine(char by, char kind, int64_t width, int64_t count, const char *x, char *out)
{
    if (kind == 'c' && by == '+') {
        kind = 'f';
        width /= 2;
        count *= 2;
    }
    switch (kind == 'i' || kind == 'u' || kind == 'f' ? (kind << 8) + (int)width : 0) {
    case ('f' << 8) + 4: ORDERED(float); return true;
    case ('f' << 8) + 8: ORDERED(double); return true;
    case ('u' << 8) + 1: ORDERED(uint8_t); return true;
    case ('u' << 8) + 2: ORDERED(uint16_t); return true;
    case ('u' << 8) + 4: ORDERED(uint32_t); return true;
    case ('u' << 8) + 8: ORDERED(uint64_t); return true;
    /* Sums of signed integers wrap around. */
    case ('i' << 8) + 1: if (by == '+') LOOP(uint8_t, ADD); else ORDERED(int8_t); return true;
    case ('i' << 8) + 2: if (by == '+') LOOP(uint16_t, ADD); else ORDERED(int16_t); return true;
    case ('i' << 8) + 4: if (by == '+') LOOP(uint32_t, ADD); else ORDERED(int32_t); return true;
    case ('i' << 8) + 8: if (by == '+') LOOP(uint64_t, ADD); else ORDERED(int64_t); return true;
    default: return false;
    }
}

/* out = the values of `size` members, combined; false for elements that it does not know. A block of
   results stays in the cache until all have been added. */
static bool combine_all(char by, char kind, int64_t width, int64_t count, int64_t size,
                        const char *const *parts, char *out)
{
    enum { BLOCK = 1024 };
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t n = count - first < BLOCK ? count - first : BLOCK;
        char *block = out + first * width;
        memcpy(block, parts[0] + first * width, (size_t)(n * width));
        for (int64_t k = 1; k < size; k++)
            if (!combine(by, kind, width, n, parts[k] + first * width, block))
                return false;
    }
    return true;
}

#endif
