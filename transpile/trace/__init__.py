"""Trace a Python function to a Graph: tracers, signatures of calls, guards of what it reads."""
