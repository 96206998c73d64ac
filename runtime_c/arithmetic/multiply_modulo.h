/* The product of integers modulo a third, exactly: has the sign of z; 0 when z is 0.
   The product has twice the bits, which GCC, clang and what they build have on 64-bit machines. */
static inline S multiply_modulo_S(S x, S y, S z)
{
    __extension__ typedef __int128 wide;
    wide rest = z == 0 ? 0 : (wide)x * (wide)y % (wide)z;
    return (S)(rest != 0 && (rest < 0) != (z < 0) ? rest + z : rest);
}
