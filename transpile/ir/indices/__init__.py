"""Indices: row-major positions, and scalar expressions that are arithmetic on loop indices."""
