"""The functions whose C text is kept in tests/golden: a file each, its C beside it.

A file defines a function of its own name, and `ARGUMENTS`, what it is built for. The lines of
Python in its C are those of that file, so that no function changes the text of another one.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden"


def golden(path):
    """The function of a file, and its arguments."""
    spec = spec_from_file_location(f"golden_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, path.stem), module.ARGUMENTS


FUNCTIONS = dict(map(golden, sorted(FOLDER.glob("*.py"))))
