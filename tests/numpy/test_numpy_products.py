"""matmul, dot, einsum and the other products against NumPy."""

import itertools
import warnings

import numpy as np
import pytest
from helpers import assert_same, dtypes, ordinary, seeds, trace_to_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

from transpile.ir.dims import Dim
from transpile.ir.types import ArrayType
from transpile.trace.trace import trace_function

SHAPES = [
    (),
    (3,),
    (1,),
    (4,),
    (0,),
    (2, 3),
    (3, 3),
    (3, 4),
    (4, 3),
    (3, 0),
    (0, 3),
    (2, 3, 3),
    (1, 3, 4),
    (5, 1, 3, 3),
    (2, 4, 3),
    (2, 2, 3),
]
PRODUCTS = [
    np.matmul,
    np.dot,
    np.vdot,
    np.inner,
    np.outer,
    np.tensordot,
    np.kron,
    np.vecdot,
    lambda a, b: np.tensordot(a, b, 1),
    lambda a, b: np.tensordot(a, b, 0),
    lambda a, b: np.tensordot(a, b, (0, 0)),
    lambda a, b: np.tensordot(a, b, ([0, 1], [1, 0])),
    lambda a, b: a @ b,
    lambda a, b: a.dot(b),
]
PRODUCTS += [getattr(np, n) for n in ("matvec", "vecmat") if hasattr(np, n)]


@pytest.mark.parametrize("product", PRODUCTS)
@one_in(3)
def test_product_of_all_shapes_is_numpys(product):
    for first, second in itertools.product(SHAPES, SHAPES):
        assert_same(product, ordinary("f8", first, 1), ordinary("f8", second, 2), tolerance=1e-14)


@settings(max_examples=150)
@given(st.sampled_from([*PRODUCTS[:5], *PRODUCTS[7:9]]), dtypes, dtypes, seeds)
def test_product_of_all_dtypes_is_numpys(product, first, second, seed):
    x, y = ordinary(first, (3, 3), seed), ordinary(second, (3, 3), seed + 1)
    assert_same(product, x, y, tolerance=1e-6)


def test_product_with_a_python_scalar_is_numpys():
    x = ordinary("f4", (3,))
    assert_same(lambda a: np.dot(a, 2.0), x)
    assert_same(lambda a: np.dot(2, a), x)
    assert_same(lambda a: a @ 2.0, x)
    assert_same(lambda a, n: a @ n, x, 2.0)


def test_reflected_matmul_is_numpys():
    assert_same(lambda a: ordinary("f8", (2, 3)) @ a, ordinary("f4", (3,)))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iii", (3, 3, 3)),
    ("ijij->ji", (2, 3, 2, 3)),
    ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("i,j->ij", (3,), (4,)),
    ("i,j->ji", (3,), (4,)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->kbi", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk", (1, 3, 4), (2, 4, 5)),
    ("i...->...", (2, 3, 4)),
    ("...", (2, 3)),
    ("...i->...", (2, 3)),
    ("i...,i...", (2, 3), (2,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 2)),
    ("i,ij,j", (2,), (2, 3), (3,)),
    ("a,b,c,abc->", (2,), (3,), (4,), (2, 3, 4)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,j->ij", (2, 3), (3,)),
    ("ij,j", (2, 3), (1,)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    ("ii,i->i", (3, 3), (3,)),
    (" i j , j k -> i k ", (2, 3), (3, 2)),
    (",i->i", (), (3,)),
    ("->", ()),
    ("ij,kl->", (2, 3), (4, 5)),
    ("ij,ik->j", (2, 3), (2, 4)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,jk->ik", (0, 3), (3, 0)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("Ab,bA", (2, 3), (3, 2)),
]


@pytest.mark.parametrize("case", EINSUMS, ids=lambda c: c[0])
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16", "bool"])
def test_einsum_is_numpys(case, dtype):
    subscripts, *shapes = case
    operands = [ordinary(dtype, s, k) for k, s in enumerate(shapes)]
    assert_same(lambda *xs: np.einsum(subscripts, *xs), *operands, tolerance=1e-13)


@pytest.mark.parametrize(
    "case",
    [
        ("ij->ijk", (2, 3)),
        ("ij->ii", (2, 3)),
        ("ijk", (2, 3)),
        ("i", (2, 3)),
        ("ij,jk", (2, 3)),
        ("i", (3,), (3,)),
        ("i$", (2, 3)),
    ],
    ids=lambda c: c[0],
)
def test_wrong_subscripts_raise_a_value_error(case):
    subscripts, *shapes = case
    operands = [ordinary("f8", s) for s in shapes]
    with pytest.raises(ValueError):
        np.einsum(subscripts, *operands)
    with pytest.raises(
        ValueError, match=r"^test_numpy_products.py:\d+: .*(einstein|subscript|operand)"
    ):
        trace_to_graph(lambda *xs: np.einsum(subscripts, *xs), *operands)


def test_einsum_sizes_that_differ_are_named():
    with pytest.raises(ValueError, match=r"py:\d+: operands could not be broadcast together"):
        trace_to_graph(lambda a, b: np.einsum("ij,jk", a, b), np.ones((2, 3)), np.ones((4, 2)))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 3), (3, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("subscripts", ["ii", "ii->i", "ii,jj", "ii,ij->j"])
def test_einsum_has_diagonals_of_axes_of_one_size_alone(subscripts, shape):
    """NumPy reads beyond the array where one of two axes on a diagonal has no elements."""
    a = np.ones(shape)
    f = lambda a: np.einsum(subscripts, *[a] * (1 + subscripts.count(",")))
    if 0 not in shape:
        with pytest.raises(ValueError, match="for collapsing index 'i' don't match"):
            f(a)
    with pytest.raises(ValueError, match=r"py:\d+: dimensions in .* 'i' don't match"):
        trace_to_graph(f, a)


def test_tensordot_takes_axes_as_numpy_does():
    a = np.arange(9.0).reshape(3, 3)
    pairs = (np.array([0, 1]), np.array([[0, 1], [1, 0]]), [np.array([0]), np.array([1])])
    for axes in (*pairs, range(2), (range(2), range(2))):
        assert_same(lambda x, y, axes=axes: np.tensordot(x, y, axes), a, a + 1, tolerance=1e-13)
    for axes in ((np.array(0), np.array(1)), [[np.array(0)], [1]]):
        with pytest.raises(TypeError, match=r"py:\d+: .*unhashable type"):
            trace_to_graph(lambda x, axes=axes: np.tensordot(x, x, axes), a)


def test_einsum_with_lists_of_labels_is_numpys():
    x, y = ordinary("f8", (2, 3)), ordinary("f8", (3, 4))
    assert_same(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), x, y, tolerance=1e-13)
    assert_same(lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), x, y, tolerance=1e-13)
    assert_same(lambda a: np.einsum(a, [Ellipsis, 5], [5, Ellipsis]), x)


@settings(max_examples=150)
@given(st.data())
def test_einsum_of_random_subscripts_is_numpys(data):
    sizes = dict(zip("abcde", (2, 3, 1, 4, 2), strict=True))
    terms = data.draw(st.lists(st.text("abcde", max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = "".join(data.draw(st.lists(st.sampled_from(used), unique=True))) if used else ""
    arrow = data.draw(st.booleans())
    operands = [ordinary("i8", tuple(sizes[c] for c in t), k) for k, t in enumerate(terms)]
    subscripts = ",".join(terms) + (f"->{output}" if arrow else "")
    assert_same(lambda *xs: np.einsum(subscripts, *xs), *operands)


def test_products_are_one_contraction():
    x, y = np.ones((2, 3)), np.ones((3, 4))
    for f in (
        np.matmul,
        np.dot,
        lambda a, b: np.einsum("ij,jk->ik", a, b),
        lambda a, b: np.tensordot(a, b, 1),
    ):
        assert [e.primitive.name for e in trace_to_graph(f, x, y).equations] == ["dot_general"]


def test_chain_of_products_takes_the_cheap_order():
    """A (1, 9), B (9, 9), C (9, 1): A times B first, a row, and no product of 81 elements."""
    shapes = [(1, 9), (9, 9), (9, 1)]
    graph = trace_to_graph(lambda *xs: np.einsum("ab,bc,cd->ad", *xs), *map(np.ones, shapes))
    products = [e for e in graph.equations if e.primitive.name == "dot_general"]
    assert [e.output.type.shape for e in products] == [(1, 9), (1, 1)]


def test_matmul_of_runtime_sizes():
    n, m = Dim.symbol("n"), Dim.symbol("m")
    types = [ArrayType((n, m), np.dtype("f8")), ArrayType((m, 3), np.dtype("f8"))]
    graph, _ = trace_function(lambda a, b: ([np.einsum("ij,jk", a, b)], None), types, ["a", "b"])
    graph.check()
    assert graph.outputs[0].type.shape == (n, 3)
    with pytest.raises(ValueError, match=r"the shapes \(n,m\) and \(n,m\) do not match"):
        trace_function(lambda a: ([a @ a], None), types[:1], ["a"])


@pytest.mark.parametrize("dtype", ["i4", "f4", "c16"])
@pytest.mark.parametrize(
    ("first", "second", "axes"),
    [
        ((3,), (3,), {}),
        ((4, 3), (3,), {}),
        ((3, 4), (3, 4), {"axis": 0}),
        ((3, 4), (4, 3), {"axisa": 0, "axisc": 0}),
        ((2,), (2,), {}),
        ((4, 2), (4, 3), {}),
        ((4, 3), (2,), {}),
        ((2, 4), (2, 4), {"axis": 0}),
        ((4,), (3,), {}),
        ((3,), (), {}),
        ((3,), (3,), {"axisa": 2}),
    ],
)
def test_cross_product_is_numpys(dtype, first, second, axes):
    def f(a, b):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # vectors of two components are deprecated
            return np.cross(a, b, **axes)

    assert_same(f, ordinary(dtype, first, 1), ordinary(dtype, second, 2), tolerance=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.vecdot(a, b, axis=0),
        lambda a, b: np.vecdot(a, b, axis=1, keepdims=True),
        lambda a, b: np.vecdot(a, b, keepdims=True),
        lambda a, b: np.vecdot(a, b, axes=[0, 0]),
        lambda a, b: np.vecdot(a, b, axes=[(1,), (1,), ()]),
        lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (0, 1)]),
        lambda a, b: np.matmul(a, b, axes=[(1, 0), (0, 1), (-1, -2)]),
        lambda a, b: np.matvec(a, b[0], axes=[(0, 1), (0,), (0,)]),
        lambda a, b: np.vecmat(a[:, 0], b, axes=[(0,), (0, 1), (0,)]),
    ],
)
def test_axes_of_a_generalized_ufunc_are_numpys(f):
    assert_same(f, ordinary("f8", (3, 4), 1), ordinary("f8", (3, 4), 2), tolerance=1e-13)
