"""Expansion of composite primitives into simpler ones before lowering."""
