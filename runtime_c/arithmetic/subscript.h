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

/* The same, but -1 where there is no such element: one test and branch, behind which a subscript is in
   range. */
__attribute__((cold, noinline))
static S place_from_end_S(S x, S y)
{
    S place = (S)((U)x + (U)y);
    return x < 0 && place >= 0 && place < y ? place : -1;
}

static inline S checked_subscript_S(S x, S y)
{
    return __builtin_expect(x >= 0 && x < y, 1) ? x : place_from_end_S(x, y);
}

/* The number of the cell in row x // z, the place of an element among y rows, and column x % z: x
   itself, by a branch that is predicted, where there is such a row. */
__attribute__((cold, noinline))
static S nearest_cell_S(S x, S y, S z)
{
    U row = (U)nearest_place_S(floor_divide_S(x, z), y);
    return (S)(1u * row * (U)z + (U)remainder_S(x, z));
}

static inline S cell_S(S x, S y, S z)
{
    S cells = (S)(1u * (U)y * (U)z); /* no more than there are, where the product wraps around */
    return __builtin_expect(y > 0 && z > 0 && x >= 0 && x < cells, 1) ? x : nearest_cell_S(x, y, z);
}
