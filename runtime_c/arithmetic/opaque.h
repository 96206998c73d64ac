/* numpy.copy: the number itself, of which compilers do not know that it is a constant. */
static inline S opaque_S(S x)
{
    __asm__ ("" : "+r" (x));
    return x;
}

static inline U opaque_U(U x)
{
    __asm__ ("" : "+r" (x));
    return x;
}
