"""Loops, branches and calls: primitives with regions (graphs in their params), and a module for
each of their transformations."""
