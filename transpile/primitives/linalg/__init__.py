"""Factorizations and linear solves, with their derivatives."""
