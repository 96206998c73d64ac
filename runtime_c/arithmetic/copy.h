/* numpy.copy of a complex number in lanes, part by part: gcc has no vectors of whole ones. */
static inline void copy_C(C *to, const C *from)
{
    R *parts = (R *)to;
    parts[0] = real_C(*from);
    parts[1] = imag_C(*from);
}
