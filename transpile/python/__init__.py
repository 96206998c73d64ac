"""Python's own statements over traced values, compiled from their source.

`syntax/` rewrites the source of a function such that each statement that chooses or repeats is a
call; `semantics/` has the functions that are called, `objects/` what becomes of the arrays and
containers that they change.
"""
