"""What the rules of the primitives are tried on: for each primitive and dtype, operands and
parameters.

A `Trial` is one equation with its operands, some of which move (have tangents, or are batched); all
trials of a primitive and a dtype make one graph, a `Bundle`. Run as a program, this file prints how
many primitives x dtypes x modes `test_rules` tries, and which have no rule by nature, and why.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from primitive_programs import (
    BROADCASTS,
    COMBINED,
    EMPTY_REDUCTIONS,
    INDEXED,
    JOINS,
    PADDINGS,
    PERMUTATIONS,
    POSITIONS,
    PRODUCTS,
    REDUCTIONS,
    RESHAPES,
    REVERSALS,
    SCANS,
    SLICES,
    SORTS,
    STARTS,
    STRETCHES,
    TRANSFORMS,
    accepted,
    drawn,
    index_arrays,
    small,
    taken_shape,
)
from thorough import THOROUGH
from window_cases import window_cases

from transpile import numpy as jnp
from transpile.ir.graph import Const, Equation, Graph, Var
from transpile.ir.primitive import TABLE, NoRule
from transpile.ir.types import DTYPES, ArrayType, kind_letter
from transpile.primitives.rules import ByOperand
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp

assert jnp.sin is np.sin  # importing it registers the traced functions, which the rules use

MODES = ("jvp", "transpose", "second order", "vmap")
BATCH = 6  # a size that no operand has
POINTS = 5  # the elements of an elementwise operand
# Rows whose derivative is not that of their values: the factor between them.
BY_DEFINITION = {"stop_gradient": 0}
# Rows whose first operand is a whole number.
WHOLE_ORDERS = ("polygamma", "expn")
LARGEST = 200  # more elements test loops, not rules


@dataclass(frozen=True, eq=False)
class Trial:
    """An equation; `moving` marks operands that have tangents or are batched. An operand that is
    a NumPy scalar is a constant in the graph."""

    primitive: object
    operands: tuple
    params: dict
    moving: tuple

    def __str__(self):
        shapes = ", ".join(
            f"{'~' if m else ''}{x.dtype}{list(x.shape) if isinstance(x, np.ndarray) else ''}"
            for x, m in zip(self.operands, self.moving, strict=True)
        )
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        return f"{self.primitive.name}({shapes}) {params}".rstrip()

    def moved(self, tangents, step):
        """The operands after a step along the tangents, which moving operands have."""
        return [
            x if t is None else x + step * t for x, t in zip(self.operands, tangents, strict=True)
        ]


class Bundle:
    """Many trials as one graph: each has its own inputs, and one result."""

    def __init__(self, trials):
        self.trials = list(trials)
        self.values, self.active, self.positions = [], [], []
        inputs, equations = [], []
        for trial in self.trials:
            atoms, positions = [], []
            for x, moves in zip(trial.operands, trial.moving, strict=True):
                if isinstance(x, np.generic):
                    atoms.append(Const(x))
                    positions.append(None)
                    continue
                positions.append(len(inputs))
                atoms.append(Var(ArrayType(x.shape, x.dtype), f"x{len(inputs)}"))
                inputs.append(atoms[-1])
                self.values.append(x)
                self.active.append(moves)
            self.positions.append(positions)
            types = trial.primitive.result_types([a.type for a in atoms], trial.params)
            outputs = tuple(map(Var, types))
            equations.append(Equation(trial.primitive, tuple(atoms), trial.params, outputs))
        outputs = tuple(e.output for e in equations)
        self.graph = Graph(tuple(inputs), tuple(equations), outputs, "trials")
        self.graph.check()
        self.closed = Closed(self.graph)

    def of_operands(self, number, arrays):
        """Of arrays for all inputs, those of a trial's operands that move; None for the others."""
        return [
            arrays[p] if p is not None and self.active[p] else None for p in self.positions[number]
        ]


# --------------------------------------------------------------------------------------- operands


def is_calm(parts):
    """Where no primitive has a kink or a jump near: not at integers and halves, powers of two,
    equal operands, and whole quotients."""
    good = np.ones(np.broadcast_shapes(*(p.shape for p in parts)), bool)
    for p in parts:
        good &= np.abs(2 * p - np.round(2 * p)) > 0.15
        good &= np.abs(np.log2(np.abs(p)) - np.round(np.log2(np.abs(p)))) > 0.05
    for p, q in itertools.permutations(parts, 2):
        good &= (np.abs(p - q) > 0.1) & (np.abs(p + q) > 0.1)
        good &= np.abs(p / q - np.round(p / q)) > 0.08
    return good


def calm(primitive, dtype, count, number, random, fixed=()):
    """`number` operands of `count` elements each, inside the primitive's domain and away from
    kinks, also in the company of the `fixed` parts."""
    low, high = primitive.domain or (-2.4, 2.4)
    low, high = max(low, -2.4), min(high, 2.4)
    each = 2 if kind_letter(dtype) == "c" else 1
    candidates = random.uniform(low, high, (number * each, 4000))
    good = is_calm([*candidates, *(np.full(4000, f) for f in fixed)])
    chosen = candidates[:, good][:, :count]
    assert chosen.shape[1] == count, f"the domain of {primitive.name} has too few calm points"
    if each == 2:
        chosen = chosen[0::2] + 1j * chosen[1::2]
    return [c.astype(dtype) for c in chosen]


def elementwise_operands(primitive, dtype, shape, random):
    """Operands of one shape for an elementwise primitive."""
    count = int(np.prod(shape))
    if primitive.name == "select":
        test = (np.arange(count) % 2 == 0) ^ (random.random() < 0.5)
        return [test.reshape(shape), *_plain(primitive, dtype, shape, 2, random)]
    if primitive.name == "ldexp":
        shift = random.integers(-3, 4, shape).astype("int32")
        return [*_plain(primitive, dtype, shape, 1, random), shift]
    operands = _plain(primitive, dtype, shape, primitive.arity, random)
    if primitive.name == "power" and kind_letter(dtype) in "iu":
        operands[1] = np.abs(operands[1]) % dtype.type(5)
    if primitive.name in WHOLE_ORDERS:
        operands[0] = random.integers(2, 4, shape).astype(dtype)
    return operands


def _plain(primitive, dtype, shape, number, random):
    count = int(np.prod(shape))
    if kind_letter(dtype) in "fc":
        found = calm(primitive, dtype, count, number, random)
    else:
        found = [drawn(dtype, count, random) for _ in range(number)]
    return [np.array(x).reshape(shape) for x in found]


def grid(dtype, shape, random):
    """Distinct, well separated values, one of them zero."""
    if kind_letter(dtype) not in "fc":
        return np.asarray(small(dtype, shape, random))
    count = int(np.prod(shape))
    values = random.permutation(np.arange(count) - count // 4) * (3 / max(1, count))
    if count < 3:
        values = values + 0.7
    if kind_letter(dtype) == "c":
        values = values + 1j * (values != 0) * random.permutation(np.linspace(-1.1, 1.3, count))
    return np.asarray(values.reshape(shape)).astype(dtype)


# ------------------------------------------------------------------------------------------ cases


def array_cases(primitive, dtype):
    """(shapes of the operands, parameters) for a primitive that is not elementwise."""
    match primitive.name:
        case "broadcast_in_dim":
            found = [
                ([s], {"shape": target, "broadcast_dimensions": d}) for s, target, d in BROADCASTS
            ]
            found.append(([(1, 3)], {"shape": (0, 3), "broadcast_dimensions": (0, 1)}))
        case "reshape":
            found = [([s], {"shape": target}) for s, target in RESHAPES]
        case "transpose":
            found = [([(4, 3, 2)[: len(p)]], {"permutation": p}) for p in PERMUTATIONS]
        case "slice":
            more = [((7,), (3,), (3,), (2,)), ((7,), (1,), (6,), (3,))]
            found = [
                ([s], {"start": a, "limit": b, "strides": c}) for s, a, b, c in [*SLICES, *more]
            ]
        case "resized":
            found = [([s], {"shape": s}) for s, _ in REVERSALS]
        case "stretched":
            found = [([s], {"shape": t}) for s, t in STRETCHES]
        case "rev":
            found = [([s], {"dimensions": d}) for s, d in REVERSALS]
        case "resized":  # of known sizes: as it is
            found = [([s], {"shape": s}) for s, _ in RESHAPES]
        case "concatenate":
            found = [(list(shapes), {"dimension": d}) for shapes, d in JOINS]
        case "pad":
            more = [((4, 3), ((-1, 2, 2), (1, -2, 1))), ((7,), ((-3, -2, 1),)), ((), ())]
            found = [([s, ()], {"padding": p}) for s, p in [*PADDINGS, *more]]
        case "fft":
            found = [
                ([s], {"fft_type": kind, "fft_lengths": lengths, "axes": over, "scale": 0.5})
                for kind, s, lengths, over in TRANSFORMS[dtype.kind]
            ]
        case "sort" | "argsort":
            found = [([s], {"axis": axis}) for s, axis in SORTS]
            if primitive.name == "argsort":
                found += [([s, s], {"axis": axis}) for s, axis in SORTS]
        case "order_statistics" | "partition" | "argpartition":
            axes = [(s, axis) for s, axis in SORTS if s[axis]]
            found = [([s], {"axis": axis, "ranks": _ranks(s[axis])}) for s, axis in axes]
        case "iota":
            found = [([], {"shape": (4, 3), "dimension": 0, "dtype": dtype})]
        case "dot_general":
            more = [
                ((2, 3, 4, 5), (5, 3, 2), (((3, 0), (0, 2)), ((1,), (1,)))),
                ((3, 2, 4), (2, 5, 3), (((), ()), ((1, 0), (0, 2)))),
                ((2, 3, 4, 2), (4, 2, 3, 2), (((1, 2), (2, 0)), ((3,), (3,)))),
                ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
            ]
            found = [([x, y], {"dimension_numbers": n}) for x, y, n in [*PRODUCTS, *more]]
        case _ if primitive.kind in ("window", "convolve") or primitive.name == "windows":
            found = window_cases(primitive)
        case _:
            found = _cases_of_kind(primitive)
    return [c for c in found if all(np.prod(s) <= LARGEST for s in c[0])]


def _cases_of_kind(primitive):
    match primitive.kind:
        case "reduce":
            has_identity = primitive.combine not in ("maximum", "minimum")
            shapes = REDUCTIONS + (EMPTY_REDUCTIONS if has_identity else EMPTY_REDUCTIONS[2:3])
            return [([s], {"axes": axes}) for s, axes in shapes if 0 not in s or has_identity]
        case "composite":
            return [([s], {"axis": axis}) for s, axis in POSITIONS]
        case "search":
            return [([s], {"value": value}) for s, _ in POSITIONS if s[-1] for value in (0, 1)]
        case "scan":
            shapes = [*SCANS, ((5, 2), 0), ((13,), 0), ((2,), 0)]
            return [
                ([s], {"axis": axis, "reverse": reverse})
                for s, axis in shapes
                for reverse in (False, True)
            ]
    raise AssertionError(f"array_cases knows no operands of {primitive.name}: give it some")


def indexing_cases(primitive, dtype, random):
    """(operands, parameters) of a primitive that indexes by values."""
    if primitive.name in ("dynamic_slice", "dynamic_update_slice"):
        for (shape, sizes, given), known in itertools.product(STARTS, (False, True)):
            starts = [np.int64(s) if known else np.array(s) for s in given]
            x, update = grid(dtype, shape, random), grid(dtype, sizes, random)
            if primitive.name == "dynamic_slice":
                yield [x, *starts], {"sizes": sizes}
            else:
                yield [x, update, *starts], {}
        return
    for (shape, axes, given), mode in itertools.product(INDEXED, ("clip", "fill", "promise")):
        indices = index_arrays(shape, axes, given, mode)
        params = {"axes": axes, "mode": mode}
        x = grid(dtype, shape, random)
        if primitive.name == "gather":
            yield [x, *indices], params
            continue
        updates = grid(dtype, taken_shape(shape, axes, given), random)
        if kind_letter(dtype) in "fc":  # nowhere as large as an element of x
            updates = (updates + dtype.type(0.013)).astype(dtype)
        every = COMBINED.get(dtype.kind, COMBINED[""])
        for combine in every if mode == "clip" else every[:2]:
            if combine == "multiply":  # of positions that differ
                indices = [np.unique(i)[:1] if i.ndim else i for i in indices]
                updates = updates[tuple(slice(0, 1) for _ in range(np.ndim(given[0])))]
                updates = updates.reshape(taken_shape(shape, axes, indices))
            unique = combine == "multiply"
            yield [x, updates, *indices], {**params, "combine": combine, "unique": unique}


MOST_CASES = 48
INDEXING = ("gather", "scatter", "dynamic_slice", "dynamic_update_slice")


def _ranks(n):
    """Some ranks of a row."""
    return tuple(sorted({0, n // 2, n - 1}))


def cases(primitive, dtype, random):
    """(operands, parameters) of a primitive: arrays, and constants beside arrays.

    Where there are very many, as of scatters, a dtype has every fourth, and the dtypes next to it
    the others.
    """
    every = list(_cases(primitive, dtype, random))
    if THOROUGH or len(every) <= MOST_CASES:
        return every
    return every[DTYPES.index(dtype) % 4 :: 4]


def _cases(primitive, dtype, random):
    if primitive.name in INDEXING:
        for operands, params in indexing_cases(primitive, dtype, random):
            if all(x.size <= LARGEST for x in operands):
                yield operands, params
        return
    if primitive.kind != "elementwise":
        for shapes, params in array_cases(primitive, dtype):
            yield [grid(dtype, s, random) for s in shapes], params
        return
    targets = DTYPES if primitive.name == "convert_element_type" else [None]
    if primitive.name == "float_from_bits":
        targets = [d for d in DTYPES if d.itemsize == dtype.itemsize and kind_letter(d) == "f"]
    for target in targets:
        params = {} if target is None else {"dtype": target}
        for shape in ((POINTS,), ()):
            operands = elementwise_operands(primitive, dtype, shape, random)
            if target is not None and target.kind == "u":
                operands = [np.abs(operands[0].real).astype(dtype)]
            yield operands, params
        operands = elementwise_operands(primitive, dtype, (POINTS,), random)
        for k, x in enumerate(operands if len(operands) > 1 else []):
            yield _beside_constant(primitive, dtype, operands, k, x[0], random), params


def _beside_constant(primitive, dtype, operands, k, value, random):
    """The operands, of which the k-th is a constant without axes."""
    others = list(operands)
    plain = [i for i, x in enumerate(operands) if x.dtype == dtype]
    if kind_letter(dtype) in "fc" and k in plain and len(plain) == 2:
        (other,) = (i for i in plain if i != k)
        parts = (value.real, value.imag) if kind_letter(dtype) == "c" else (value,)
        if primitive.name not in WHOLE_ORDERS:
            (others[other],) = calm(primitive, dtype, POINTS, 1, random, parts)
    others[k] = value
    return others


def has_tangent(x):
    """True if an operand, which is no constant, can move a little."""
    return isinstance(x, np.ndarray) and kind_letter(x.dtype) in "fc"


def derivative_trials(primitive, dtype):
    """Each operand moves alone, and all together; but for those whose rule is a NoRule."""
    random = np.random.default_rng(17)
    trials = []
    for operands, params in cases(primitive, dtype, random):
        types = [ArrayType(np.shape(x), x.dtype) for x in operands]
        if kind_letter(primitive.result_types(types, params)[0].dtype) not in "fc":
            continue
        if (
            params.get("mode") == "fill"
            and not np.isfinite(primitive.numpy(*operands, **params)).all()
        ):
            continue
        movable = [
            k for k, x in enumerate(operands) if has_tangent(x) and not refusal(primitive, k)
        ]
        subsets = [(k,) for k in movable] + ([tuple(movable)] if len(movable) > 1 else [])
        for subset in subsets:
            moving = tuple(k in subset for k in range(len(operands)))
            trials.append(Trial(primitive, tuple(operands), params, moving))
    return trials


def batching_trials(primitive, dtype):
    """Every non-empty subset of the operands is batched."""
    random = np.random.default_rng(19)
    trials = []
    for operands, params in cases(primitive, dtype, random):
        free = [k for k, x in enumerate(operands) if isinstance(x, np.ndarray)]
        few = primitive.name in INDEXING and len(free) > 3  # starts and indices are all alike
        for size in (1, 2, len(free)) if few else range(1, len(free) + 1):
            for subset in itertools.combinations(free, size):
                moving = tuple(k in subset for k in range(len(operands)))
                trials.append(Trial(primitive, tuple(operands), params, moving))
    return trials


def examples(trial, random):
    """The operands, those that are batched with examples along a new axis in front: the values of
    the operand in other orders."""
    found = []
    for k, (x, batched) in enumerate(zip(trial.operands, trial.moving, strict=True)):
        if batched and x.shape == () and k == 0 and trial.primitive.name in WHOLE_ORDERS:
            x = (np.arange(BATCH) % 2 + 2).astype(x.dtype)
        elif batched and trial.primitive.kind == "elementwise" and x.shape == ():
            x = np.stack([x, *_others(x, random)])
        elif batched:
            x = np.stack([random.permutation(x.ravel()).reshape(x.shape) for _ in range(BATCH)])
        found.append(x)
    return found


def _others(x, random):
    """Further values near that of an operand without axes."""
    if x.dtype == bool:
        return list(random.random(BATCH - 1) < 0.5)
    factors = range(2, BATCH + 1)
    if kind_letter(x.dtype) in "iu":
        return [x // x.dtype.type(k) for k in factors]
    return [x * (1 - x.dtype.type(k / 64)) for k in factors]


# --------------------------------------------------------------------------------- what has a rule


def refusal(primitive, k):
    """Why an operand has no derivative, by its rule; or nothing."""
    rule = primitive.jvp
    if isinstance(rule, ByOperand):
        rule = rule.rules[k]
    return rule.reason if isinstance(rule, NoRule) else ""


def is_flat(primitive, dtype):
    """True if by the primitive's rule no operand of this dtype changes anything."""
    trials = derivative_trials(primitive, dtype)[
        :3
    ]  # of the first operands, one by one and together
    bundle = Bundle(trials)
    return (
        primitive.jvp is not None and bool(trials) and not any(jvp(bundle.closed, bundle.active)[1])
    )


def why_none(primitive, dtype, mode):
    """Why a primitive has no rule of a mode for a dtype, by its nature; or nothing: then it
    must."""
    if primitive.has_graphs:
        return "calls a graph, whose primitives have the rules: has tests of its own"
    if primitive.kind == "routine":
        return "is a library's, for matrices that have a decomposition: has tests of its own"
    if primitive.kind in ("collective", "communicate"):
        return "exchanges values along named axes: has tests of its own"
    if primitive.kind == "callback":
        return "calls a function of Python: test_callbacks and test_debug have its rules"
    if primitive.kind == "check":
        return "gives an error and no numbers: test_checkify has its rules"
    if primitive.kind in ("length", "requirement"):
        return "is of lengths that depend on values: test_lengths_of_values has its rules"
    if primitive.kind == "generate":
        return "has no operands"
    if mode == "vmap":
        return primitive.batch.reason if isinstance(primitive.batch, NoRule) else ""
    if kind_letter(dtype) not in "fc":
        return "integers and bools have no tangents"
    if not any(kind in "fc" for kind in _result_kinds(primitive, dtype)):
        return "the result is an integer or a bool"
    if isinstance(primitive.jvp, NoRule):
        return primitive.jvp.reason
    if mode == "second order" and primitive.name in ("igamma", "igammac"):
        return "derivatives in the parameter have none: test_special_functions has the others"
    if mode != "jvp" and is_flat(primitive, dtype):
        return "its derivative is zero, which the mode jvp tries"
    return ""


def _result_kinds(primitive, dtype):
    for operands, params in cases(primitive, dtype, np.random.default_rng(0)):
        types = [ArrayType(np.shape(x), x.dtype) for x in operands]
        yield kind_letter(primitive.result_types(types, params)[0].dtype)


def dtypes_of(primitive):
    """The dtypes of the operands that a primitive takes."""
    found = [d for d in DTYPES if accepted(primitive, d)]
    if primitive.name == "ldexp":  # its integers are the exponents
        found = [d for d in found if kind_letter(d) == "f"]
    if primitive.name == "iota":  # a count has no truth
        found = [d for d in found if d.kind != "b"]
    return found


def summary():
    """A table of how many primitives x dtypes x modes are tried, and why the others are not."""
    tried, reasons = Counter(), Counter()
    primitives_without = {}
    for primitive in TABLE.values():
        for dtype, mode in itertools.product(dtypes_of(primitive), MODES):
            reason = why_none(primitive, dtype, mode)
            if reason:
                reasons[reason, mode] += 1
                primitives_without.setdefault(reason, {})[primitive.name] = None
            else:
                tried[mode] += 1
    lines = [
        f"{len(TABLE)} primitives",
        _line("", MODES),
        _line("tried", [tried[m] for m in MODES]),
    ]
    for reason, names in primitives_without.items():
        lines.append(
            _line(_short(reason), [reasons[reason, m] for m in MODES]) + f"  {_list(names)}"
        )
    total = sum(tried.values()) + sum(reasons.values())
    lines.append(f"primitives x dtypes x modes: {total}, of them {sum(tried.values())} tried")
    return "\n".join(lines)


def _line(head, columns):
    return f"{head:62}" + "".join(f"{c:>14}" for c in columns)


def _short(reason):
    return re.sub(r"\s+", " ", reason)[:60]


def _list(names):
    return ", ".join(names) if len(names) <= 6 else f"{len(names)} primitives"


if __name__ == "__main__":
    print(summary())
