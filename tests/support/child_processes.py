"""The children of this process, for tests that leave none.

Others may be there before such a test: a tracker of multiprocessing's, which an earlier test of the
same process has used, lives as long as that. So a test asks which ones are new.
"""

import contextlib
import os


def children():
    """The processes that this one has started and not waited for."""
    tasks = "/proc/self/task"
    while True:
        # A thread that has ended meanwhile has left its children to another one: once more.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return set().union(*(_of(f"{tasks}/{task}/children") for task in os.listdir(tasks)))


def _of(path):
    with open(path, encoding="ascii") as file:
        return set(map(int, file.read().split()))
