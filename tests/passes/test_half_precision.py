"""float16 and bfloat16 from end to end: through C they are NumPy's and ml_dtypes', bit for bit."""

import functools
import itertools
import operator
import subprocess
import sys

import numpy as np
import pytest
from helpers import evaluate, trace_to_graph
from thorough import one_in

import transpile as tp
from transpile import numpy as jnp
from transpile.errors import UnsupportedError
from transpile.ir.types import (
    BFLOAT16,
    DTYPES,
    FLOAT16,
    HALVES,
    SHORT_NAMES,
    finfo,
    is_bfloat16,
)
from transpile.passes import optimise
from transpile.passes.half_precision import widen_halves
from transpile.test_util import check_grads
from transpile.transforms.interpret import interpret

EACH = pytest.mark.parametrize("half", HALVES, ids=[SHORT_NAMES[d] for d in HALVES])
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
]


def every(half):
    """All 65536 numbers of a half dtype."""
    return np.arange(1 << 16, dtype=np.uint16).view(half)


def some(half, count=1000, seed=0):
    """Numbers of every size, zeros, infinities, NaNs and subnormals among them."""
    drawn = np.random.default_rng(seed).integers(0, 1 << 16, count, dtype=np.uint16).view(half)
    info = finfo(half)
    edges = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny]
    return np.append(np.array(edges, np.float64).astype(half), drawn)


def ordinary(half, shape, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(half)


def assert_same_bits(got, want):
    """Equal dtypes, shapes and bits; any NaN for a NaN."""
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    bits = got.view(f"u{got.itemsize}") == want.view(f"u{got.itemsize}") if got.size else True
    assert np.all(bits | ((got != got) & (want != want))), (got, want)


def assert_as_numpy(functions, *args):
    """All functions in one program, in C, and interpreted."""

    def together(*args):
        return [f(*args) for f in functions]

    wanted = together(*args)
    for found in (tp.jit(together)(*args), evaluate(together, *args)):
        for got, want in zip(found, wanted, strict=True):
            assert_same_bits(got, want)


# ------------------------------------------------------------------------------------ conversions


def converted(x, targets):
    """The array in each dtype, in one program."""
    return zip(tp.jit(lambda x: [x.astype(t) for t in targets])(x), targets, strict=True)


@EACH
def test_every_half_converts_as_in_numpy(half):
    x = every(half)
    for got, target in converted(x, [d for d in DTYPES if d.kind not in "iu"]):
        want = x.astype(target)
        assert got.dtype == target
        if target.kind == "c":
            np.testing.assert_array_equal(got.imag, 0)
            got, want = (np.ascontiguousarray(v.real) for v in (got, want))
        assert_same_bits(got, want)


@EACH
def test_every_half_that_fits_an_integer_becomes_it(half):
    x = every(half)
    wide = x.astype(np.float64)
    for got, target in converted(x, [d for d in DTYPES if d.kind in "iu"]):
        info = np.iinfo(target)
        fits = (wide > float(info.min) - 1) & (wide < float(info.max))
        np.testing.assert_array_equal(got[fits], x[fits].astype(target))


def numbers(source):
    """Numbers of a dtype of every size, its limits among them, and some that end a float16."""
    random = np.random.default_rng(5)
    if source.kind == "b":
        return np.array([True, False])
    if source.kind in "iu":
        info = np.iinfo(source)
        drawn = random.integers(info.min, info.max, 2000, source, endpoint=True)
        shifts = random.integers(0, 8 * source.itemsize, 2000).astype(source)
        return np.concatenate([drawn >> shifts, np.array([info.min, info.max, 0], source)])
    size = random.uniform(-1, 1, 2000) * 2.0 ** random.integers(-30, 30, 2000)
    ends = [np.inf, -np.inf, np.nan, 65519.999, 65520, 1 + 2**-11 + 2**-40]
    return np.append(size, ends).astype(source)


def test_every_dtype_converts_to_halves_as_in_numpy():
    arrays = [numbers(source) for source in DTYPES]
    found = tp.jit(lambda *xs: [[x.astype(d) for d in HALVES] for x in xs])(*arrays)
    for x, of_x in zip(arrays, found, strict=True):
        for got, half in zip(of_x, HALVES, strict=True):
            assert_same_bits(got, x.astype(half))


def test_doubles_are_rounded_to_float16_once():
    x = np.array([1 + 2.0**-11 + 2.0**-40, 65519.9999999])
    found = tp.jit(lambda x: x.astype("f2"))(x)
    np.testing.assert_array_equal(found.astype(float), [1 + 2.0**-10, 65504])


@EACH
def test_moves_keep_every_bit(half):
    """NaNs with their payloads, quiet or not."""
    x = every(half)
    moves = [
        lambda x: x[::-1],
        lambda x: x.reshape(256, 256).T,
        lambda x: np.concatenate([x[5:], x[:5]]),
        lambda x: np.where(np.arange(x.size) % 3 == 0, x, x[::-1]),
    ]
    found = tp.jit(lambda x: [f(x) for f in moves])(x)
    for got, move in zip(found, moves, strict=True):
        np.testing.assert_array_equal(got.view("u2"), move(x).view("u2"))


# -------------------------------------------------------------------------------------- promotion

OPERATORS = [operator.add, operator.truediv, operator.lt, np.maximum, np.power]


@EACH
@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_promotion_with_every_dtype_is_numpys(half, op):
    for other in DTYPES:
        x, y = np.ones(3, half), np.ones(3, other)
        for pair in ((x, y), (y, x)):
            try:
                want = op(*pair)
            except TypeError:
                with pytest.raises(TypeError):
                    trace_to_graph(op, *pair)
                continue
            (found,) = trace_to_graph(op, *pair).outputs
            assert found.type.dtype == want.dtype, (half, other)


@EACH
def test_python_numbers_beside_halves_are_numpys_and_leave_bfloat16_as_it_is(half):
    for number in (True, 2, 0.5, 1j):
        x = np.ones(3, half)
        (found,) = interpret(trace_to_graph(lambda x: x * number, x), [x])
        want = x * number
        if is_bfloat16(half) and type(number) in (int, float):  # as in JAX: NumPy's is float32
            want = want.astype(half)
        assert found.dtype == want.dtype, number
        np.testing.assert_array_equal(found, want)
    assert (np.ones(3, FLOAT16) * 0.5).dtype == FLOAT16


# ---------------------------------------------------------------------------- values, bit for bit


@EACH
def test_each_operation_of_a_chain_is_rounded(half):
    x, y = some(half), some(half, seed=1)

    def chain(x, y):
        return (x * y + x) * y - np.maximum(x, y) / (np.abs(y) + x)

    assert_as_numpy([chain], x, y)


@EACH
def test_operations_on_every_pair_of_edges_are_numpys(half):
    info = finfo(half)
    largest, tiny = float(info.max), float(info.tiny)
    steps = [0.0, tiny / 2, tiny, 1.0, 1 + float(info.eps), 3.0, largest / 2, largest, np.inf]
    edges = np.array([*steps, np.nan], np.float64).astype(half)
    edges = np.concatenate([edges, -edges])
    x, y = (np.array(v) for v in zip(*itertools.product(edges, edges), strict=True))
    binary = (np.add, np.subtract, np.multiply, np.divide, np.fmod, np.remainder, np.copysign)
    assert_as_numpy(binary, x, y)
    apart = (x != 0) | (y != 0)  # of two zeros NumPy below 2.5 gives the first, in float16 alone
    assert_as_numpy([np.nextafter], x[apart], y[apart])
    assert_same_bits(tp.jit(np.nextafter)(x[~apart], y[~apart]), y[~apart])
    exact = (np.sqrt, np.square, np.rint, np.spacing, np.negative, np.sign, np.absolute)
    assert_as_numpy([*exact, np.isnan, np.isinf, np.isfinite, np.signbit], edges)


def test_results_that_float32_holds_overflow_to_infinity():
    x = np.array([65504, 300, -60000, 6e-8], "f2")
    found = tp.jit(lambda x: x * x)(x)
    np.testing.assert_array_equal(found, np.array([np.inf, np.inf, np.inf, 0], "f2"))


@EACH
def test_conversions_there_and_back_round(half):
    x = np.float32([1.0001, 70000, 1e-9, np.nan])
    back = lambda x: x.astype(half).astype("f4") + np.float32(0)
    assert_as_numpy([back, lambda x: (x.astype(half).astype("f4") * 3).astype(half)], x)


def test_degrees_and_mean_of_float16_are_computed_before_they_are_rounded():
    x = some(FLOAT16)
    assert_as_numpy([np.degrees, np.radians, np.deg2rad, np.rad2deg], x)
    large = np.full(70000, 2, "f2")  # whose sum is infinite
    assert tp.jit(np.mean)(large) == np.mean(large) == 2
    assert tp.jit(np.sum)(large) == np.sum(large) == np.inf


@EACH
def test_functions_of_several_operations_are_numpys(half):
    x = some(half, 50)
    bounds = np.array([-1, 1], "i8")
    clipped = [lambda x: np.clip(x, 1, 2), lambda x: np.clip(x, 0.5, 1.5), lambda x: x.clip(max=1)]
    more = [
        lambda x: np.clip(x, *bounds),
        np.isposinf,
        np.isneginf,
        lambda x: np.angle(x, deg=True),
    ]
    assert_as_numpy([*clipped, *more, np.diff, np.nan_to_num], x)


def test_sinc_of_float16_is_numpys_at_0():
    assert_as_numpy([np.sinc], np.array([0, -0.0, 0.5, 3, np.nan], "f2"))


# ---------------------------------------------------------------------------- reductions, products


@EACH
def test_running_sums_round_at_each_step(half):
    x = np.abs(ordinary(half, (40, 30)))
    scans = [functools.partial(f, axis=a) for f in (np.cumsum, np.cumprod) for a in (0, 1, None)]
    assert_as_numpy([*scans, np.maximum.accumulate], x)


@EACH
def test_sums_are_those_of_float32_rounded_once(half):
    x = np.abs(ordinary(half, (300, 70)))
    axes = (0, 1, None)
    for got, axis in zip(tp.jit(lambda x: [np.sum(x, a) for a in axes])(x), axes, strict=True):
        want = x.astype(np.float64).sum(axis)
        assert got.dtype == half
        assert np.all(np.abs(got.astype(np.float64) - want) <= 0.51 * float(finfo(half).eps) * want)
    assert tp.jit(np.sum)(np.ones(1000, half)) == 1000


@EACH
def test_extremes_and_their_places_are_numpys(half):
    x = np.concatenate([some(half)[:5], ordinary(half, 50)])
    chosen = (np.max, np.min, np.argmax, np.argmin, np.any, np.all, np.count_nonzero)
    together = tp.jit(lambda x: [f(x) for f in chosen])
    for values in (x, np.append(x[1:], half.type(np.nan))):
        for got, f in zip(together(values), chosen, strict=True):
            want = f(values)
            assert (got == want) or (got != got and want != want), f


@EACH
@pytest.mark.parametrize("shape", [(3, 3, 3), (17, 33, 19), (64, 64, 64)])
@one_in(3)
def test_products_of_matrices_are_summed_in_float32(half, shape):
    m, k, n = shape
    x, y = ordinary(half, (m, k)), ordinary(half, (k, n), 1)
    got = tp.jit(np.dot)(x, y)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    size = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64)
    assert got.dtype == half
    error = np.abs(got.astype(np.float64) - exact)
    assert np.all(error <= 0.51 * float(finfo(half).eps) * np.abs(exact) + 1e-6 * size)
    assert tp.jit(operator.matmul)(x, y).dtype == (x @ y).dtype


# --------------------------------------------------------------------------------------- the pass


def names_of(graph):
    return [e.primitive.name for e in graph.equations]


def rewritten(f, *args):
    """The primitives that the pass makes of f, whose results stay as they are, to the bit."""
    graph = trace_to_graph(f, *args)
    found = widen_halves(graph)
    found.check()
    for got, want in zip(interpret(found, args), interpret(graph, args), strict=True):
        assert_same_bits(got, want)
    computed = [e for e in found.equations if e.primitive.name in ("add", "multiply", "maximum")]
    assert not any(a.type.dtype in HALVES for e in computed for a in (*e.inputs, *e.outputs))
    return names_of(found)


@EACH
def test_exact_results_are_not_converted_back_for_their_readers(half):
    x = some(half)
    names = rewritten(lambda x: np.add(np.negative(np.maximum(x, x[::-1])), x), x)
    assert (
        names.count("convert_element_type") == 2 + 2
    )  # of x and its reverse; of the maximum and the sum. A negation is one of bits, too.
    names = rewritten(lambda x: (x + x) + x, x)
    assert names.count("convert_element_type") == 1 + 1 + 2  # of x, of the first sum; of both


@EACH
def test_a_half_that_was_float32_and_is_one_again_is_itself(half):
    assert rewritten(lambda x: x.astype("f4").astype(half), some(half)) == ["convert_element_type"]


@EACH
def test_identities_of_halves_are_removed(half):
    graph = trace_to_graph(lambda x: -(-(x * 1)), some(half))
    assert names_of(optimise(graph)) == ["copy"]
    there_and_back = trace_to_graph(lambda x: x.astype("f8").astype(half), some(half))
    assert names_of(optimise(there_and_back)) == ["copy"]
    rounded = trace_to_graph(lambda x: x.astype(half).astype("f4"), np.ones(3, "f4"))
    assert names_of(optimise(rounded)) == ["convert_element_type"] * 2


def test_graphs_without_halves_are_left_alone():
    graph = trace_to_graph(lambda x: x + 1, np.ones(3))
    assert widen_halves(graph) is graph


@EACH
def test_a_chain_is_one_loop_without_arrays_between(half):
    x = ordinary(half, 1000)
    lowered = tp.jit(lambda x: np.exp(x * 2 + x) - x).lower(x)
    program = lowered.compiler_ir("loops")
    assert len(program.kernels) == 1 and not program.temporaries
    assert "const uint16_t" in lowered.as_text("c") and "round_" in lowered.as_text("c")


# ------------------------------------------------------------------------------------ derivatives


def network(parameters, x, y):
    for weights, bias in parameters[:-1]:
        x = np.tanh(np.dot(x, weights) + bias)
    weights, bias = parameters[-1]
    return np.mean(np.square(np.dot(x, weights) + bias - y))


@EACH
def test_a_network_of_halves_learns(half):
    random = np.random.default_rng(4)

    def drawn(*shape):
        return random.normal(0, 0.5, shape).astype(half)

    parameters = [(drawn(4, 16), drawn(16)), (drawn(16, 1), drawn(1))]
    x, y = drawn(64, 4), drawn(64, 1)
    step = tp.jit(tp.value_and_grad(network))
    exact = tp.grad(network)(
        [(w.astype(float), b.astype(float)) for w, b in parameters],
        x.astype(float),
        y.astype(float),
    )
    losses = []
    for number in range(40):
        loss, slopes = step(parameters, x, y)
        losses.append(float(loss))
        for (slope, _), (want, _) in zip(slopes, exact, strict=True) if number == 0 else ():
            assert slope.dtype == half
            scale = np.max(np.abs(want))
            assert np.max(np.abs(slope.astype(float) - want)) < 8 * float(finfo(half).eps) * scale
        rate = half.type(0.125)
        parameters = [
            (w - rate * dw, b - rate * db)
            for (w, b), (dw, db) in zip(parameters, slopes, strict=True)
        ]
    assert loss.dtype == half and losses[-1] < 0.6 * losses[0]


@EACH
def test_tangents_and_cotangents_are_halves(half):
    x, t = ordinary(half, 5), np.ones(5, half)
    out, moved = tp.jvp(lambda x: np.sqrt(x * x + 1), (x,), (t,))
    assert out.dtype == moved.dtype == half
    want = x.astype(float) / np.sqrt(x.astype(float) ** 2 + 1)
    np.testing.assert_allclose(moved.astype(float), want, rtol=0, atol=4 * float(finfo(half).eps))
    slopes = tp.jit(tp.grad(lambda x: np.hypot(x, x).sum()))(x)
    assert slopes.dtype == half
    want = np.sqrt(2) * np.sign(x.astype(float))
    np.testing.assert_allclose(slopes.astype(float), want, rtol=4 * float(finfo(half).eps))


@EACH
def test_check_grads_knows_how_coarse_halves_are(half):
    x = np.random.default_rng(0).uniform(0.5, 1, 5).astype(half)
    check_grads(lambda x: np.sin(x) * x + np.sqrt(x), (x,), order=2)

    @tp.custom_jvp
    def wrong(x):
        return x * x

    wrong.defjvp(lambda primals, tangents: (wrong(*primals), tangents[0] * primals[0]))
    with pytest.raises(AssertionError, match="finite differences"):
        check_grads(wrong, (x,), order=1)


@EACH
def test_batches_of_halves_are_loops(half):
    x, y = ordinary(half, (6, 5)), ordinary(half, 5, 1)

    def f(x, y):
        return np.cumsum(x * y)[::-1] / 3

    found = tp.jit(tp.vmap(f, (0, None)))(x, y)
    assert_same_bits(found, np.stack([f(row, y) for row in x]))


# -------------------------------------------------------------------------- namespace, header, text


def test_the_namespace_has_the_dtypes_and_their_limits():
    assert jnp.float16 is np.float16
    assert jnp.finfo(np.float16).max == 65504 and jnp.finfo("f8").eps == np.finfo("f8").eps
    if BFLOAT16 is not None:
        assert np.dtype(jnp.bfloat16) == BFLOAT16
        assert jnp.finfo(jnp.bfloat16).bits == 16
        assert jnp.finfo(np.ones(2, BFLOAT16).dtype).eps == 2.0**-7
    assert str(trace_to_graph(lambda x: x + 1, np.ones(3, "f2"))).startswith("{ lambda ; a:f16[3]")


@EACH
def test_constants_scalars_and_empty_arrays_of_halves(half):
    short, long = some(half, 20), ordinary(half, (100, 60))
    functions = [
        lambda x, y: short[:: y.size + 1] * x,
        lambda x, y: (long * x).ravel()[::7],
        lambda x, y: long[3:5],
        lambda x, y: -y,
        lambda x, y: x,
    ]
    assert_as_numpy(functions, np.array(0.3, half), np.zeros((0, 3), half))


@EACH
def test_the_header_says_what_is_passed(half):
    compiled = tp.jit(lambda x: x + x).lower(np.ones(3, half)).compile()
    text = compiled.as_text()
    assert f"x: {half.name}[3] as bits, in" in text
    assert "(const uint16_t *x, uint16_t *out, void *workspace)" in text


def test_saved_programs_declare_uint16(tmp_path):
    tp.jit(lambda x: x + x).lower(np.ones(3, "f2")).compile().save(tmp_path, "twice")
    header = (tmp_path / "twice.h").read_text()
    assert "#include <stdint.h>" in header and "const uint16_t *x" in header


def test_other_small_floats_are_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"float16, .*float32"):
        tp.jit(lambda x: x)(np.ones(3, np.longdouble))


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None  # importing it fails
import numpy as np
import transpile as tp
from transpile import numpy as jnp
from transpile.ir.types import DTYPES, HALVES
assert [d.name for d in HALVES] == ["float16"] and len(DTYPES) == 14
x = np.array([1.5, 3], "f2")
assert tp.jit(lambda x: x * x)(x).tolist() == [2.25, 9]
assert tp.grad(lambda x: (x * x).sum())(x).tolist() == [3, 6]
assert jnp.finfo("f2").bits == 16
try:
    jnp.bfloat16
except AttributeError as error:
    print(error)
"""


def test_without_ml_dtypes_all_but_bfloat16_works():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "transpile[bfloat16]" in done.stdout


def test_only_running_folds_that_round_keep_halves():
    x = np.ones((3, 4), np.float16)
    for f, dtype in ((np.maximum, "f4"), (np.minimum, "f4"), (np.add, "f2"), (np.multiply, "f2")):
        graph = widen_halves(trace_to_graph(lambda x, f=f: f.accumulate(x, axis=1), x))
        (scan,) = [e for e in graph.equations if e.primitive.kind == "scan"]
        assert scan.output.type.dtype == dtype and graph.outputs[0].type.dtype == np.float16
