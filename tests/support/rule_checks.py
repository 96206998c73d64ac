"""How the rules of primitives are tried: `check(primitive, dtype, mode)` raises where one is wrong.

Derivatives are compared with finite differences of the primitive's NumPy meaning in a wider type,
transposes with the inner products that define them, batching with a loop over the examples.
"""

from dataclasses import replace

import numpy as np
from rule_cases import (
    BATCH,
    BY_DEFINITION,
    Bundle,
    batching_trials,
    derivative_trials,
    examples,
    why_none,
)

from transpile.ir.graph import Graph
from transpile.ir.primitive import Axis, NoRule
from transpile.ir.types import BFLOAT16, HALVES, finfo, kind_letter
from transpile.transforms.batch import batch
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp
from transpile.transforms.linearize import linearize
from transpile.transforms.transpose import transpose

WIDER = {"f4": "f8", "f8": "g", "c8": "c16", "c16": "G"}
DOUBLE = {"f": np.dtype("f8"), "c": np.dtype("c16")}
# Relative to the largest element: what finite differences leave, and what rounding in float32.
TOLERANCE = {1: 8e-2, 2: 1e-2, 4: 2e-4, 8: 1e-8}
SECOND_TOLERANCE = {1: 2e-1, 2: 3e-2, 4: 1e-3, 8: 1e-6}
STEP = 2e-4
STENCIL = ((1, 8), (-1, -8), (2, -1), (-2, 1))  # of the fourth order; the sum is divided by 12


def seeded():
    return np.random.default_rng(23)


def direction(x, random):
    """A tangent or cotangent like x: neither small nor large."""
    found = random.uniform(0.4, 1.2, x.shape) * random.choice([-1, 1], x.shape)
    if kind_letter(x.dtype) == "c":
        found = found + 1j * random.uniform(0.4, 1.2, x.shape)
    return np.asarray(found).astype(x.dtype)


def real_size(dtype):
    """The bytes of a real number, or of a part of a complex one; 1 for bfloat16, whose precision is
    that of no more."""
    if dtype == BFLOAT16:
        return 1
    return dtype.itemsize // (2 if kind_letter(dtype) == "c" else 1)


def widened(x):
    """A float or complex value, or the dtype of such, in a wider type; others as they are."""
    if isinstance(x, np.dtype):
        if x in HALVES:
            return np.dtype("f8")
        return np.dtype(WIDER[x.str[1:]]) if x.kind in "fc" else x
    return x.astype(widened(x.dtype))


def assert_near(got, want, tolerance, what):
    """Equal to a tolerance relative to the largest element, NaN nowhere."""
    assert (got.shape, kind_letter(got.dtype)) == (want.shape, kind_letter(want.dtype)), what
    assert np.all(np.isfinite(want)), f"{what}: the expected value is not finite: {want}"
    scale = max(1e-3, np.max(np.abs(want), initial=0))
    error = np.abs(got.astype(want.dtype) - want)
    assert np.all(error <= tolerance * scale), f"{what}: {got} is not {want}"


def pairing(cotangents, tangents):
    """The real part of the sum of products, and a size to compare it to."""
    terms = [
        (c.astype(widened(c.dtype)) * t).real
        for c, t in zip(cotangents, tangents, strict=True)
        if c is not None and t is not None
    ]
    return sum((np.sum(p) for p in terms), 0.0), sum((np.sum(np.abs(p)) for p in terms), 1e-3)


# -------------------------------------------------------------------------------------- the checks


def difference(function, step=STEP):
    """The derivative at 0 of a function of one number, by finite differences."""
    return sum(weight * function(k * step) for k, weight in STENCIL) / (12 * step)


def expected_tangent(trial, tangents):
    """By finite differences of the primitive's NumPy meaning in a wider type."""
    params = {k: widened(v) if isinstance(v, np.dtype) else v for k, v in trial.params.items()}
    wide = replace(trial, operands=tuple(map(widened, trial.operands)), params=params)
    directions = [None if t is None else widened(t) for t in tangents]

    def along(step):
        return np.asarray(trial.primitive.numpy(*wide.moved(directions, step), **params))

    return np.asarray(difference(along))


class Derivatives:
    """The derivatives of the trials of a primitive and a dtype, at their operands and along
    tangents."""

    def __init__(self, trials):
        self.bundle = bundle = Bundle(trials)
        random = seeded()
        drawn = [direction(x, random) if a else None for x, a in self._inputs()]
        self.tangents = [t for t in drawn if t is not None]
        self.by_trial = [bundle.of_operands(k, drawn) for k in range(len(bundle.trials))]
        self.jvp, self.moved = jvp(bundle.closed, bundle.active)
        self.jvp.graph.check()

    def _inputs(self):
        return zip(self.bundle.values, self.bundle.active, strict=True)

    def pushed(self):
        """For each trial its tangent, or None."""
        found = self.jvp(*self.bundle.values, *self.tangents)
        rest = iter(found[len(self.moved) :])
        return [next(rest) if m else None for m in self.moved]

    def tangent_graph(self):
        """The graph of the tangents alone, and the arguments at which it is taken."""
        graph = self.jvp.graph
        outputs = graph.outputs[len(self.moved) :]
        closed = Closed(Graph(graph.inputs, graph.equations, outputs, "tangents"))
        values = [*self.bundle.values, *self.tangents]
        return closed, values, [*self.bundle.active, *(True for _ in self.tangents)]


def check_jvp(primitive, dtype):
    """Tangents are finite differences, where there are none by the rule as well."""
    trials = derivative_trials(primitive, dtype)
    derivatives = Derivatives(trials)
    pushed = derivatives.pushed()
    for trial, tangents, got in zip(trials, derivatives.by_trial, pushed, strict=True):
        want = expected_tangent(trial, tangents)
        if primitive.name in BY_DEFINITION:
            want = BY_DEFINITION[primitive.name] * want
        got = np.zeros(want.shape, want.dtype) if got is None else got
        result = trial.primitive.numpy(*trial.operands, **trial.params).dtype
        size = min(real_size(dtype), real_size(result))
        assert_near(got, want, TOLERANCE[size], trial)
    return len(trials)


def reversed_graph(closed, values, active):
    """Linearize at values, then transpose: the results' tangent graph, its values there, and the
    graph from residuals and cotangents to the cotangents of the active inputs."""
    linear = linearize(closed, active)
    _, residuals = linear.split(linear.forward(*values))
    known, moving = [False] * len(residuals), [True] * sum(active)
    back, flags = transpose(Closed(linear.linear), known + moving, [True] * sum(linear.active))
    back.graph.check()
    return linear, residuals, back, flags


def pulled(closed, values, active, tangents):
    """The tangents and, for random cotangents, these and the cotangents of the active inputs."""
    linear, residuals, back, flags = reversed_graph(closed, values, active)
    moved = Closed(linear.linear)(*residuals, *tangents)
    random = seeded()
    cotangents = [direction(t, random) for t in moved]
    found = iter(back(*residuals, *cotangents))
    return linear.active, moved, cotangents, [next(found) if f else None for f in flags]


def check_adjoint(primitive, dtype):
    """Linearized and transposed is the adjoint of the jvp: <ct, J t> = <J' ct, t>."""
    trials = derivative_trials(primitive, dtype)
    derivatives = Derivatives(trials)
    bundle = derivatives.bundle
    flags, moved, cotangents, found = pulled(
        bundle.closed, bundle.values, bundle.active, derivatives.tangents
    )
    assert flags == derivatives.moved
    pushed = [t for t in derivatives.pushed() if t is not None]
    for got, want in zip(moved, pushed, strict=True):
        assert_near(got, want, TOLERANCE[real_size(got.dtype)] / 10, f"{primitive}: linearized")
    rest, active = iter(zip(pushed, cotangents, strict=True)), iter(found)
    everywhere = [next(active) if a else None for a in bundle.active]
    for number, trial in enumerate(trials):
        ends = bundle.of_operands(number, everywhere)
        if flags[number]:
            pushed_one, given = next(rest)
            assert_adjoint(trial, [given], [pushed_one], ends, derivatives.by_trial[number])
        else:
            assert all(c is None for c in ends), f"{trial}: no tangent, but a cotangent"
    return sum(flags) + len(check_transposed_alone(primitive, trials))


def assert_adjoint(what, cotangents, pushed, found, tangents):
    """The two inner products that are equal for a transpose."""
    left, size = pairing(cotangents, pushed)
    right, _ = pairing(found, tangents)
    sizes = [real_size(x.dtype) for x in [*cotangents, *tangents] if x is not None]
    limit = TOLERANCE[min(sizes)] * size
    assert np.abs(left - right) <= limit, f"{what}: <ct, J t> is {left}, <J' ct, t> is {right}"


def check_transposed_alone(primitive, trials):
    """The primitive's own transpose, in every set of operands in which it is linear."""
    plain = linear_patterns(trials)
    assert not plain or primitive.transpose is not None, (
        f"{primitive} is linear, but has no transpose"
    )
    if primitive.transpose is None or isinstance(primitive.transpose, NoRule):
        return []
    zeroed = [replace(trial, operands=tuple(without_others(trial))) for trial in trials]
    beside_zeros = linear_patterns(zeroed)
    chosen = [t for t in trials if pattern(t) in plain]
    chosen += [t for t in zeroed if pattern(t) in beside_zeros - plain]
    bundle = Bundle(chosen)
    random = seeded()
    tangents = [
        direction(x, random) if kind_letter(x.dtype) in "fc" else None for x in bundle.values
    ]
    back, flags = transpose(bundle.closed, bundle.active, [True] * len(chosen))
    fixed = [x for x, a in zip(bundle.values, bundle.active, strict=True) if not a]
    pushed = bundle.closed(
        *(t if a else x for t, x, a in zip(tangents, bundle.values, bundle.active, strict=True))
    )
    cotangents = [direction(y, random) for y in pushed]
    rest = iter(back(*fixed, *cotangents))
    found = iter([next(rest) if f else None for f in flags])
    everywhere = [next(found) if a else None for a in bundle.active]
    for number, trial in enumerate(chosen):
        ends, ways = (bundle.of_operands(number, v) for v in (everywhere, tangents))
        assert_adjoint(f"alone: {trial}", [cotangents[number]], [pushed[number]], ends, ways)
    return chosen


def linear_patterns(trials):
    """The sets of operands in which all these trials are linear; one without elements says
    nothing."""
    found = {}
    for trial in trials:
        linear = is_linear(trial)
        if linear is not None:
            found.setdefault(pattern(trial), []).append(linear)
    return {key for key, linear in found.items() if all(linear)}


def pattern(trial):
    """What decides whether a primitive is linear: the operands that move, and how it combines."""
    return trial.moving, trial.params.get("combine", "")


def without_others(trial):
    """The operands, those that do not move zero where they are numbers: the way in which a
    primitive that is linear in several operands at once appears in a linear graph."""
    for x, moves in zip(trial.operands, trial.moving, strict=True):
        yield x * x.dtype.type(0) if kind_letter(x.dtype) in "fc" and not moves else x


def is_linear(trial):
    """True if by its values the trial's primitive is linear in the operands that move; None where
    one of them has no elements, or there are no results but zeros."""
    if any(moves and x.size == 0 for x, moves in zip(trial.operands, trial.moving, strict=True)):
        return None
    random = seeded()

    def at(moving):
        operands = [x if m is None else m for x, m in zip(trial.operands, moving, strict=True)]
        return np.asarray(trial.primitive.numpy(*operands, **trial.params))

    ways = list(zip(trial.operands, trial.moving, strict=True))
    u, v = ([direction(x, random) if m else None for x, m in ways] for _ in range(2))
    both = [None if a is None else a + 2 * b for a, b in zip(u, v, strict=True)]
    zero = [None if a is None else np.zeros_like(a) for a in u]
    first, second, together = at(u), at(v), at(both)
    if not np.any(first):
        return None
    large = [at([None if a is None else f * a for a in u]) / f for f in (100, -100)]
    limit = 1e-5 * (np.abs(first) + np.abs(second))
    deviations = (together - first - 2 * second, *(scaled - first for scaled in large))
    return all(np.all(np.abs(d) <= limit) for d in deviations) and not np.any(at(zero))


def check_second(primitive, dtype):
    """The jvp of the jvp is its finite difference, and its transpose the adjoint of that."""
    trials = derivative_trials(primitive, dtype)
    derivatives = Derivatives(trials)
    closed, values, active = derivatives.tangent_graph()
    random = seeded()
    ways = [direction(x, random) if a else None for x, a in zip(values, active, strict=True)]
    tangents = [t for t in ways if t is not None]
    twice, flags = jvp(closed, active)
    rest = iter(twice(*values, *tangents)[len(flags) :])
    got = [next(rest) if f else None for f in flags]
    want = expected_second(trials, values, ways)
    named = [trial for trial, m in zip(trials, derivatives.moved, strict=True) if m]
    assert len(named) == len(want) == len(got)
    for trial, found, expected in zip(named, got, want, strict=True):
        found = np.zeros_like(expected) if found is None else found
        size = min(real_size(dtype), real_size(found.dtype))
        assert_near(found, expected, SECOND_TOLERANCE[size], trial)
    _check_reverse_over_forward(primitive, closed, values, active, tangents, got)
    return len(named)


def expected_second(trials, values, ways):
    """Finite differences, in double precision, of the graph of the tangents."""
    wide = [_in_double(trial) for trial in trials]
    closed, _, _ = Derivatives(wide).tangent_graph()

    def along(step):
        moved = [
            (x if t is None else _in_double_precision(x) + step * _in_double_precision(t))
            for x, t in zip(values, ways, strict=True)
        ]
        return np.array([*closed(*moved), None], object)[:-1]

    return [np.asarray(x) for x in difference(along)]


def _in_double_precision(x):
    return x.astype(DOUBLE[kind_letter(x.dtype)])


def _in_double(trial):
    def double(x):
        dtype = x if isinstance(x, np.dtype) else x.dtype
        kind = DOUBLE.get(kind_letter(dtype), dtype)
        return kind if isinstance(x, np.dtype) else x.astype(kind)

    params = {k: double(v) if isinstance(v, np.dtype) else v for k, v in trial.params.items()}
    return replace(trial, operands=tuple(map(double, trial.operands)), params=params)


def _check_reverse_over_forward(primitive, closed, values, active, tangents, pushed):
    flags, _, cotangents, found = pulled(closed, values, active, tangents)
    assert flags == [t is not None for t in pushed]
    if pushed_ones := [t for t in pushed if t is not None]:
        what = f"{primitive}: reverse over forward"
        assert_adjoint(what, cotangents, pushed_ones, found, tangents)


def is_exact(primitive, dtype):
    """True if examples together are rounded as they are one by one. NumPy adds up in another
    order, and has other instructions for the last elements of an array than for the first."""
    if kind_letter(dtype) in "biu" or primitive.combine in ("maximum", "minimum"):
        return True
    computes = primitive.transcendental or (kind_letter(dtype) == "c" and primitive.cost > 0)
    return primitive.kind not in ("reduce", "contract") and not computes


def check_vmap(primitive, dtype):
    """A batch is a loop over its examples, bit for bit where nothing is added up."""
    trials = batching_trials(primitive, dtype)
    bundle = Bundle(trials)
    random = seeded()
    together, values = [], []
    for trial in trials:
        together.append(examples(trial, random))
        values += [x for x in together[-1] if isinstance(x, np.ndarray)]
    batched, flags = batch(bundle.closed, Axis(BATCH), bundle.active)
    batched.graph.check()
    assert all(flags), f"{primitive}: a batch in gives a batch out"
    for trial, operands, got in zip(trials, together, batched(*values), strict=True):
        want = np.stack(
            [
                trial.primitive.numpy(
                    *(x[k] if m else x for x, m in zip(operands, trial.moving, strict=True)),
                    **trial.params,
                )
                for k in range(BATCH)
            ]
        )
        assert (got.dtype, got.shape) == (want.dtype, want.shape), trial
        if is_exact(primitive, dtype) or kind_letter(want.dtype) not in "fc":
            same = (got == want) | ((got != got) & (want != want))
            assert np.all(same), f"{trial}: {got} is not {want}"
        else:
            assert_near(got, want, 32 * float(finfo(want.dtype).eps), trial)
    return len(trials)


CHECKS = {
    "jvp": check_jvp,
    "transpose": check_adjoint,
    "second order": check_second,
    "vmap": check_vmap,
}


def check(primitive, dtype, mode):
    """Try a mode, if the primitive must have its rule; a rule that has nothing to try is a
    failure."""
    if why_none(primitive, dtype, mode):
        return
    with np.errstate(all="ignore"):
        assert CHECKS[mode](primitive, dtype), (
            f"nothing of {primitive} was tried for {dtype}: {mode}"
        )
