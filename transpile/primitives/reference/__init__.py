"""Reference semantics in NumPy of primitives that NumPy lacks: special functions by textbook series
and continued fractions in long doubles, random bits and samples, and decompositions."""
