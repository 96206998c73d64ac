/* jax.random: the 64 random bits of a 64-bit key and counter, each two 32-bit words, the first in
   the upper half. Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random
   numbers: as easy as 1, 2, 3" (2011), and the authors' library Random123. A round is an addition,
   a rotation and an exclusive or; after every fourth one the key is added. */
static inline uint64_t threefry_2x32_u64(uint64_t key, uint64_t counter)
{
    uint32_t second;
    uint32_t first = threefry_2x32_words_u64(key, counter, &second);
    return (uint64_t)first << 32 | second;
}

/* The exclusive or of the two words: 32 random bits. Loops over it vectorise with 32-bit lanes. */
static inline uint32_t threefry_2x32_folded_u64(uint64_t key, uint64_t counter)
{
    uint32_t second;
    uint32_t first = threefry_2x32_words_u64(key, counter, &second);
    return first ^ second;
}

static inline uint32_t threefry_2x32_words_u64(uint64_t key, uint64_t counter, uint32_t *second)
{
    uint32_t a = (uint32_t)(key >> 32), b = (uint32_t)key, c = a ^ b ^ 0x1BD11BDAu;
    uint32_t x = (uint32_t)(counter >> 32) + a, y = (uint32_t)counter + b;
    x += y, y = (y << 13 | y >> 19) ^ x;
    x += y, y = (y << 15 | y >> 17) ^ x;
    x += y, y = (y << 26 | y >> 6) ^ x;
    x += y, y = (y << 6 | y >> 26) ^ x;
    x += b, y += c + 1u;
    x += y, y = (y << 17 | y >> 15) ^ x;
    x += y, y = (y << 29 | y >> 3) ^ x;
    x += y, y = (y << 16 | y >> 16) ^ x;
    x += y, y = (y << 24 | y >> 8) ^ x;
    x += c, y += a + 2u;
    x += y, y = (y << 13 | y >> 19) ^ x;
    x += y, y = (y << 15 | y >> 17) ^ x;
    x += y, y = (y << 26 | y >> 6) ^ x;
    x += y, y = (y << 6 | y >> 26) ^ x;
    x += a, y += b + 3u;
    x += y, y = (y << 17 | y >> 15) ^ x;
    x += y, y = (y << 29 | y >> 3) ^ x;
    x += y, y = (y << 16 | y >> 16) ^ x;
    x += y, y = (y << 24 | y >> 8) ^ x;
    x += b, y += c + 4u;
    x += y, y = (y << 13 | y >> 19) ^ x;
    x += y, y = (y << 15 | y >> 17) ^ x;
    x += y, y = (y << 26 | y >> 6) ^ x;
    x += y, y = (y << 6 | y >> 26) ^ x;
    x += c, y += a + 5u;
    *second = y;
    return x;
}
