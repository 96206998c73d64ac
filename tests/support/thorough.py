"""Two tiers of one suite: the ordinary one, and the thorough one, which repeats more.

The ordinary tier, `make test`, tries every primitive, every rule and every public function with at
least one program. What repeats a way through the code is thorough: the same for one more dtype, one
more size, at one more level of optimization, for more drawn examples. `make thorough` runs both,
with TRANSPILE_TEST_THOROUGH=1, which other processes of tests see too.

A test is thorough by its mark, `@thorough`; parameters by `@one_in(3)`, where a third of them tries
all ways, or by `each`, where certain ones do; examples of hypothesis by `tries`.
"""

from __future__ import annotations

import os

import pytest

THOROUGH = os.environ.get("TRANSPILE_TEST_THOROUGH") == "1"

thorough = pytest.mark.thorough
# Of the parameters of a test, all together, the first of so many, and of the next so many.
one_in = pytest.mark.one_in


def each(names, values, ordinary, **options):
    """`pytest.mark.parametrize` by these values; those for which `ordinary`, a container or a
    predicate, is false are thorough."""
    is_one = ordinary if callable(ordinary) else lambda value: value in ordinary
    marked = [v if is_one(v) else _thorough(v) for v in values]
    if not any(map(is_one, values)):
        raise ValueError(f"no ordinary value among {values}")
    return pytest.mark.parametrize(names, marked, **options)


def _thorough(value):
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=thorough)


def is_ordinary(item, numbers):
    """True if a test that was collected is of the ordinary tier. `numbers` counts the parameters of
    each test, in the order in which they are collected."""
    if item.get_closest_marker("thorough"):
        return False
    some = item.get_closest_marker("one_in")
    if some is None:
        return True
    name = item.nodeid.partition("[")[0]
    numbers[name] = numbers.get(name, -1) + 1
    return numbers[name] % some.args[0] == 0


def tries(count):
    """`max_examples` of hypothesis: all of them, or in the ordinary tier a twelfth."""
    return count if THOROUGH else -(-count // 12)
