"""Statements in C: a macro for each node, pragmas, parameters and calls of kernels."""

from typing import get_args

import numpy as np
import pytest

from transpile.codegen.render import render
from transpile.codegen.templates.filling import _PRINTED
from transpile.errors import InternalError
from transpile.intrinsics.tiles import TransposeTile
from transpile.ir.calls import Call, Invocation, Strided
from transpile.ir.dims import Dim, Symbol
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
    Program,
    Ref,
    Slot,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.types import BOOL, FLOAT32, FLOAT64, INT64
from transpile.options import Options

INDEX = Dim.symbol("i", 0, 8)
ACC = Ref("acc", FLOAT64)
ONE = Literal(1.0, FLOAT64)
ELEMENT = Load("x", (INDEX,), FLOAT64)
STORE = Store("y", (INDEX,), ELEMENT)
POSITIVE = Apply("less", (Literal(0.0, FLOAT64), Load("x", (0,), FLOAT64)), BOOL)


def program(*body, shapes=(), constants=(), **buffers):
    """A program of one kernel."""
    x, y = Buffer("x", (8,), FLOAT64), Buffer("y", (8,), FLOAT64)
    kernel = Kernel("f_kernel", body, shapes=shapes)
    temporaries = tuple(buffers.values())
    offsets = tuple(64 * k for k in range(len(temporaries)))
    return Program("f", (x,), (y,), (kernel,), temporaries, constants, offsets, 64)


def printed(*body, options=None, **fields):
    """The signature of the kernel, its body and the call of it, from their C."""
    text = render(program(*body, **fields), options or Options()).source
    start = text.index("static void f_kernel(")
    head, _, rest = text[start:].partition("\n{\n")
    inside = rest.partition("\n}\n")[0]
    lines = [line[4:] for line in inside.splitlines()]
    (call,) = (line.strip() for line in text.splitlines() if line.startswith("    f_kernel("))
    return " ".join(head.split()), lines, call


def loop(*body, **fields):
    return For(Symbol("i", 0, 8), 8, body, **fields)


STATEMENTS = [
    (STORE, ["y[i] = x[i];"]),
    (Declare("a", ELEMENT), ["const double a = x[i];"]),
    (Declare("a", POSITIVE), ["const bool a = 0.0 < x[0];"]),
    (Declare("a", POSITIVE, constant=False), ["uint8_t a = 0.0 < x[0];"]),
    (Update(ACC, "add", ELEMENT), ["acc += x[i];"]),
    (Update(ACC, "set", ELEMENT), ["acc = x[i];"]),
    (Update(Load("y", (INDEX,), FLOAT64), "maximum", ONE), ["y[i] = maximum_f64(y[i], 1.0);"]),
    (Alloc(Buffer("row", (2, 3), FLOAT32)), ["float row[2][3];"]),
    (Alloc(Buffer("row", (3,), BOOL)), ["uint8_t row[3];"]),
    (
        Alloc(Buffer("row", (3,), FLOAT32), Slot("home", 0, shared_out=False)),
        ["float *row = (float *)home[0];"],
    ),
    (
        Alloc(Buffer("row", (2, 3), FLOAT32), Slot("home", 64, shared_out=True)),
        ["float (*row)[3] = (float (*)[3])(home[thread_number()] + 64);"],
    ),
    (
        Swap("x", "y"),
        ["double *previous = x;", "x = y;", "y = previous;"],
    ),
    (
        TransposeTile(4, 8, 8, Strided(ELEMENT, (8, 1)), Strided(Load("y", (0,), FLOAT64))),
        ["transpose_tile_u64(4, 8, 8, &x[i], 8, y);"],
    ),
    (loop(STORE), ["for (int64_t i = 0; i < 8; i++)", "    y[i] = x[i];"]),
    (
        loop(STORE, STORE),
        ["for (int64_t i = 0; i < 8; i++) {", "    y[i] = x[i];", "    y[i] = x[i];", "}"],
    ),
    (
        loop(Swap("x", "y")),
        [
            "for (int64_t i = 0; i < 8; i++) {",
            "    double *previous = x;",
            "    x = y;",
            "    y = previous;",
            "}",
        ],
    ),
    (
        For(Symbol("i", 2), 8, (STORE,), start=2, limit=INDEX * 2),
        ["for (int64_t i = 2; i < minimum_i64(8, 2 * i); i++)", "    y[i] = x[i];"],
    ),
    (While(POSITIVE, (STORE,)), ["while (0.0 < x[0]) {", "    y[i] = x[i];", "}"]),
    (
        While(POSITIVE, (STORE,), test=(Declare("a", ELEMENT),)),
        [
            "for (;;) {",
            "    const double a = x[i];",
            "    if (!(0.0 < x[0])) {",
            "        break;",
            "    }",
            "    y[i] = x[i];",
            "}",
        ],
    ),
    (If(POSITIVE, (STORE,)), ["if (0.0 < x[0]) {", "    y[i] = x[i];", "}"]),
    (
        If(POSITIVE, (STORE,), (If(POSITIVE, (STORE,), (STORE, STORE)),)),
        [
            "if (0.0 < x[0]) {",
            "    y[i] = x[i];",
            "} else if (0.0 < x[0]) {",
            "    y[i] = x[i];",
            "} else {",
            "    y[i] = x[i];",
            "    y[i] = x[i];",
            "}",
        ],
    ),
]


@pytest.mark.parametrize(("statement", "expected"), STATEMENTS, ids=lambda v: type(v).__name__)
def test_a_statement_is_what_its_macro_says(statement, expected):
    home = {"home": Buffer("home", (4, 256), np.dtype("uint8"))} if "home" in str(expected) else {}
    assert printed(statement, **home)[1] == expected


def test_every_statement_has_a_macro():
    kinds = {type(statement) for statement, _ in STATEMENTS}
    nodes = set(get_args(Statement)) - {Call}
    assert nodes <= kinds and any(issubclass(kind, Call) for kind in kinds)
    assert {node.__name__ for node in nodes} == _PRINTED
    with pytest.raises(InternalError, match="no macro prints"):
        printed(Literal(1, INT64))


def test_a_call_of_a_function_that_runtime_c_lacks_is_refused():
    class Lost(TransposeTile):
        name = "lost"

        def in_c(self):
            return Invocation("lost_f64", ())

    tile = Lost(4, 8, 8, Strided(ELEMENT, (8, 1)), Strided(Load("y", (0,), FLOAT64)))
    with pytest.raises(InternalError, match="runtime_c has no lost_f64, which the intrinsic lost"):
        printed(tile)


PRAGMAS = [
    ({"parallel": True}, "#pragma omp parallel for"),
    ({"simd": True}, "#pragma omp simd"),
    ({"parallel": True, "simd": True}, "#pragma omp parallel for simd"),
    ({"simd": True, "lanes": 4}, "#pragma omp simd safelen(4)"),
    ({"parallel": True, "threads": 3}, "#pragma omp parallel for num_threads(thread_count(3))"),
]


@pytest.mark.parametrize(("marks", "expected"), PRAGMAS)
def test_the_marks_of_a_loop_are_its_pragma(marks, expected):
    assert printed(loop(STORE, **marks))[1][0] == expected


def test_pragmas_with_collapsed_loops_uneven_iterations_and_a_number_of_threads():
    inner = For(Symbol("k", 0, 4), 4, (STORE,))
    assert printed(loop(inner, parallel=True, collapse=2))[1][0].endswith("for collapse(2)")
    uneven = loop(While(POSITIVE, (STORE,)), parallel=True, threads=3)
    assert printed(uneven, options=Options(num_threads=5))[1][0] == (
        "#pragma omp parallel for schedule(guided) num_threads(3)"
    )
    fixed = printed(loop(STORE, parallel=True), options=Options(num_threads=5))[1][0]
    assert fixed == "#pragma omp parallel for num_threads(5)"


def test_accumulators_are_combined_by_operators_words_or_declared_functions():
    sums = [
        *(Declare(name, ONE, constant=False) for name in ("acc", "total", "most")),
        Declare("least", Literal(0, INT64), constant=False),
        loop(
            *(Update(Ref(n, FLOAT64), "add", ELEMENT) for n in ("acc", "total")),
            Update(Ref("most", FLOAT64), "maximum", ELEMENT),
            Update(Ref("least", INT64), "minimum", Literal(3, INT64)),
            simd=True,
            reductions=(
                ("add", "acc"),
                ("maximum", "most"),
                ("add", "total"),
                ("minimum", "least"),
            ),
        ),
    ]
    assert printed(*sums)[1][4] == (
        "#pragma omp simd reduction(+:acc, total) reduction(maximum_f64:most) reduction(min:least)"
    )
    text = render(program(*sums), Options()).source
    assert "#pragma omp declare reduction(maximum_f64 : double : \\\n" in text


def test_parameters_are_const_restrict_by_value_or_of_another_shape():
    table = Buffer("table", (2, 4), FLOAT64, np.zeros((2, 4)))
    number = Buffer("number", (), FLOAT64)
    total = Buffer("total", (), FLOAT64)
    grid = Buffer("grid", (4, 2), FLOAT64)
    body = (
        STORE,
        Store("total", (), Load("number", (), FLOAT64)),
        Store("grid", (0, 1), Load("table", (3,), FLOAT64)),
    )
    signature, lines, call = printed(
        *body, shapes=(("table", (8,)),), constants=(table,), number=number, total=total, grid=grid
    )
    assert signature == (
        "static void f_kernel(const double x[restrict 8], double y[restrict 8], double number, "
        "double *restrict total, double grid[restrict 4][2], const double table[restrict 8])"
    )
    assert lines == ["y[i] = x[i];", "*total = number;", "grid[0][1] = table[3];"]
    assert call == ("f_kernel(x, y, *number, total, (double (*)[2])grid, (const double *)table);")


def test_swapped_buffers_are_not_restricted():
    signature, _, call = printed(Swap("x", "y"))
    assert signature == "static void f_kernel(double x[8], double y[8])"
    assert call == "f_kernel(x, y);"


def test_a_kernel_without_buffers_takes_nothing():
    assert printed(Declare("a", ONE))[::2] == ("static void f_kernel(void)", "f_kernel();")
