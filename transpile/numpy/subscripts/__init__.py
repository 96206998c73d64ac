"""Reading and assigning by subscripts, slices, masks and index arrays."""
