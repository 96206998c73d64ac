"""Where things are, and how another process finds the modules of the tests."""

import os
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
SUPPORT = TESTS / "support"


def importing(*files):
    """Variables with which a process imports the package, `support` and these test modules."""
    folders = [str(Path(file).parent) for file in files]
    path = os.pathsep.join([str(ROOT), str(SUPPORT), *folders])
    return {**os.environ, "PYTHONPATH": path}
