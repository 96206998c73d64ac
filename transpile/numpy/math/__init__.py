"""Products, polynomials, statistics, special functions."""
