"""Arrays as NumPy has them: promotion, ufuncs, reductions, shapes, creation."""
