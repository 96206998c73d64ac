"""Elementwise operators, with JAX's names and rules."""
