"""Passes of the subscripts of Python's loops, which count from the end and may be out of range."""
