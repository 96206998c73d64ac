"""Inlining: which values are substituted into their uses, by what that costs."""
