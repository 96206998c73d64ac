"""Pytrees: keys, the registry of containers, structures, prefixes, arrays of extended dtypes."""
