"""What vector registers need: reductions, conversions and versions of loops."""
