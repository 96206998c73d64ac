"""Two tiers of one suite: the ordinary one, and the thorough one, which repeats more.

The ordinary tier, `make test`, tries every primitive, every rule and every public function with at
least one program. What repeats a way through the code is thorough: the same for one more dtype, one
more size, at one more level of optimization, for more drawn examples. `make thorough` runs both,
with TRANSPILE_TEST_THOROUGH=1, which other processes of tests see too.

A test is thorough by its mark, `@thorough`; a parameter by `each`; a number of examples by `drawn`.
"""

from __future__ import annotations

import os

import pytest

THOROUGH = os.environ.get("TRANSPILE_TEST_THOROUGH") == "1"

thorough = pytest.mark.thorough


def each(names, values, ordinary, **options):
    """`pytest.mark.parametrize` by these values; those for which `ordinary`, a container or a
    predicate, is false are thorough."""
    is_ordinary = ordinary if callable(ordinary) else lambda value: value in ordinary
    marked = [v if is_ordinary(v) else _thorough(v) for v in values]
    if not any(map(is_ordinary, values)):
        raise ValueError(f"no ordinary value among {values}")
    return pytest.mark.parametrize(names, marked, **options)


def _thorough(value):
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=thorough)


def one_in(count, values, at=0):
    """Every so manyth value, beginning with one: the ordinary ones of `each`."""
    return list(values)[at::count]


def drawn(count):
    """`max_examples` of hypothesis: all of them, or in the ordinary tier a third."""
    return count if THOROUGH else -(-count // 3)
