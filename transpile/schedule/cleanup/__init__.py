"""Scalar optimisations within loops, after their shape is settled."""
