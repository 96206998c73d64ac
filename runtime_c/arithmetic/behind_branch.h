/* The number itself, where the processor predicts the branch in which it stands: compilers cannot make a
   choice of the branch, for which all that follows would wait. */
static inline S behind_branch_S(S x)
{
    __asm__ volatile ("");
    return x;
}

static inline U behind_branch_U(U x)
{
    __asm__ volatile ("");
    return x;
}
