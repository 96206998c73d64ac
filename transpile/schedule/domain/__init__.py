"""Transformations of iteration spaces: splitting, coalescing, linearising."""
