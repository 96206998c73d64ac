"""Drawn NumPy programs, and whether compiled ones give what NumPy gives: `python -m fuzz_numpy`.

`values` draws arguments, `grammar` statements, `programs` puts them together, `oracle` says how far
a result may be from NumPy's, `search` compiles programs and makes failing ones small.
"""
