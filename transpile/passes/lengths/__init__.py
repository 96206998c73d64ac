"""Passes over what masks select: reductions of it, and its elements."""
