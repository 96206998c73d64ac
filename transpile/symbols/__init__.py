"""Names in C: identifiers, reserved names, the helpers of runtime_c, symbols of BLAS and LAPACK."""
