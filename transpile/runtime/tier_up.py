"""When the calls of a signature tier up from Python to C, by the environment variable
TRANSPILE_CALLS:

* unset: after a hundred calls. Loading the C module takes a millisecond, and building it, once for
  each cache directory, a second;
* `c`: after the first call;
* `python`: never.
"""

from __future__ import annotations

import os

_THRESHOLDS = {"": 100, "c": 1, "python": 0}


def threshold() -> int:
    """The number of calls of a signature after which it tiers up; 0: never."""
    choice = os.environ.get("TRANSPILE_CALLS", "")
    if choice not in _THRESHOLDS:
        raise ValueError(f"TRANSPILE_CALLS takes 'c' or 'python', not {choice!r}")
    return _THRESHOLDS[choice]
