"""Lowering flows one way: each phase reads what earlier ones made, and calls none of them."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers import ordinary, trace_to_graph
from thorough import one_in

import transpile
from transpile import lax
from transpile.lower.kernels import lower
from transpile.passes import optimise

PACKAGE = Path(transpile.__file__).parent
ASSIGNMENT = ("placement", "carries", "regions", "calls", "memory")
# The modules of each phase. The rest are what phases hand on, and what puts them in order.
PHASES = [
    [
        "survey",
        "inlining/decisions",
        "inlining/cost",
        "inlining/reshape_cuts",
        "elements",
        "index_lambda",
        "materialize",
    ],
    ["loop_fusion"],
    ["diagonal_arrays"],
    ["assign_storage", "buffer_reuse", *(f"assignment/{name}" for name in ASSIGNMENT)],
    ["builder", "writer", "control_flow", "library_calls", "callbacks"],
]
PHASE = {module: number for number, modules in enumerate(PHASES) for module in modules}
# What is asked of an earlier phase's module all the same: what an index lambda is.
ASKED = {"expressions", "is_copy"}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def warshall(d):
    return lax.fori_loop(0, 20, lambda k, d: np.minimum(d, d[:, k, None] + d[k]), d)


def newton(x):
    return lax.while_loop(lambda c: c[1] < 9, lambda c: (c[0] / 2 + 1 / c[0], c[1] + 1), (x, 0))


def calls(x):
    return np.sort(x, axis=1), x @ x.T, x.at[np.array([3, 1])].set(0.0)


def rows(x):
    """Iterations that compute their part of an operand, and of what is arithmetic on indices."""
    return lax.scan(lambda c, r: (c + r[0].sum() * r[1], c), 0.0, (x + 1, np.arange(20) * 2))


X = ordinary("f8", (20, 20))


@pytest.mark.parametrize(
    ("f", "x"), [(softmax, X), (warshall, X), (newton, np.float64(2)), (calls, X), (rows, X)]
)
@one_in(2)
def test_no_phase_calls_an_earlier_one(f, x):
    graph = optimise(trace_to_graph(f, x))
    running: list[str] = []
    upward: Counter[tuple[str, str]] = Counter()
    met: set[str] = set()

    def look(frame, event, _):
        path = Path(frame.f_code.co_filename)
        parts = path.with_suffix("").relative_to(PACKAGE).parts if PACKAGE in path.parents else ()
        module = "/".join(parts[1:]) if parts[:1] in (("fusion",), ("lower",)) else ""
        if event == "call":
            caller = next((m for m in reversed(running) if m in PHASE), None)
            name = frame.f_code.co_name
            if module in PHASE:
                met.add(module)
                if caller and PHASE[caller] > PHASE[module] and name not in ASKED:
                    upward[caller, f"{module}.{name}"] += 1
            running.append(module)
        elif event == "return" and running:
            running.pop()

    sys.setprofile(look)
    try:
        lower(graph)
    finally:
        sys.setprofile(None)
    assert {"materialize", "loop_fusion", "assign_storage", "builder"} <= met
    assert not upward
