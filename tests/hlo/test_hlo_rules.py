"""Every primitive has a rule, or an expansion that has the meaning of the primitive; modules are
well formed."""

import functools

import numpy as np
import pytest
from hlo_errors import LOSES, gamma_samples, scale
from primitive_programs import FEW_DTYPES, NAMES, array_program, elementwise_program
from thorough import each, one_in

import transpile
from transpile.errors import UnsupportedError
from transpile.hlo.expand import expanded
from transpile.hlo.expansions import EXPANSIONS
from transpile.hlo.rules import rule_of
from transpile.hlo.traced import traced
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import SHORT_NAMES, as_dtype, finfo, kind_letter, type_of
from transpile.primitives.rules import apply
from transpile.transforms.interpret import interpret

# Kinds that are inlined, or expanded as they are for C, or made by passes for C alone.
INLINED = {"call", "communicate", "window", "search"}
# Which depend on values, or on runtime sizes.
OF_LENGTHS = {"compact", "measured", "require", "resized", "stretched"}


def test_every_primitive_has_a_rule_or_an_expansion():
    known = {n for n, p in TABLE.items() if rule_of(p) or n in EXPANSIONS}
    assert set(EXPANSIONS) <= set(TABLE)
    wanted = {n for n, p in TABLE.items() if p.kind not in INLINED}
    assert wanted - OF_LENGTHS <= known
    with pytest.raises(UnsupportedError, match=r"shapes of HLO are known, but u in .* depends"):
        transpile.xla_computation(lambda x: x[x > 0].sum())(np.ones(3))


@functools.cache
def cases(dtype):
    """[(primitive, graph of one equation, its operands)] of a dtype where it is expanded."""
    found = []
    for program in (elementwise_program, array_program):
        batch = program(dtype)
        for name, inputs, params, _ in batch.cases:
            if name not in EXPANSIONS:
                continue
            variables = dict.fromkeys(a for a in inputs if isinstance(a, Var))
            types = TABLE[name].result_types([a.type for a in inputs], params)
            outputs = tuple(Var(t) for t in types)
            equation = Equation(TABLE[name], tuple(inputs), params, outputs)
            graph = Graph(tuple(variables), (equation,), outputs, name)
            if name not in {e.primitive.name for e in expanded(graph).equations}:
                found.append((name, graph, [batch.value(v) for v in variables]))
    return found


# Where an expansion is less accurate than the reference: relative errors for 64 and 32 bits.
CLOSE = {64: 1e-13, 32: 1e-5, 16: 2e-3}


def is_right(name, operands, got, want):
    """True if the results are equal, or close floats; NaN is equal to NaN. Complex numbers whose
    absolute value is infinite or subnormal are not compared."""
    if kind_letter(want.dtype) in "biu":
        return np.array_equal(got, want)
    bits = 8 * want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    g, w = got.astype(wide), want.astype(wide)
    with np.errstate(all="ignore"):
        error = np.abs(g - w) / scale(name, operands, want)
    tolerance = 8 * CLOSE[16] if want.dtype.name == "bfloat16" else CLOSE[bits]
    tolerance *= LOSES.get(name, 1)
    ok = (g == w) | (np.isnan(g) & np.isnan(w)) | (error <= tolerance)
    for x in (g, w, *operands):
        if x.dtype.kind == "c" and x.shape == ok.shape:
            ok |= ~np.isfinite(np.abs(x)) | ((x != 0) & (np.abs(x) < finfo(x.dtype).tiny))
    return bool(ok.all())


@pytest.mark.filterwarnings("ignore")
@each("name", NAMES, set(FEW_DTYPES) - {"f16", "f64"})  # made of the expansions of float32
def test_expansions_have_the_meaning_of_their_primitive(name):
    dtype = next(d for d, short in SHORT_NAMES.items() if short == name)
    wrong = []
    for primitive, graph, operands in cases(as_dtype(dtype)):
        flat = expanded(graph)
        flat.check()
        (got,), (want,) = interpret(flat, operands), interpret(graph, operands)
        want = np.asarray(want).astype(graph.outputs[0].type.dtype)
        if not is_right(primitive, operands, np.asarray(got), want):
            wrong.append((primitive, graph.equations[0].params))
    assert not wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["i32", "u64", "f32"])
@one_in(3)
def test_expansions_take_numbers_beside_arrays(name):
    dtype = next(d for d, short in SHORT_NAMES.items() if short == name)
    tried = set()
    for primitive, graph, operands in cases(as_dtype(dtype)):
        if TABLE[primitive].kind != "elementwise" or len(operands) < 2 or primitive in tried:
            continue
        tried.add(primitive)
        for position in range(len(operands)):
            few = [x[3:9] for x in operands]
            few[position] = few[position][2]
            flat = expanded(_of_shapes(graph, few))
            flat.check()
            (got,), (want,) = interpret(flat, few), interpret(graph, few)
            assert is_right(primitive, few, np.asarray(got), np.asarray(want)), primitive
    assert tried


def _of_shapes(graph, operands):
    """A graph of one equation for operands of other shapes."""
    (equation,) = graph.equations
    inputs = tuple(
        Var(v.type.with_shape(np.shape(x))) for v, x in zip(graph.inputs, operands, strict=True)
    )
    atoms = tuple(dict(zip(graph.inputs, inputs, strict=True))[a] for a in equation.inputs)
    types = equation.primitive.result_types([a.type for a in atoms], equation.params)
    outputs = tuple(Var(t) for t in types)
    equation = Equation(equation.primitive, atoms, equation.params, outputs)
    return Graph(inputs, (equation,), outputs, graph.name)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["random_gamma", "random_loggamma"])
def test_samples_of_the_gamma_distribution_are_those_of_numpy(name, dtype):
    operands = gamma_samples(dtype)
    graph = traced(lambda a, k: [apply(name, a, k)], [type_of(x) for x in operands], name)
    with np.errstate(all="ignore"):
        (got,) = interpret(expanded(graph), operands)
        want = TABLE[name].numpy(*operands)
    assert np.asarray(got).dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float64"])
def test_selections_are_elements_of_what_is_sorted(dtype):
    x = np.random.default_rng(3).integers(-50, 50, (3, 20, 2)).astype(dtype)
    for axis, ranks in ((1, (0, 7, 19)), (0, (2,))):
        params = {"axis": axis, "ranks": ranks}
        statistics = lambda x, params=params: [apply("order_statistics", x, **params)]
        (got,) = interpret(expanded(traced(statistics, [type_of(x)], "f")), [x])
        np.testing.assert_array_equal(got, np.take(np.sort(x, axis), ranks, axis))
        assert np.asarray(got).dtype == dtype


def interpreted(name, *operands, **params):
    """The result of a primitive's expansion, interpreted."""
    graph = traced(lambda *xs: [apply(name, *xs, **params)], [type_of(x) for x in operands], name)
    return interpret(expanded(graph), list(operands))[0]


def test_pivots_are_successive_exchanges():
    pivots = np.array([[[2, 1, 4, 3], [0, 4, 4, 4]], [[4, 3, 2, 3], [3, 3, 3, 3]]])
    for head in (pivots, pivots[0, 1]):
        want = TABLE["pivots_to_permutation"].numpy(head, size=5)
        got = interpreted("pivots_to_permutation", head, size=5)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_square_roots_of_matrices(dtype):
    random = np.random.default_rng(5)
    x = random.normal(size=(3, 6, 6)).astype(dtype) + 4 * np.eye(6, dtype=dtype)
    x[1] = np.diag([0, 1, 4, 9, 16, -25])
    root = interpreted("sqrtm", x)
    close = 100 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(root @ root, x, rtol=close, atol=30 * close)
    assert (np.linalg.eigvals(root).real > -close).all()
