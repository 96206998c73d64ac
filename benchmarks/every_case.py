"""Every case by its name: the workloads, and those of the other measurements."""

from benchmarks import first_call_cases, growth, overhead
from benchmarks.cases import CASES

EVERY_CASE = CASES | overhead.CASES | growth.CASES | first_call_cases.FURTHER


def find(name):
    """The case of a name."""
    return EVERY_CASE[name]


def base_name(name):
    """The workload whose function a case measures: what stands before the size, if there is one."""
    return name.partition(growth.SEPARATOR)[0]
