"""The rules of the table test themselves: derivatives, transposes and batching of every primitive.

`rule_cases` has the operands and `rule_checks` the comparisons. The same graphs are compiled, many
primitives to a program. Where finite differences say nothing, at ties and zeros, the numbers are
JAX's.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from primitive_programs import TESTED_ELSEWHERE, TRIED_DTYPES
from rule_cases import (
    BATCH,
    MODES,
    Bundle,
    Trial,
    batching_trials,
    cases,
    derivative_trials,
    dtypes_of,
    examples,
    refusal,
    summary,
    why_none,
)
from rule_checks import CHECKS, Derivatives, assert_near, check, direction, reversed_graph, seeded
from thorough import THOROUGH, thorough

from transpile.errors import InternalError
from transpile.ir.primitive import TABLE, Axis
from transpile.ir.types import DTYPES, HALVES, SHORT_NAMES, ArrayType, finfo, kind_letter
from transpile.options import Options
from transpile.primitives.rules import ByOperand, apply, flat
from transpile.runtime.executable import Lowering
from transpile.trace.trace import trace_function
from transpile.transforms.batch import batch
from transpile.transforms.interpret import interpret
from transpile.transforms.jvp import jvp

# Some warnings take the optimiser, and much of gcc's time: one dtype has them.
QUICK = Options(opt_level=0, extra_cflags=("-Werror",))
NAMES = sorted(TABLE)
FLOATS = [d for d in DTYPES if kind_letter(d) in "fc"]
LINEAR = [r.name for r in TABLE.values() if r.transpose and r.kind not in TESTED_ELSEWHERE]
# What a wrong rule ends in.
WRONGS = (AssertionError, InternalError, NotImplementedError, TypeError, ValueError)
pytestmark = pytest.mark.filterwarnings(
    "ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning"
)


# --------------------------------------------------------------------------- primitive by primitive


@pytest.mark.parametrize("mode", CHECKS)
@pytest.mark.parametrize("name", NAMES)
def test_rules_of_every_primitive(name, mode):
    for dtype in tried(dtypes_of(TABLE[name]), mode):
        check(TABLE[name], dtype, mode)


def tried(dtypes, mode):
    """Those of the ordinary tier: derivatives of derivatives of one dtype."""
    few = [d for d in dtypes if d in TRIED_DTYPES and (mode == "vmap" or d not in HALVES)]
    if THOROUGH or not few:
        return dtypes
    return [d for d in few if d == np.float64] or few if mode == "second order" else few


@pytest.mark.parametrize("name", NAMES)
def test_primitives_without_a_rule_by_nature_say_why(name):
    primitive = TABLE[name]
    if primitive.kind in TESTED_ELSEWHERE or "f" not in primitive.dtypes:
        return
    (operands, params), *_ = cases(primitive, np.dtype("f8"), seeded())
    for k, x in enumerate(operands):
        if kind_letter(x.dtype) in "fc" and refusal(primitive, k):
            moving = tuple(j == k for j in range(len(operands)))
            bundle = Bundle([Trial(primitive, tuple(operands), params, moving)])
            with pytest.raises(NotImplementedError, match=re.escape(refusal(primitive, k))):
                jvp(bundle.closed, bundle.active)


@thorough
def test_the_summary_counts_every_primitive_and_dtype_and_mode():
    *lines, last = summary().splitlines()
    total, tried = map(int, re.findall(r"[0-9]+", last))
    assert lines[0] == f"{len(TABLE)} primitives"
    assert total == len(MODES) * sum(len(dtypes_of(primitive)) for primitive in TABLE.values())
    assert tried > total / 3


# --------------------------------------------------------------------------- where JAX has settled


NAN = np.nan
# The primitive, the operand, the parameter, and the Jacobian that JAX gives.
SETTLED = [
    ("reduce_max", [1, 3, 3, 0], (0,), [0, 0.5, 0.5, 0]),
    ("reduce_min", [2, 2, 5, 2], (0,), [1 / 3, 1 / 3, 0, 1 / 3]),
    ("reduce_max", [1, NAN, 2], (0,), [NAN, NAN, NAN]),
    ("reduce_prod", [0, 2, 3], (0,), [6, 0, 0]),
    ("reduce_prod", [0, 0, 3], (0,), [0, 0, 0]),
    ("cummax", [1, 1, 1], 0, [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]),
    ("cummin", [2, 2, 1], 0, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]),
    ("cummax", [0, NAN, 1], 0, [[1, 0, 0], [0, 0, 0], [0, 0, 0]]),
    ("cumprod", [0, 2, 3], 0, [[1, 0, 0], [2, 0, 0], [6, 0, 0]]),
    ("cumprod", [2, 0, 3], 0, [[1, 0, 0], [0, 2, 0], [0, 6, 0]]),
]


def jacobian(primitive, x, params):
    """By the tangents of the unit vectors, and by the cotangents of those of the result."""
    bundle = Bundle([Trial(primitive, (x,), params, (True,))])
    pushed, _ = jvp(bundle.closed, [True])
    columns = [pushed(x, unit)[1] for unit in np.eye(len(x))]
    _, residuals, back, _ = reversed_graph(bundle.closed, [x], [True])
    shape = columns[0].shape
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    rows = [back(*residuals, unit)[0] for unit in units]
    return np.stack(columns, -1), np.stack(rows).reshape(*shape, len(x))


@pytest.mark.parametrize(("name", "x", "axis", "expected"), SETTLED)
def test_derivatives_at_ties_zeros_and_nan_are_those_of_jax(name, x, axis, expected):
    params = {"axes": axis} if isinstance(axis, tuple) else {"axis": axis, "reverse": False}
    for found in jacobian(TABLE[name], np.array(x, np.float64), params):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    if "reverse" in params:
        params["reverse"] = True
        for found in jacobian(TABLE[name], np.array(x[::-1], np.float64), params):
            np.testing.assert_allclose(found, np.array(expected)[::-1, ::-1], rtol=1e-15)


@pytest.mark.parametrize("name", ["reduce_prod", "cumprod"])
def test_second_derivatives_of_products_are_right_at_zeros(name):
    """Of x0 x1 x2 x3 by xj and xk: the product of the two others."""
    x = np.array([0.0, 2.0, 0.0, 3.0])
    params = {"axes": (0,)} if name == "reduce_prod" else {"axis": 0, "reverse": False}
    bundle = Bundle([Trial(TABLE[name], (x,), params, (True,))])
    first, _ = jvp(bundle.closed, [True])
    second, _ = jvp(first, [True, False])
    eye = np.eye(4)
    found = [[second(x, u, v)[-1].flat[-1] for u in eye] for v in eye]
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[2, 0] = 2.0 * 3.0
    np.testing.assert_array_equal(found, expected)


# -------------------------------------------------------------------------- wrong rules are found


def _by(rule):
    return ByOperand(rule if isinstance(rule, tuple) else (rule,))


def _unmoved(name):
    """A batching rule that forgets that there is a new axis in front."""
    return lambda axis, batched, *operands, **params: (apply(name, *operands, **params), True)


def _doubled(name):
    """A transpose that is twice too large."""
    rule = TABLE[name].transpose
    return lambda ct, *operands, **params: rule(ct + ct, *operands, **params)


def _swapped(name):
    """A transpose that gives the first operand's cotangent to the second."""
    rule = TABLE[name].transpose
    return lambda ct, *operands, **params: rule(ct, *operands, **params)[::-1]


WRONG = [
    ("sin", "jvp", _by(lambda t, out, x: -t * np.cos(x)), "jvp"),
    ("sin", "jvp", _by(lambda t, out, x: t * np.cos(x) * 1.001), "jvp"),
    ("sin", "jvp", _by(flat), "jvp"),
    ("sin", "jvp", None, "jvp"),
    ("floor", "jvp", _by(lambda t, out, x: t), "jvp"),
    ("exp", "jvp", _by(lambda t, out, x: t * apply("stop_gradient", out)), "second order"),
    ("multiply", "jvp", _by((lambda t, out, x, y: t * y, lambda t, out, x, y: t)), "jvp"),
    ("multiply", "jvp", _by((lambda t, out, x, y: t * y, flat)), "jvp"),
    ("multiply", "transpose", lambda ct, x, y: [ct, None], "transpose"),
    ("subtract", "transpose", lambda ct, x, y: [ct, ct], "transpose"),
    ("negative", "transpose", lambda ct, x: [ct], "transpose"),
    ("imag", "transpose", lambda ct, x: [apply("complex", 0 * ct, ct)], "transpose"),
    ("conjugate", "transpose", lambda ct, x: [ct], "transpose"),
    ("copy", "transpose", None, "transpose"),
    ("dot_general", "jvp", lambda ts, _, x, y, **p: apply("dot_general", x, ts[1], **p), "jvp"),
    ("dot_general", "batch", _unmoved("dot_general"), "vmap"),
    ("reduce_sum", "batch", _unmoved("reduce_sum"), "vmap"),
    ("argmax", "batch", _unmoved("argmax"), "vmap"),
    ("argmax", "batch", None, "vmap"),
    ("rev", "batch", _unmoved("rev"), "vmap"),
    ("pad", "batch", _unmoved("pad"), "vmap"),
    ("cumsum", "batch", _unmoved("cumsum"), "vmap"),
    ("cumsum", "jvp", _by(lambda t, out, x, *, axis, reverse: t), "jvp"),
    (
        "cumsum",
        "transpose",
        lambda ct, x, *, axis, reverse: [apply("cumsum", ct, axis=axis, reverse=reverse)],
        "transpose",
    ),
    ("transpose", "transpose", lambda ct, x, *, permutation: [ct], "transpose"),
    ("rev", "transpose", lambda ct, x, *, dimensions: [ct], "transpose"),
    ("reduce_prod", "jvp", _by(lambda t, out, x, *, axes: None), "jvp"),
    ("reduce_max", "jvp", TABLE["reduce_sum"].jvp, "jvp"),
    ("cummax", "jvp", TABLE["cummin"].jvp, "jvp"),
    ("select", "transpose", _swapped("select"), "transpose"),
    ("concatenate", "transpose", _swapped("concatenate"), "transpose"),
    *((name, "transpose", _doubled(name), "transpose") for name in LINEAR),
]


@pytest.mark.parametrize(("name", "column", "rule", "mode"), WRONG)
def test_a_wrong_rule_is_found(name, column, rule, mode):
    primitive = TABLE[name]
    right = getattr(primitive, column)
    object.__setattr__(primitive, column, rule)
    try:
        with pytest.raises(WRONGS):
            for dtype in dtypes_of(primitive):
                check(primitive, dtype, mode)
    finally:
        object.__setattr__(primitive, column, right)


# --------------------------------------------------------------------------------------- as C


def program_of(parts, name):
    """One graph of closed graphs side by side, and its arguments."""
    values = [x for _, arrays in parts for x in arrays]

    def everything(*tracers):
        rest = iter(tracers)
        results = [
            result for closed, arrays in parts for result in closed(*(next(rest) for _ in arrays))
        ]
        return results, None

    types = [ArrayType(x.shape, x.dtype) for x in values]
    names = [f"x{k}" for k in range(len(values))]
    graph, _ = trace_function(everything, types, names, name=name)
    return graph, values


def jvp_part(primitive, dtype):
    """The derivative of all operands together, and its arguments."""
    derivatives = Derivatives(fullest(derivative_trials(primitive, dtype)))
    return derivatives.jvp, [*derivatives.bundle.values, *derivatives.tangents]


def vjp_part(primitive, dtype):
    """The results and the cotangents of all operands together, and the arguments of that."""
    bundle = Bundle(fullest(derivative_trials(primitive, dtype)))
    linear, _, back, _ = reversed_graph(bundle.closed, bundle.values, bundle.active)
    moved = linear.linear.outputs
    random = seeded()
    cotangents = [direction(np.zeros(v.type.shape, v.type.dtype), random) for v in moved]

    def both(*arguments):
        count = len(bundle.values)
        results, residuals = linear.split(linear.forward(*arguments[:count]))
        return [*results, *back(*residuals, *arguments[count:])]

    return both, [*bundle.values, *cotangents]


def vmap_part(primitive, dtype):
    """The batch of the first operand alone."""
    trials = batching_trials(primitive, dtype)
    chosen = thinned([t for t in trials if t.moving[0] and sum(t.moving) == 1])
    random = seeded()
    values = [x for t in chosen for x in examples(t, random) if isinstance(x, np.ndarray)]
    bundle = Bundle(chosen)
    return batch(bundle.closed, Axis(BATCH), bundle.active)[0], values


def fullest(trials):
    """The trials in which all operands move that can."""
    most = {}
    for trial in trials:
        most[tuple(map(id, trial.operands))] = trial
    return thinned(list(most.values()))


def thinned(trials):
    """Fewer trials, since many sizes try the loops rather than the rules: those of elementwise
    primitives on arrays alone, and every few of the primitives that become many equations."""
    some = _thinned(trials)
    return some if THOROUGH else some[:: len(some) // FEW + 1]


def _thinned(trials):
    match trials[0].primitive.kind:
        case "elementwise":
            return [t for t in trials if all(x.shape for x in t.operands)]
        case "scan":
            return trials[::7]
        case "reduce" | "convolve":
            return trials[::3]
        case "window":
            return trials[::4]
    return trials


PARTS = {"jvp": jvp_part, "transpose": vjp_part, "vmap": vmap_part}


FEW = 8  # trials of a primitive and a mode
# The equations of a rule are those that `test_primitives` compiles for all dtypes: one float dtype
# will do here; the thorough tier takes all.
INTEGERS = [np.dtype(name) for name in ("int32", *(("bool", "uint64") if THOROUGH else ()))]
IN_C = [d for d in FLOATS if THOROUGH or SHORT_NAMES[d] == "f32"]
JOBS = [(d, m) for d in IN_C for m in PARTS] + [(d, "vmap") for d in INTEGERS]


def primitives_program(dtype, mode):
    """One program of a mode for all primitives of a dtype."""
    parts = [
        PARTS[mode](primitive, dtype)
        for primitive in TABLE.values()
        if dtype in dtypes_of(primitive) and not why_none(primitive, dtype, mode)
    ]
    return program_of(parts, f"rules_{mode}_{SHORT_NAMES[dtype]}")


@pytest.fixture(scope="module")
def programs(shared_cache):
    """The results of every program, compiled and interpreted."""
    graphs = {job: primitives_program(*job) for job in JOBS}

    def run(job):
        graph, values = graphs[job]
        return Lowering(graph, QUICK).build()(values), interpret(graph, values)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(JOBS, pool.map(run, JOBS), strict=True))


@pytest.mark.parametrize(("dtype", "mode"), JOBS, ids=[f"{SHORT_NAMES[d]}-{m}" for d, m in JOBS])
def test_rules_in_c_equal_the_interpreter(programs, dtype, mode):
    got, want = programs[dtype, mode]
    assert len(got) == len(want) > 50
    for number, (x, y) in enumerate(zip(got, want, strict=True)):
        what = f"result {number} of {mode} for {dtype}"
        assert (x.dtype, x.shape) == (y.dtype, y.shape), what
        if kind_letter(y.dtype) in "fc":
            x, y = np.asarray(x), np.asarray(y)
            finite = np.isfinite(y)  # not a NaN for no element, nor an integer beyond a float16
            others = [v[~finite].astype(complex) for v in (x, y)]
            np.testing.assert_array_equal(*others, what)
            assert_near(x[finite], y[finite], 64 * float(finfo(y.dtype).eps), what)
        else:
            np.testing.assert_array_equal(x, y, what)
