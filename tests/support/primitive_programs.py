"""Programs that hold every primitive of the table, many primitives to a program, and the values to
try them on.

Each program takes the operands of one dtype; `elementwise_program` and `array_program` give it as a
`Batch`: the graph, its arguments, and for each of its results the primitive and the name of the
case.
"""

from __future__ import annotations

import numpy as np
from thorough import THOROUGH, each
from window_cases import window_cases

from transpile.ir.graph import Const, Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import DTYPES, HALVES, SHORT_NAMES, ArrayType, finfo, kind_letter
from transpile.machine import USUAL

# Dtypes of each kind, and of each size in the arithmetic of C; the others repeat what is tried with
# them. A case in four is left to each, so that they have all cases (`rule_cases.cases`).
FEW_DTYPES = ("bool", "u8", "i32", "f16", "f32", "f64", "c128")
TRIED_DTYPES = tuple(d for d in DTYPES if THOROUGH or SHORT_NAMES[d] in FEW_DTYPES)
NAMES = tuple(SHORT_NAMES[d] for d in DTYPES)
# At -O0, as tests of values are; the optimiser has its own, and the thorough tier.
BY_FEW_DTYPES = each("name", NAMES, FEW_DTYPES)
# Calls have no C of their own; routines have test_primitives_decompositions.py, loops and branches
# test_control_flow.py, callbacks test_callbacks.py and test_debug.py, checks test_checkify.py, and
# what is of lengths that depend on values test_lengths_of_values.py.
# Of their rules see `rule_cases.why_none`.
TESTED_ELSEWHERE = (
    "call",
    "callback",
    "check",
    "collective",
    "communicate",
    "control",
    "length",
    "requirement",
    "routine",
)
DRAWN = 200
NON_NEGATIVE = {"power"}  # NumPy refuses negative exponents of integers


class Batch:
    """A graph in the making, with one result a case."""

    def __init__(self, name):
        self.name = name
        self.inputs = []
        self.values = []
        self.equations = []
        self.cases = []
        self.arguments = {}

    def input(self, value, name):
        """The Var of an argument; the same name gives the same one."""
        if name not in self.arguments:
            value = np.array(value, order="C")
            self.arguments[name] = Var(ArrayType(value.shape, value.dtype), name)
            self.inputs.append(self.arguments[name])
            self.values.append(value)
        return self.arguments[name]

    def value(self, var):
        """The value of an argument or of a constant."""
        if isinstance(var, Const):
            return var.value
        return self.values[self.inputs.index(var)]

    def apply(self, name, *atoms, **params):
        """An equation; its result."""
        primitive = TABLE[name]
        (result,) = primitive.result_types([a.type for a in atoms], params)
        output = Var(result)
        self.equations.append(Equation(primitive, atoms, params, (output,)))
        return output

    def case(self, name, *atoms, **params):
        """An equation whose result is compared with NumPy's."""
        self.keep(self.apply(name, *atoms, **params))

    def keep(self, var):
        """Make a case of a value that an equation has given."""
        (equation,) = (e for e in self.equations if e.output is var)
        self.cases.append((equation.primitive.name, equation.inputs, equation.params, var))

    def graph(self):
        """The checked graph of all cases."""
        outputs = tuple(output for *_, output in self.cases)
        graph = Graph(tuple(self.inputs), tuple(self.equations), outputs, self.name)
        graph.check()
        return graph


# ----------------------------------------------------------------------------------------- values


def edges(dtype):
    """The values at which things go wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, bits = np.iinfo(dtype), 8 * dtype.itemsize
        some = {0, 1, 2, 3, 7, bits - 1, bits, bits + 1, info.max - 1, info.max, info.max // 2 + 1}
        if dtype.kind == "i":
            some |= {-1, -2, -3, -7, -bits, info.min, info.min + 1, info.min // 2}
        return np.array(sorted(some), dtype)
    if kind_letter(dtype) == "f":
        info = finfo(dtype)
        some = [0, 1, 2, 3, 0.5, 1.5, 2.5, 1e-3, 127.5, 255, 256, 40000, 2.0**31, 2.0**32]
        some += [2.0**53 + 2, 2.0**63, 2.0**64, info.max, info.tiny, info.smallest_subnormal]
        some += [info.tiny / 3, info.eps, 1 - info.epsneg, np.inf, np.nan]
        with np.errstate(over="ignore"):
            positive = np.array(some, np.float64).astype(dtype)
        return np.concatenate([positive, -positive[:-1]])
    kind = np.dtype(f"f{dtype.itemsize // 2}")
    info = np.finfo(kind)
    some = [0, -0.0, 1, -2.5, 1e-3, 300, info.max, info.tiny, -info.smallest_subnormal]
    part = np.array([*some, np.inf, -np.inf, np.nan], kind)
    return _complex(np.repeat(part, len(part)), np.tile(part, len(part)))


def _complex(x, y):
    result = np.empty(x.shape, f"c{2 * x.dtype.itemsize}")
    result.real, result.imag = x, y
    return result


def drawn(dtype, count, random, domain=None):
    """Ordinary values, from everywhere in the domain."""
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        shifts = random.integers(0, 8 * dtype.itemsize, count)
        whole = random.integers(info.min, info.max, count, dtype, endpoint=True)
        return whole >> shifts.astype(dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return _complex(drawn(part, count, random, domain), drawn(part, count, random, domain))
    if domain is None:
        size = 2.0 ** random.uniform(-12, 12, count)
        return (size * random.choice([-1, 1], count)).astype(dtype)
    low, high = domain
    high = min(high, float(finfo(dtype).max))
    if low > 0 and high / low > 100:
        return (low * (high / low) ** random.random(count)).astype(dtype)
    return random.uniform(low, high, count).astype(dtype)


def pairs(dtype, random):
    """Two arrays: every edge with every edge, and drawn values."""
    some = edges(dtype)
    if dtype.kind == "c":
        chosen = random.permutation(len(some))
        first, second = (
            np.concatenate([some, some, some]),
            np.concatenate([some, some[chosen], np.roll(some, 1)]),
        )
    else:
        first, second = np.repeat(some, len(some)), np.tile(some, len(some))
    return (
        np.concatenate([first, drawn(dtype, DRAWN, random)]),
        np.concatenate([second, drawn(dtype, DRAWN, random)]),
    )


# --------------------------------------------------------------------------------------- programs


# Rows of one dtype of their kind.
WORDS = {"threefry_2x32": "uint64", "threefry_2x32_folded": "uint64"}
# Samples of keys: tests/random/test_random_gamma.py has their tests.
SAMPLES = ("random_gamma", "random_loggamma")


def accepted(primitive, dtype):
    """True if a primitive takes operands of a dtype."""
    if primitive.name == "float_from_bits" and dtype.itemsize == 1:
        return False  # there are no floats of 8 bits
    if dtype in HALVES and (primitive.name == "complex" or primitive.kind == "fft"):
        return False  # there are no complex numbers of them
    if primitive.name in SAMPLES:
        return False
    if primitive.name in WORDS:
        return dtype.name == WORDS[primitive.name]
    return kind_letter(dtype) in primitive.dtypes


def seeded(name):
    """Draws that are always the same for a name."""
    return np.random.default_rng(list(name.encode()))


def elementwise_program(dtype):
    """Every elementwise primitive that takes this dtype, on pairs of edge values and on drawn
    ones. What a primitive is tried on does not depend on which others there are."""
    random = np.random.default_rng(7)
    batch = Batch(f"primitives_{SHORT_NAMES[dtype]}")
    x, y = (batch.input(v, n) for v, n in zip(pairs(dtype, random), "xy", strict=True))
    count = x.type.shape[0]
    for primitive in TABLE.values():
        if primitive.kind != "elementwise" or not accepted(primitive, dtype):
            continue
        if primitive.name == "convert_element_type":
            for target in DTYPES:
                batch.case(primitive.name, x, dtype=target)
        elif primitive.name == "select":
            test = batch.input(drawn(np.dtype(bool), count, random), "test")
            batch.case(primitive.name, test, x, y)
        elif primitive.name == "ldexp":
            if kind_letter(dtype) == "f":
                for kind in ("int32", "int64"):
                    shifts = random.integers(-60, 60, count).astype(kind)
                    shifts[:8] = [0, 1, -1, 2000, -2000, np.iinfo(kind).min, np.iinfo(kind).max, 3]
                    batch.case(primitive.name, x, batch.input(shifts, f"shift_{kind}"))
        elif primitive.name == "float_from_bits":
            for target in DTYPES:
                if kind_letter(target) == "f" and target.itemsize == dtype.itemsize:
                    batch.case(primitive.name, x, dtype=target)
        elif primitive.name in NON_NEGATIVE and dtype.kind in "iu":
            exponents = np.where(batch.value(y) < 0, 3, batch.value(y)).astype(dtype)
            batch.case(primitive.name, x, batch.input(exponents, "exponent"))
        elif primitive.arity > 2:
            own = seeded(primitive.name)
            for known in (edges(dtype), drawn(dtype, count, own, primitive.domain)):
                drawn_ones = [own.choice(known, count) for _ in range(primitive.arity)]
                names = [f"{primitive.name}_{len(known)}_{k}" for k in range(primitive.arity)]
                batch.case(primitive.name, *map(batch.input, drawn_ones, names))
        else:
            batch.case(primitive.name, *(x, y)[: primitive.arity])
            if primitive.domain is not None:
                names = [f"{n}_{'_'.join(map(str, primitive.domain))}" for n in "xy"]
                inside = [
                    batch.input(drawn(dtype, count, seeded(name), primitive.domain), name)
                    for name in names[: primitive.arity]
                ]
                batch.case(primitive.name, *inside)
    return batch


BROADCASTS = [
    ((3,), (2, 3), (1,)),
    ((1, 3), (4, 3), (0, 1)),
    ((), (2, 2), ()),
    ((3, 1), (2, 3, 4), (1, 2)),
    ((0,), (2, 0), (1,)),
    ((4, 3), (4, 5, 3), (0, 2)),
]
STRETCHES = [
    ((1, 3), (4, 3)),
    ((4, 1), (4, 0)),
    ((2, 1, 4), (2, 3, 4)),
    ((1,), (1,)),
    ((4, 3), (4, 3)),
]
RESHAPES = [
    ((4, 3), (12,)),
    ((4, 3), (2, 6)),
    ((4, 3), (2, 2, 3)),
    ((2, 3, 4), (4, 6)),
    ((1, 4, 1, 3), (4, 3)),
    ((), (1, 1)),
    ((0, 3), (3, 0, 2)),
]
PERMUTATIONS = [(1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
SLICES = [
    ((7,), (0,), (7,), (2,)),
    ((7,), (3,), (3,), (1,)),
    ((4, 3), (1, 0), (4, 2), (1, 1)),
    ((2, 3, 4), (1, 0, 1), (2, 3, 4), (1, 2, 3)),
    ((0, 3), (0, 1), (0, 3), (1, 1)),
]
REVERSALS = [((7,), (0,)), ((4, 3), (0,)), ((4, 3), (0, 1)), ((2, 3, 4), (0, 2)), ((0, 3), (0,))]
JOINS = [
    ([(3,), (4,)], 0),
    ([(2, 3), (1, 3), (4, 3)], 0),
    ([(4, 3), (4, 0), (4, 2)], 1),
    ([(2, 3, 4), (2, 1, 4)], 1),
    ([(0,), (0,)], 0),
]
PADDINGS = [
    ((7,), ((2, 3, 0),)),
    ((7,), ((-2, 1, 0),)),
    ((7,), ((0, 0, 2),)),
    ((7,), ((1, -3, 1),)),
    ((4, 3), ((1, 1, 0), (0, 2, 1))),
    ((4, 3), ((0, 0, 0), (-1, -1, 0))),
    ((0,), ((2, 1, 0),)),
    ((1, 3), ((0, 0, 3), (2, 0, 0))),
]
REDUCTIONS = [
    ((), ()),
    ((7,), (0,)),
    ((2, 3, 4), (0,)),
    ((2, 3, 4), (1,)),
    ((2, 3, 4), (2,)),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (0, 1, 2)),
    ((4, 1, 3), (1,)),
    ((5, 40), (0,)),
    ((40, 5), (1,)),
    ((300, 20), (0,)),
    ((20, 300), (1,)),
    ((300, 3), (0,)),
    ((20000,), (0,)),
]
EMPTY_REDUCTIONS = [((0,), (0,)), ((0, 3), (0,)), ((3, 0), (1,)), ((0, 3), (1,))]
SORTS = [
    ((7,), 0),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((4, 3), 1),
    ((1, 3), 0),
    ((0, 3), 0),
    ((90,), 0),
]
POSITIONS = [((7,), 0), ((2, 3, 4), 1), ((4, 3), 0), ((4, 3), 1), ((1, 3), 0), ((3000,), 0)]
SCANS = [
    ((7,), 0),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), 2),
    ((1, 3), 0),
    ((0,), 0),
    ((300,), 0),
]
# Shapes, the axes that are indexed, and for each an array of indices: some below 0, some too large,
# some repeated.
INDEXED = [
    ((7,), (0,), [[3, -1, 9, 3, 0]]),
    ((7,), (0,), [2]),
    ((4, 3), (0,), [[[2, 0, 2], [-7, 3, 4]]]),
    ((4, 3), (1,), [[0, 2, 2, 5]]),
    ((4, 3), (0, 1), [[3, 0, 3, 8], [1, -2, 1, 1]]),
    ((2, 3, 4), (0, 2), [[1, 0, 1], [3, 3, 3]]),
    ((2, 3, 4), (1,), [[[2], [0]]]),
    ((2, 3, 4), (2, 0), [[0, 3], [1, 5]]),
    ((2, 3, 4), (0, 1, 2), [1, 7, -1]),
    ((4, 3), (0,), [[]]),
    ((0, 3), (1,), [[0, 2]]),
    ((300, 3), (0,), [[299, 0, 17, 17, -5, 300]]),
]
# Kinds, shapes, lengths and axes of Fourier transforms, of complex and of real numbers.
TRANSFORMS = {
    "c": [
        ("fft", (5,), (5,), (0,)),
        ("ifft", (6, 8), (6,), (0,)),
        ("fft", (2, 3, 10), (2, 10), (0, 2)),
        ("ifft", (3, 6), (3, 6), (0, 1)),
        ("irfft", (6,), (10,), (0,)),
        ("irfft", (3, 6), (11,), (1,)),
        ("irfft", (2, 3, 3), (4,), (1,)),
        ("fft", (0, 3), (3,), (1,)),
        ("ifft", (2, 107), (107,), (1,)),
    ],
    "f": [
        ("fft", (3, 5), (5,), (1,)),
        ("ifft", (6, 2), (6,), (0,)),
        ("rfft", (10,), (10,), (0,)),
        ("rfft", (3, 9), (9,), (1,)),
        ("rfft", (2, 8, 3), (8,), (1,)),
        ("rfft", (1, 3), (1,), (0,)),
        ("rfft", (107,), (107,), (0,)),
    ],
}
STARTS = [
    ((7,), (3,), [2]),
    ((7,), (3,), [6]),
    ((7,), (7,), [4]),
    ((7,), (0,), [1]),
    ((4, 3), (2, 3), [1, 0]),
    ((4, 3), (1, 2), [-5, 1]),
    ((2, 3, 4), (1, 3, 2), [1, 9, 2]),
    ((300, 3), (1, 3), [298, 0]),
    ((), (), []),
    ((0, 3), (0, 2), [0, 1]),
]
COMBINED = {
    "b": ["set", "minimum", "maximum", "logical_or", "logical_and"],
    "": ["set", "add", "multiply", "minimum", "maximum"],
}
PRODUCTS = [
    ((4, 5), (5, 3), (((1,), (0,)), ((), ()))),
    ((4, 3), (4, 3), (((0, 1), (0, 1)), ((), ()))),
    ((3,), (4,), (((), ()), ((), ()))),
    ((2, 3, 5), (2, 5, 4), (((2,), (1,)), ((0,), (0,)))),
    ((2, 3, 4), (4, 3, 5), (((1, 2), (1, 0)), ((), ()))),
    ((7, 4), (2, 7), (((0,), (1,)), ((), ()))),
    ((3, 0), (0, 2), (((1,), (0,)), ((), ()))),
    ((17, 33), (33, 19), (((1,), (0,)), ((), ()))),
    ((3, 16, 16), (3, 16, 16), (((1,), (2,)), ((0,), (0,)))),
]


def array_program(dtype):
    """Every primitive that is not elementwise and takes this dtype, on several shapes and
    parameters."""
    random = np.random.default_rng(11)
    batch = Batch(f"arrays_{SHORT_NAMES[dtype]}")

    def operand(shape, name="x"):
        return batch.input(
            small(dtype, shape, random), "_".join([name, *map(str, shape)]) if shape else name
        )

    for shape, target, dimensions in BROADCASTS:
        batch.case(
            "broadcast_in_dim", operand(shape), shape=target, broadcast_dimensions=dimensions
        )
    for shape, target in RESHAPES:
        x = operand(shape)
        batch.case("reshape", x, shape=target)
        batch.case("resized", x, shape=shape)
    for shape, target in STRETCHES:
        batch.case("stretched", operand(shape), shape=target)
    for permutation in PERMUTATIONS:
        x = operand((4, 3) if len(permutation) == 2 else (2, 3, 4))
        batch.case("transpose", x, permutation=permutation)
    for shape, start, limit, strides in SLICES:
        batch.case("slice", operand(shape), start=start, limit=limit, strides=strides)
    for shape, dimensions in REVERSALS:
        batch.case("rev", operand(shape), dimensions=dimensions)
        batch.case("resized", operand(shape), shape=shape)
    for shapes, dimension in JOINS:
        parts = [operand(shape, f"part{k}") for k, shape in enumerate(shapes)]
        batch.case("concatenate", *parts, dimension=dimension)
    for shape, padding in PADDINGS:
        batch.case("pad", operand(shape), operand((), "fill"), padding=padding)
    for shape, dimension in [((7,), 0), ((2, 3, 4), 1), ((0,), 0)]:
        if dtype.kind != "b":
            batch.case("iota", shape=shape, dimension=dimension, dtype=dtype)
    for primitive in TABLE.values():
        if primitive.kind == "reduce" and accepted(primitive, dtype):
            has_identity = primitive.combine not in ("maximum", "minimum")
            for shape, over in REDUCTIONS + (EMPTY_REDUCTIONS if has_identity else []):
                batch.case(primitive.name, operand(shape), axes=over)
        elif primitive.kind == "composite":
            for shape, axis in POSITIONS:
                batch.case(primitive.name, operand(shape), axis=axis)
        elif primitive.kind == "scan" and accepted(primitive, dtype):
            for number, (shape, axis) in enumerate(SCANS):
                batch.case(primitive.name, operand(shape), axis=axis, reverse=number % 2 == 1)
    if dtype.kind == "b":
        for shape in ((1,), (7,), (2, 3, 40), (3, 700)):
            for value in (0, 1):
                batch.case("first_of", operand(shape), value=value)
    for shape, axis in SORTS:
        x, y = operand(shape), operand(shape, "other")
        batch.case("sort", x, axis=axis)
        if shape[axis]:
            ranks = tuple(sorted({0, shape[axis] // 2}))
            batch.case("order_statistics", x, axis=axis, ranks=ranks)
            if shape[axis] <= USUAL.shortest_selection:  # in longer rows the order is not said
                batch.case("partition", x, axis=axis, ranks=ranks)
                batch.case("argpartition", x, axis=axis, ranks=ranks)
        batch.case("argsort", x, axis=axis)
        batch.case("argsort", y, x, axis=axis)
    for left, right, numbers in PRODUCTS:
        batch.case(
            "dot_general", operand(left, "left"), operand(right, "right"), dimension_numbers=numbers
        )
    if accepted(TABLE["fft"], dtype):
        for kind, shape, lengths, over in TRANSFORMS[dtype.kind]:
            params = {"fft_type": kind, "fft_lengths": lengths, "axes": over, "scale": 0.5}
            batch.case("fft", operand(shape), **params)
    for primitive in TABLE.values():
        if (primitive.kind in ("window", "convolve") or primitive.name == "windows") and accepted(
            primitive, dtype
        ):
            every = window_cases(primitive, large=True)
            if dtype.name not in ("int32", "float32", "float64", "complex128"):
                every = every[::4]
            for shapes, params in every:
                parts = [operand(s, f"part{k}") for k, s in enumerate(shapes)]
                if (
                    primitive.kind == "convolve"
                ):  # gaps are left out, which are zero but for 0 * NaN
                    plain = (small(dtype, s, random) for s in shapes)
                    finite = [np.where(x == x, x, 1).astype(dtype) for x in plain]
                    names = ["_".join(["finite", *map(str, s)]) for s in shapes]
                    parts = list(map(batch.input, finite, names))
                batch.case(primitive.name, *parts, **params)
    indexing_cases(batch, dtype, operand)
    return batch


def index_arrays(shape, axes, indices, mode):
    """The arrays of a case of INDEXED; those of the mode `promise` keep what it promises."""
    arrays = [np.array(i, np.int64) for i in indices]
    if mode == "promise":
        arrays = [np.clip(i, 0, shape[a] - 1) for a, i in zip(axes, arrays, strict=True)]
    return arrays


def taken_shape(shape, axes, indices):
    """The shape of what these arrays of indices take."""
    return np.shape(indices[0]) + tuple(d for a, d in enumerate(shape) if a not in axes)


def indexing_cases(batch, dtype, operand):
    """The primitives that index by values: every mode and every way to combine."""
    for number, (shape, axes, given) in enumerate(INDEXED):
        for mode in ("clip", "fill", "promise"):
            arrays = index_arrays(shape, axes, given, mode)
            indices = [batch.input(v, f"at_{number}_{mode[0]}_{k}") for k, v in enumerate(arrays)]
            x = operand(shape)
            batch.case("gather", x, *indices, axes=axes, mode=mode)
            updates = operand(taken_shape(shape, axes, given), "updates")
            for combine in COMBINED.get(dtype.kind, COMBINED[""]):
                params = {"axes": axes, "mode": mode, "combine": combine, "unique": False}
                batch.case("scatter", x, updates, *indices, **params)
    x = operand((0, 3))
    nowhere = batch.input(np.zeros(2, np.int64), "nowhere")
    batch.case("gather", x, nowhere, axes=(0,), mode="clip")
    for number, (shape, sizes, given) in enumerate(STARTS):
        for known in (False, True):
            starts = [
                Const(np.int64(s)) if known else batch.input(np.int64(s), f"start_{number}_{k}")
                for k, s in enumerate(given)
            ]
            batch.case("dynamic_slice", operand(shape), *starts, sizes=sizes)
            update = operand(sizes, "update")
            batch.case("dynamic_update_slice", operand(shape), update, *starts)


def small(dtype, shape, random):
    """Values whose sums and products are well conditioned; a NaN in some columns of floats."""
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return random.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
    values = random.uniform(0.9, 1.1, shape)
    if dtype.kind == "c":
        values = values * np.exp(0.3j * random.random(shape))
    elif shape and shape[-1] in (4, 7):
        values.flat[2::24] = np.nan
    return np.asarray(values).astype(dtype)
