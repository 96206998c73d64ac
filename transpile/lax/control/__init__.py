"""Loops, branches and solves that take functions."""
