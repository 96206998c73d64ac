"""When the calls of a signature tier up from Python to C, by the environment variable
TRANSPILE_CALLS:

* unset: after a hundred calls. Loading the C module takes some milliseconds. Building it, once for
  each cache directory, takes a compiler a second, for which no call waits: after every further
  hundred calls it is looked whether the module is there;
* `c`: after the first call;
* `python`: never.
"""

from __future__ import annotations

import os

AGAIN = 100  # calls after which it is looked again whether the C module is there

_THRESHOLDS = {"": 100, "c": 1, "python": 0}


def threshold() -> int:
    """The number of calls of a signature after which it tiers up; 0: never."""
    choice = os.environ.get("TRANSPILE_CALLS", "")
    if choice not in _THRESHOLDS:
        raise ValueError(f"TRANSPILE_CALLS takes 'c' or 'python', not {choice!r}")
    return _THRESHOLDS[choice]
