"""Whose code is running: the user's, or that of transpile, NumPy and SciPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from transpile.util.data_files import PACKAGE

OWN_FILES = str(PACKAGE) + "/"
NUMPYS_FILES = str(Path(np.__file__).parent) + "/"
# SciPy's Python is no line of the user's; it is installed beside NumPy.
OURS = (OWN_FILES, NUMPYS_FILES, str(Path(np.__file__).parent.with_name("scipy")) + "/")


# Functions of SciPy's without a counterpart are traced as the user's own: what they ask of a size
# has to be true of it.
_ASKING_OF_FORMS = (OWN_FILES, NUMPYS_FILES)
_PACKAGES = ("transpile", "numpy")


def is_users_call(between: int = 0) -> bool:
    """True where code of the user calls the function that asks, by so many calls `between`."""
    frame = sys._getframe(2 + between)
    if frame.f_code.co_filename.startswith(_ASKING_OF_FORMS):
        return False
    # Code that a package has made, such as the methods of dataclasses, is in no file.
    return str(frame.f_globals.get("__name__")).partition(".")[0] not in _PACKAGES
