"""From a Python function to a graph: tracers, call signatures, and guards of what it reads."""
