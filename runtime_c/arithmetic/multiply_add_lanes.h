/* numpy: a * b + c in each lane of a vector register, rounded as multiply_add.

   The text is written once for the C type F where that is possible. gcc would make the same
   instruction of a loop over the lanes, but has to unroll and vectorise each of the hundreds of
   copies that matrix products and Fourier transforms have of it, and then keeps fewer operands in
   memory. For NEON it would copy each accumulator twice: of 50 instructions for 16 such operations
   30 are left. Its names of the instructions are those that <immintrin.h> and <arm_neon.h> call,
   headers that take it 0.2 seconds to read. */

#if defined(__AVX512F__)
enum { LANES_BYTES = 64 };
#elif defined(__AVX__)
enum { LANES_BYTES = 32 };
#else
enum { LANES_BYTES = 16 };
#endif

/* Many processors run two instructions for half of the lanes in the time of one for 64 bytes. */
enum { LANES_NARROW_BYTES = LANES_BYTES > 32 ? LANES_BYTES / 2 : LANES_BYTES };

enum { LANES_F = LANES_BYTES / sizeof(F), LANES_NARROW_F = LANES_NARROW_BYTES / sizeof(F) };

typedef F lanes_F __attribute__((vector_size(LANES_BYTES), aligned(sizeof(F)), may_alias));

typedef F lanes_narrow_F __attribute__((vector_size(LANES_NARROW_BYTES), aligned(sizeof(F)), may_alias));

static inline lanes_f32 multiply_add_lanes_f32(lanes_f32 a, lanes_f32 b, lanes_f32 c)
{
#if defined(__AVX512F__) && defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); /* all lanes, the current rounding */
#elif defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav4sf(a, b, c);
#else
    for (int lane = 0; lane < LANES_f32; lane++) {
        c[lane] = multiply_add_f32(a[lane], b[lane], c[lane]);
    }
    return c;
#endif
}

static inline lanes_f64 multiply_add_lanes_f64(lanes_f64 a, lanes_f64 b, lanes_f64 c)
{
#if defined(__AVX512F__) && defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, 4);
#elif defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav2df(a, b, c);
#else
    for (int lane = 0; lane < LANES_f64; lane++) {
        c[lane] = multiply_add_f64(a[lane], b[lane], c[lane]);
    }
    return c;
#endif
}

static inline lanes_narrow_f32 multiply_add_narrow_f32(lanes_narrow_f32 a, lanes_narrow_f32 b,
                                                       lanes_narrow_f32 c)
{
#if defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav4sf(a, b, c);
#else
    for (int lane = 0; lane < LANES_NARROW_f32; lane++) {
        c[lane] = multiply_add_f32(a[lane], b[lane], c[lane]);
    }
    return c;
#endif
}

static inline lanes_narrow_f64 multiply_add_narrow_f64(lanes_narrow_f64 a, lanes_narrow_f64 b,
                                                       lanes_narrow_f64 c)
{
#if defined(__FMA__) && !defined(__clang__)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav2df(a, b, c);
#else
    for (int lane = 0; lane < LANES_NARROW_f64; lane++) {
        c[lane] = multiply_add_f64(a[lane], b[lane], c[lane]);
    }
    return c;
#endif
}

/* The vector with x in each lane: the difference is x itself, also of zeros and infinities. */
static inline lanes_F lanes_of_F(F x)
{
    return x - (lanes_F){0};
}
