"""Names in C: identifiers of programs, words that C owns, helpers, functions of BLAS and LAPACK."""
