"""Sort and argsort: programs in the loop language, C on edge values, JAX's derivatives."""

import numpy as np
import pytest
from helpers import values
from primitive_programs import BY_FEW_DTYPES, edges
from thorough import one_in

import transpile
from transpile.analysis.oracle.loop_interpreter import run
from transpile.errors import UnsupportedError
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import TABLE
from transpile.ir.types import DTYPES, SHORT_NAMES, ArrayType
from transpile.lower.kernels import lower
from transpile.primitives.sorting import argsort, sort
from transpile.trace.trace import bind

BY_NAME = {SHORT_NAMES[d]: d for d in DTYPES}
LENGTHS = [1, 2, 5, 48, 49, 300, 9000]


@BY_FEW_DTYPES
@one_in(2)
def test_c_orders_edge_values_of_every_length_as_numpy(name, shared_cache):
    """Signs of zeros included: equal elements keep their order."""
    dtype = BY_NAME[name]
    random = np.random.default_rng(1)
    rows = [random.choice(edges(dtype), n) for n in LENGTHS]
    rows.append(np.repeat(edges(dtype)[:1], 300))
    sort_all = transpile.jit(
        lambda *rows: [(bind(sort, x, axis=0), bind(argsort, x, axis=0)) for x in rows]
    )
    for x, (found, order) in zip(rows, sort_all(*rows), strict=True):
        wanted = argsort.numpy(x, axis=0)
        np.testing.assert_array_equal(order, wanted, strict=True)
        same = found.view(np.uint8).reshape(len(x), -1) == x[wanted].view(np.uint8).reshape(
            len(x), -1
        )
        is_nan = np.isnan(x[wanted]) if dtype.kind not in "biu" else np.zeros(len(x), bool)
        assert np.all(same.all(1) | is_nan)
        assert np.array_equal(np.isnan(found.astype(complex)), np.isnan(x[wanted].astype(complex)))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@one_in(5)
def test_the_loop_language_and_c_sort_along_any_axis(dtype, axis, shared_cache):
    x, y = values(dtype, (3, 5, 4), 1), values("int16", (3, 5, 4), 2)

    def f(x, y):
        return bind(sort, x * x.dtype.type(1), axis=axis), bind(argsort, y, x, axis=axis)

    jitted = transpile.jit(f)
    program = jitted.lower(x, y).compiler_ir("loops")
    with np.errstate(all="ignore"):
        wanted = np.sort(x * x.dtype.type(1), axis), np.lexsort((x, y), axis)
    for found in (run(program, [x, y]), jitted(x, y)):
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)


def test_reshapes_before_a_sort_are_no_copies():
    text = transpile.jit(lambda x: bind(sort, x.reshape(6, 2), axis=0)).lower(np.ones((3, 4)))
    program = text.compiler_ir("loops")
    assert [b.dtype.name for b in program.temporaries] == ["uint8"]
    assert "call sort(outer=1, n=6, inner=2, x=&x[0, 0], out=&out[0, 0], slots=2" in str(program)


def test_many_rows_share_a_bounded_workspace():
    program = transpile.jit(np.sort).lower(np.ones((1000, 3000))).compiler_ir("loops")
    assert program.workspace <= 64 + 16 * 16 * 3000 + 64
    program = transpile.jit(np.sort).lower(np.ones((4, 1 << 20), np.float32)).compiler_ir("loops")
    assert program.workspace <= 64 + 16 * (1 << 20) + 64


def test_a_row_of_enormous_length_is_refused():
    x = Var(ArrayType((1 << 32,), np.dtype("int8")), "x")
    equation = Equation(sort, (x,), {"axis": 0}, (Var(x.type),))
    with pytest.raises(UnsupportedError, match="4294967296 elements in a row"):
        lower(Graph((x,), (equation,), equation.outputs, "f"))


def test_keys_of_different_shapes_are_refused():
    with pytest.raises(TypeError, match="argsort takes keys of one shape"):
        transpile.jit(lambda x: bind(argsort, x, x[0], axis=0)).lower(np.ones((2, 2)))


@pytest.mark.full_level
def test_one_thread_and_several_give_the_same(shared_cache):
    x = np.random.default_rng(0).integers(0, 50, (40, 1000)).astype("float32")
    results = [
        transpile.jit(
            lambda x: (np.sort(x, 1), np.argsort(x, 0)), compiler_options={"openmp": threads}
        )(x)
        for threads in (False, True)
    ]
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(got, want)


def test_sorts_have_no_transpose_of_their_own_as_they_are_not_linear():
    assert TABLE["sort"].transpose is None and TABLE["argsort"].transpose is None
    assert TABLE["sort"].kind == TABLE["argsort"].kind == "sort"
