"""Functions of `math` and `cmath` of traced numbers."""
