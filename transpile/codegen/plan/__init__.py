"""Decisions on loops before printing: length, shared functions, outlined helpers, parameters."""
