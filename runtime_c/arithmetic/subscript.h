/* The place of element x among y of them, as Python counts: from the end where x is negative; what is
   outside is brought to the nearest. Most subscripts are places already. A branch says so, which the
   processor predicts, so that a load need not wait for the choices. They are a function of their
   own, of which compilers make no choice again: gathers of short rows are no faster for lanes. */
__attribute__((cold, noinline))
static S nearest_place_S(S x, S y)
{
    S place = x < 0 ? (S)((U)x + (U)y) : x;
    S last = (S)((U)y - 1u);
    place = place < 0 ? 0 : place;
    return place > last ? last : place;
}

static inline S subscript_S(S x, S y)
{
    return __builtin_expect(x >= 0 && x < y, 1) ? x : nearest_place_S(x, y);
}
