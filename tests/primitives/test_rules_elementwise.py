"""Derivatives of elementwise primitives: JAX's numbers at the awkward points, finite differences
and adjoints elsewhere.
"""

import numpy as np
import pytest
from awkward_points import AWKWARD, BASES, INF, NAN, POWERS
from primitive_programs import accepted, drawn
from thorough import one_in

import transpile
from transpile.ir.graph_rewrite import live_equations
from transpile.ir.primitive import TABLE, NoRule
from transpile.ir.types import ArrayType
from transpile.passes.cse import eliminate_common_subexpressions
from transpile.passes.simplify import simplify
from transpile.trace.trace import bind, trace_nested
from transpile.transforms.closed import Closed
from transpile.transforms.jvp import jvp
from transpile.transforms.linearize import linearize
from transpile.transforms.transpose import transpose


def names(graph):
    """The primitives of a graph, in order."""
    return [e.primitive.name for e in graph.equations]


def closed_of(function, operands):
    """A function of arrays like these, as a closed graph."""
    types = [ArrayType(np.shape(v), np.asarray(v).dtype) for v in operands]
    graph, _, _ = trace_nested(
        lambda *tracers: ([function(*tracers)], None), types, list("xyz")[: len(types)], name="f"
    )
    return Closed(graph)


def forward(function, point, position, order):
    """The derivative in one operand, by forward mode on forward mode."""
    closed, values = closed_of(function, point), list(point)
    one = np.ones((), np.asarray(point[position]).dtype)
    for _ in range(order):
        closed, flags = jvp(closed, [k == position for k in range(len(closed.inputs))])
        if not flags[-1]:
            return np.zeros_like(one)
        values.append(one)
    return closed(*values)[-1]


def pulled(function, operands, active, cotangent):
    """The map of tangents at a point, or None if it is flat, and the cotangents of the operands."""
    linearized = linearize(closed_of(function, operands), active)
    if not linearized.active[0]:
        return None, [np.zeros_like(v) for v, a in zip(operands, active, strict=True) if a]
    results, residuals = linearized.split(linearized.forward(*operands))
    backward, flags = transpose(
        Closed(linearized.linear), [False] * len(residuals) + [True] * sum(active), [True]
    )
    arrived = iter(backward(*residuals, np.asarray(cotangent, results[0].dtype)))
    moving = [v for v, a in zip(operands, active, strict=True) if a]
    cotangents = [
        next(arrived) if f else np.zeros_like(v) for v, f in zip(moving, flags, strict=True)
    ]
    return lambda *tangents: Closed(linearized.linear)(*residuals, *tangents)[0], cotangents


def same(got, want):
    """Equal to rounding, real and imaginary parts by themselves; a lone NaN is NaN + NaN i."""
    got = np.asarray(got)
    want = complex(NAN, NAN) if got.dtype.kind == "c" and want is NAN else want
    parts = [(got.real, np.real(want)), (got.imag, np.imag(want))]
    return all(np.isclose(g, w, rtol=1e-13, atol=1e-14, equal_nan=True) for g, w in parts)


def primitive(name):
    """The primitive as a function of its operands."""
    return lambda *operands: bind(TABLE[name], *operands)


CASES = [(name, *case) for name, cases in AWKWARD.items() for case in cases]


@pytest.mark.parametrize(("name", "point", "first", "second"), CASES)
def test_derivatives_at_an_awkward_point(name, point, first, second):
    point = [np.asarray(v) for v in point]
    for position, (once, twice) in enumerate(zip(first, second, strict=True)):
        assert same(forward(primitive(name), point, position, 1), once)
        assert same(forward(primitive(name), point, position, 2), twice)


# Of a function that is not holomorphic, what a cotangent 1 becomes is no derivative along 1.
BACKWARDS = [c for c in CASES if not (c[0] == "absolute" and isinstance(c[1][0], complex))]


@pytest.mark.parametrize(("name", "point", "first", "second"), BACKWARDS)
def test_backwards_an_awkward_point_gives_the_same_numbers(name, point, first, second):
    point = [np.asarray(v) for v in point]
    for position, once in enumerate(first):
        active = [k == position for k in range(len(point))]
        _, (found,) = pulled(primitive(name), point, active, 1)
        assert same(found, once)


@pytest.mark.parametrize(("exponent", "x", "first", "second"), POWERS)
def test_derivatives_of_a_constant_power(exponent, x, first, second):
    point = [np.asarray(x)]
    assert same(forward(lambda x: x**exponent, point, 0, 1), first)
    assert same(forward(lambda x: x**exponent, point, 0, 2), second)


@pytest.mark.parametrize(("base", "y", "first", "second"), BASES)
def test_derivatives_of_a_power_of_a_constant(base, y, first, second):
    assert same(forward(lambda y: base**y, [np.asarray(y)], 0, 1), first)
    assert same(forward(lambda y: base**y, [np.asarray(y)], 0, 2), second)


def test_powers_of_a_constant_array_are_flat_where_the_exponent_is_zero():
    exponents = np.array([0.0, 1.0, 2.0, -1.0])
    closed, _ = jvp(closed_of(lambda x: x**exponents, [np.zeros(4)]), [True])
    found = closed(np.zeros(4), np.ones(4))[1]
    np.testing.assert_array_equal(found, [0, 1, 0, -INF])


@pytest.mark.parametrize(
    ("exponent", "primitives"),
    [
        (0, []),
        (1, []),
        (2, ["multiply", "multiply"]),
        (3, ["square", "multiply", "multiply"]),
        (0.5, ["sqrt", "divide", "multiply"]),
        (1.5, ["sqrt", "multiply", "multiply"]),
        (-1, ["reciprocal", "square", "negative", "multiply"]),
        (-1.5, ["power", "multiply", "multiply"]),
    ],
)
def test_the_derivative_of_a_constant_power_takes_one_power_at_most(exponent, primitives):
    linearized = linearize(closed_of(lambda x: x**exponent, [np.ones(3)]), [True])
    graph, residuals = linearized.forward.graph, linearized.forward.graph.outputs[1:]
    read = [e.primitive.name for e in live_equations(graph.equations, residuals)]
    assert read + names(linearized.linear) == primitives


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "sqrt", "cbrt", "tanh", "tan"])
def test_the_result_gives_the_derivative_without_a_second_elementary_function(name):
    closed, _ = jvp(closed_of(primitive(name), [np.ones(3)]), [True])
    assert [e.primitive.name for e in closed.graph.equations if e.primitive.transcendental] == [
        name
    ]


# ------------------------------------------------- every primitive, every dtype, at ordinary points

WIDE = {"b": np.bool_, "i": np.int64, "f": np.longdouble, "c": np.clongdouble}
# Away from where a difference crosses a step, or from the ends of a domain.
DOMAINS = {
    **dict.fromkeys(("remainder", "fmod", "floor_divide"), (0.5, 8)),
    **dict.fromkeys(("arcsin", "arccos"), (-0.9, 0.9)),
    "arccosh": (1.1, 1e6),
    "tanh": (-5, 5),
}
COUNT = 40


def primitives_of(dtype):
    """The elementwise primitives that take a dtype and give floats."""
    for candidate in TABLE.values():
        if candidate.kind == "elementwise" and accepted(candidate, dtype):
            operands = [ArrayType((), dtype)] * candidate.arity
            special = candidate.name in ("select", "ldexp", "convert_element_type")
            if special or candidate.result_types(operands, {})[0].dtype.kind in "fc":
                yield candidate


def rules_of(candidate):
    """The rules of the operands, or of all together."""
    return getattr(candidate.jvp, "rules", (candidate.jvp,))


def refuses(rule):
    return rule is None or isinstance(rule, NoRule)


def trials(dtype):
    """(name, operands, params) for each of them that has a derivative."""
    random = np.random.default_rng(11)
    for candidate in primitives_of(dtype):
        domain = DOMAINS.get(candidate.name, candidate.domain)
        x, y = (drawn(dtype, COUNT, random, domain) for _ in range(2))
        if candidate.name == "select":
            yield candidate.name, (x > y, x, y), {}
        elif candidate.name == "ldexp":
            yield candidate.name, (x, random.integers(-9, 9, COUNT)), {}
        elif candidate.name == "convert_element_type":
            for target in ("f4", "f8", "c8", "c16"):
                yield candidate.name, (x,), {"dtype": np.dtype(target)}
        elif candidate.arity <= 2 and not any(map(refuses, rules_of(candidate))):
            yield candidate.name, (x, y)[: candidate.arity], {}


TRIALS = [
    pytest.param(name, operands, params, id=f"{name}{params or ''}-{dtype}")
    for dtype in ("f4", "f8", "c8", "c16")
    for name, operands, params in trials(np.dtype(dtype))
]


def tangent_like(x, random):
    """A tangent for a float operand: complex ones in every direction."""
    if x.dtype.kind == "c":
        return (random.uniform(1, 2, x.shape) + 1j * random.uniform(-1, 1, x.shape)).astype(x.dtype)
    return random.uniform(1, 2, x.shape).astype(x.dtype)


def difference(name, operands, tangents, params):
    """The central difference in long doubles, and how far rounding may carry it."""
    numpy = TABLE[name].numpy
    if "dtype" in params:
        params = {"dtype": np.dtype(WIDE[params["dtype"].kind])}
    wide = [v.astype(WIDE[v.dtype.kind]) for v in operands]
    unit = np.finfo(np.longdouble).eps
    sizes = [np.minimum(np.abs(v), 1) for v, t in zip(wide, tangents, strict=True) if t is not None]
    step = np.cbrt(unit) * np.minimum.reduce(sizes)
    ends = [
        numpy(
            *[v if t is None else v + s * t for v, t in zip(wide, tangents, strict=True)], **params
        )
        for s in (step, -step)
    ]
    return (ends[0] - ends[1]) / (2 * step), 10 * unit * np.abs(ends[0]) / step


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("name", "operands", "params"), TRIALS)
@one_in(3)
def test_a_tangent_is_a_difference_and_its_transpose_the_adjoint(name, operands, params):
    random = np.random.default_rng(len(name))
    active = [v.dtype.kind in "fc" for v in operands]
    tangents = [
        tangent_like(v, random) if a else None for v, a in zip(operands, active, strict=True)
    ]
    moved = [t for t in tangents if t is not None]
    with np.errstate(all="ignore"):
        want, slack = difference(name, operands, tangents, params)
        value = TABLE[name].numpy(*operands, **params)
    cotangent = tangent_like(np.asarray(value), random)
    linear, found = pulled(lambda *v: bind(TABLE[name], *v, **params), operands, active, cotangent)
    if linear is None:
        assert (want == 0).all() or name == "stop_gradient"
        return
    got = linear(*moved)
    eps = np.finfo(min((v.dtype for v in (*moved, value)), key=lambda d: np.finfo(d).bits)).eps
    limit = slack + (1000 * eps + 1e-9) * np.abs(want) + 10 * eps
    assert (np.abs(got - want) <= limit).all(), np.max(np.abs(got - want) / limit)
    products = [c * t for c, t in zip(found, moved, strict=True)]
    size = sum(np.abs(p).sum() for p in products)
    adjoint = sum(p.sum().real for p in products)
    assert abs((cotangent * got).sum().real - adjoint) <= 100 * eps * size


# As in JAX, where derivatives of derivatives in a parameter have no derivative.
# `opaque` is made by the schedule, which has no derivatives.
WITHOUT = {"nextafter", "igamma_grad_a", "random_gamma_grad", "opaque"}


def test_only_few_primitives_have_no_derivative():
    primitives = {r for dtype in ("f4", "f8", "c8", "c16") for r in primitives_of(np.dtype(dtype))}
    assert {r.name for r in primitives if refuses(r.jvp)} <= WITHOUT


def test_nextafter_refuses_and_says_why():
    with pytest.raises(NotImplementedError, match="nextafter steps from one floating-point"):
        jvp(closed_of(np.nextafter, [np.ones(2), np.ones(2)]), [True, False])


# ------------------------------------------------------------------------------ identity primitives


def test_stop_gradient_cuts_the_tangent_and_disappears():
    f = closed_of(lambda x: x * bind(TABLE["stop_gradient"], x), [np.ones(())])
    assert names(simplify(f.graph)) == ["multiply"]
    assert forward(lambda x: x * bind(TABLE["stop_gradient"], x), [np.asarray(3.0)], 0, 1) == 3
    assert forward(lambda x: x * bind(TABLE["stop_gradient"], x), [np.asarray(3.0)], 0, 2) == 0


def test_a_name_is_seen_by_its_equation_alone():
    def f(x):
        return np.sin(bind(TABLE["name"], x, name="height"))

    closed = closed_of(f, [np.ones(())])
    assert closed.graph.equations[0].params == {"name": "height"}
    assert names(simplify(closed.graph)) == ["sin"]
    derivative, _ = jvp(closed, [True])
    assert names(derivative.graph).count("name") == 1


def test_what_stands_behind_a_barrier_is_computed_again():
    def f(x):
        return np.sin(x) + np.sin(bind(TABLE["optimization_barrier"], x))

    x = np.linspace(0, 1, 5)
    graph = eliminate_common_subexpressions(simplify(closed_of(f, [x]).graph))
    assert names(graph).count("sin") == 2
    np.testing.assert_array_equal(transpile.jit(f)(x), 2 * np.sin(x))
    np.testing.assert_allclose(transpile.jit(f)(x), 2 * np.sin(x), rtol=1e-15)


def test_a_barrier_stands_in_the_tangent_and_in_the_cotangent_too():
    f = primitive("optimization_barrier")
    linearized = linearize(closed_of(f, [np.ones(2)]), [True])
    assert names(linearized.linear) == ["optimization_barrier"]
    backward, _ = transpose(Closed(linearized.linear), [True], [True])
    assert names(backward.graph) == ["optimization_barrier"]
    assert forward(f, [np.asarray(2.0)], 0, 1) == 1
