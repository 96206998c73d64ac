"""C libraries of several functions, and the files by which build systems find them.

description.py   what a caller has to know of a function: arrays, sizes, results
library.py       the files of a library, and writing them
provenance.py    what a saved file was made of
python_module.py a Python module that calls the library without transpile
"""

from transpile.artifact.library import KINDS, WITHOUT_LIBRARY, Library

__all__ = ["KINDS", "WITHOUT_LIBRARY", "Library"]
