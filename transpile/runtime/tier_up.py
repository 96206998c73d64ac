"""When the calls of a signature are made in C: where the environment variable TRANSPILE_CALLS is

* not there: from the hundredth call on. Loading the module that makes calls in C takes a
  millisecond, and building it, once in the life of a cache, a second;
* `c`: from the second call on;
* `python`: never.
"""

from __future__ import annotations

import os

_OFTEN = {"": 100, "c": 1, "python": 0}


def how_often() -> int:
    """After how many calls of a signature these are made in C; 0: never."""
    choice = os.environ.get("TRANSPILE_CALLS", "")
    if choice not in _OFTEN:
        raise ValueError(f"TRANSPILE_CALLS takes 'c' or 'python', not {choice!r}")
    return _OFTEN[choice]
