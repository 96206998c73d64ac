"""From C to a shared object: compilers, flags, support libraries."""
