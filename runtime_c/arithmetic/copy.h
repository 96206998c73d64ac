/* A complex number that a loop in lanes copies, part by part: gcc has no vectors for loads and
   stores of whole ones. */
static inline void copy_C(C *to, const C *from)
{
    R *parts = (R *)to;
    parts[0] = real_C(*from);
    parts[1] = imag_C(*from);
}
