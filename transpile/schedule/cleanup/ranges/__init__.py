"""Passes that ask for the ranges of integers (`transpile.analysis.integer_ranges`)."""
