"""Loops, branches and calls: primitives that hold graphs, and their transformations."""
