"""Every case by its name: the workloads, those of the overhead of a call, and those that grow."""

from benchmarks import growth, overhead
from benchmarks.cases import CASES

EVERY_CASE = CASES | overhead.CASES | growth.CASES


def find(name):
    """The case of a name."""
    return EVERY_CASE[name]


def base_name(name):
    """The workload whose function a case measures: what stands before the size, if there is one."""
    return name.partition(growth.SEPARATOR)[0]
