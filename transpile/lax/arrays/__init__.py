"""Operators on arrays, with JAX's names and rules."""
