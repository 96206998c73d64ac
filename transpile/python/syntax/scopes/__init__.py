"""Rewrite variables that several functions of a tree have."""
