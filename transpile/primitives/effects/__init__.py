"""Primitives with effects: callbacks, and checks."""
