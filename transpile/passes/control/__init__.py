"""Passes over calls, branches and loops."""
