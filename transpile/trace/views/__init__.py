"""Views of arrays: what of them is one memory in NumPy."""
