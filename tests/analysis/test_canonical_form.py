"""The canonical form: equal for statements that differ in names only."""

from dataclasses import replace

import numpy as np
import pytest

from transpile.analysis.canonical_form import canonical_form
from transpile.intrinsics.callbacks import Callback
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Strided
from transpile.ir.dims import Dim, Symbol
from transpile.ir.graph import Site
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Ref,
    Slot,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import walk, with_bodies
from transpile.ir.types import BOOL, FLOAT64, INT64


def array(buffer):
    """An array of a call."""
    return Strided(Load(buffer, (0,), FLOAT64), (4, 1))


def kernel(x="x", y="y", index="i", scalar="acc", local="row", factor=2.0, table="table"):
    """Every statement and expression, with these names."""
    i = Dim.symbol(index, 0, 8)
    element = Load(x, (i,), FLOAT64)
    total = Ref(scalar, FLOAT64)
    body = (
        Alloc(Buffer(local, (8,), FLOAT64), Slot(y, 64, shared_out=False)),
        Declare(scalar, Literal(0.0, FLOAT64), constant=False),
        For(
            Symbol(index, 0, 8),
            8,
            (
                Update(
                    total, "add", Apply("multiply", (element, Literal(factor, FLOAT64)), FLOAT64)
                ),
                Store(local, (i,), Load(table, (i % 3,), FLOAT64)),
                If(Within(i, 2, 5), (Store(y, (i,), total),), (Store(y, (7 - i,), total),)),
            ),
            simd=True,
            reductions=(("add", scalar),),
        ),
        While(Apply("less", (total, Literal(1.0, FLOAT64)), BOOL), (Swap(x, y),)),
        TransposeTile(4, i + 2, 8, array(y), array(local)),
        Callback(Site("one", ()), (array(y), None)),
    )
    return Kernel("kernel", body)


def form(*parameters, **names):
    return canonical_form(kernel(**names), parameters or ("x", "y"))[0]


def test_kernels_that_differ_in_names_have_one_form():
    other = form("in", "out", x="in", y="out", index="k", scalar="total", local="buffer")
    assert form() == other and hash(form()) == hash(other)


def test_parameters_are_in_the_order_in_which_the_body_mentions_them():
    _, order = canonical_form(kernel(), ("y", "x"))
    _, swapped = canonical_form(kernel(x="y", y="x"), ("y", "x"))
    assert sorted(order) == ["x", "y"] and swapped == order[::-1]
    assert form("y", "x") == form("x", "y") == form("x", "y", x="y", y="x")


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        (("x", "y"), {"factor": 3.0}),
        (("x", "y"), {"factor": np.nextafter(2.0, 3)}),
        (("x", "y"), {"factor": -2.0}),
        (("x", "y"), {"table": "table2"}),  # another array that both know by its name
        (("x", "y", "table"), {}),  # known by its name, and passed
        (("x", "y"), {"local": "x"}),  # one array for two
    ],
)
def test_kernels_that_differ_in_more_have_two(parameters, names):
    assert form(*parameters, **names) != form()


def changed(statement, **fields):
    """The kernel with the first statement of this class changed in these fields."""
    body = kernel().body
    (first, *_) = (s for s in walk(body) if isinstance(s, statement))

    def rebuilt(statements):
        return tuple(
            replace(s, **fields) if s is first else with_bodies(s, rebuilt) for s in statements
        )

    return Kernel("kernel", rebuilt(body))


@pytest.mark.parametrize(
    ("statement", "fields"),
    [
        (For, {"stop": 7}),
        (For, {"start": 1}),
        (For, {"limit": 5}),
        (For, {"simd": False}),
        (For, {"parallel": True}),
        (For, {"lanes": 4}),
        (For, {"threads": 2}),
        (For, {"near": True}),
        (For, {"collapse": 2}),
        (For, {"reductions": ()}),
        (For, {"symbol": Symbol("i", 0, 9)}),
        (If, {"orelse": ()}),
        (If, {"condition": Within(Dim.symbol("i", 0, 8), 2, 6)}),
        (While, {"test": (Swap("x", "y"),)}),
        (Declare, {"constant": True}),
        (Update, {"op": "multiply"}),
        (Alloc, {"slot": None}),
        (Alloc, {"buffer": Buffer("row", (9,), FLOAT64)}),
        (Alloc, {"buffer": Buffer("row", (8,), INT64)}),
        (Swap, {"second": "row"}),
        (TransposeTile, {"tile": 8}),
        (TransposeTile, {"columns": 9}),
        (TransposeTile, {"x": array("x")}),
        (Callback, {"site": Site("another", ())}),
        (Callback, {"values": (array("y"),)}),
    ],
)
def test_all_that_makes_other_code_is_in_the_form(statement, fields):
    assert canonical_form(changed(statement, **fields), ("x", "y"))[0] != form()


def test_what_only_the_schedule_reads_is_not():
    loop = changed(For, ordered=True, independent=True)
    assert canonical_form(loop, ("x", "y"))[0] == form()


def test_one_name_for_two_loops_is_not_two_names():
    def two(first, second):
        loops = [
            For(Symbol(name), 4, (Store("x", (Dim.symbol(name),), Literal(1.0, FLOAT64)),))
            for name in (first, second)
        ]
        return canonical_form(Kernel("kernel", tuple(loops)), ("x",))[0]

    assert two("i", "i") == two("k", "k") != two("i", "j") == two("j", "i")
