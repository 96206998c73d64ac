"""Primitives of lengths that depend on values: what finds them, and what they must be."""
