/* numpy.ndarray.view: the bits of a number and back, without undefined behaviour. Each compiles to
   no instruction, in vectorised loops too. */
static inline uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double float_from_bits_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The same, named by the dtype of the bits, as which 16-bit floats are stored. */
static inline float float_from_bits_u32(uint32_t bits)
{
    return float_from_bits_f32(bits);
}

static inline double float_from_bits_u64(uint64_t bits)
{
    return float_from_bits_f64(bits);
}

static inline uint16_t float_from_bits_u16(uint16_t bits)
{
    return bits;
}

static inline uint16_t bits_f16(uint16_t x)
{
    return x;
}

static inline uint16_t bits_bf16(uint16_t x)
{
    return x;
}
