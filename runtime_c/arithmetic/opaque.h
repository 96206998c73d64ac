/* numpy.copy: the number itself, of which compilers do not know that it is a constant. GPUs take
   constants as they are. */
static inline S opaque_S(S x)
{
#ifndef __CUDACC__
    __asm__ ("" : "+r" (x));
#endif
    return x;
}

static inline U opaque_U(U x)
{
#ifndef __CUDACC__
    __asm__ ("" : "+r" (x));
#endif
    return x;
}

static inline F opaque_F(F x)
{
#ifndef __CUDACC__
    __asm__ ("" : "+m" (x));
#endif
    return x;
}
