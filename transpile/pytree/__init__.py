"""Nested containers of arrays: which classes are containers, structures, prefixes of them."""
