"""The expression printer: parentheses, conversions, functions, indices."""

import ctypes

import numpy as np
import pytest

from transpile.build import toolchain
from transpile.codegen.c_expr import Printer
from transpile.codegen.dialect import C
from transpile.codegen.render import render
from transpile.errors import InternalError
from transpile.ir.dims import Dim, Symbol, floor_divide, modulo
from transpile.ir.loop_ir import (
    Apply,
    Buffer,
    For,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Store,
    Within,
)
from transpile.ir.primitive import TABLE
from transpile.options import Options
from transpile.runtime.executable import Lowering

assert Lowering  # importing it fills the table

F32, F64, I32, I64, U8, U32, BOOL, C128 = map(
    np.dtype, ("float32", "float64", "int32", "int64", "uint8", "uint32", "bool", "complex128")
)
a, b, c = (Ref(name, F64) for name in "abc")
p, q, r = (Ref(name, BOOL) for name in "pqr")
m, n = (Ref(name, I32) for name in "mn")
RESULTS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan"}


def op(name, *args, dtype=None):
    return Apply(name, args, dtype or (BOOL if name in RESULTS else args[-1].dtype))


def to(dtype, expr):
    return Apply("convert_element_type", (expr,), np.dtype(dtype))


def text(expr):
    return Printer(C).print(expr)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (op("add", op("add", a, b), c), "a + b + c"),
        (op("add", a, op("add", b, c)), "a + (b + c)"),
        (op("subtract", a, op("subtract", b, c)), "a - (b - c)"),
        (op("subtract", a, op("multiply", b, c)), "a - b * c"),
        (op("multiply", a, op("subtract", b, c)), "a * (b - c)"),
        (op("divide", a, op("multiply", b, c)), "a / (b * c)"),
        (op("divide", op("multiply", a, b), c), "a * b / c"),
        (op("multiply", op("negative", a), b), "-a * b"),
        (op("negative", op("add", a, b)), "-(a + b)"),
        (op("negative", op("negative", a)), "-(-a)"),
        (op("subtract", a, op("negative", b)), "a - -b"),
        (op("negative", Literal(-1.5, F64)), "-(-1.5)"),
        (op("square", op("add", a, b)), "(a + b) * (a + b)"),
        (op("less", op("add", a, b), c), "a + b < c"),
        (op("equal", op("less", a, b), op("less", b, c)), "(a < b) == (b < c)"),
        (op("logical_and", op("less", a, b), op("less", b, c)), "(a < b) & (b < c)"),
        (op("bitwise_or", op("bitwise_or", p, q), r), "p | q | r"),
        (op("bitwise_or", p, op("bitwise_and", q, r)), "p | (q & r)"),
        (op("bitwise_xor", m, op("bitwise_and", m, n)), "m ^ (m & n)"),
        (op("logical_not", op("bitwise_or", p, q)), "!(p | q)"),
        # Compilers warn without them, also in what users compile at -Wall.
        (
            op("bitwise_or", op("logical_not", p), op("bitwise_and", q, r)),
            "(!p) | (q & r)",
        ),
        (op("bitwise_and", op("logical_not", p), op("logical_not", q)), "!p & (!q)"),
        (op("select", p, a, op("add", b, c)), "p ? a : b + c"),
        (op("select", p, a, op("select", q, b, c)), "p ? a : q ? b : c"),
        (op("add", a, op("select", p, b, c)), "a + (p ? b : c)"),
        (op("select", op("select", p, q, r), a, b), "(p ? q : r) ? a : b"),
        (op("absolute", op("add", a, b)), "fabs(a + b)"),
        (op("add", m, n), "add_i32(m, n)"),
        (op("reciprocal", op("add", a, b)), "1.0 / (a + b)"),
        (op("sqrt", Ref("x", F32)), "sqrtf(x)"),
        (op("exp", a), "exp_f64(a)"),
        (op("conjugate", Ref("z", C128)), "conj(z)"),
        (to(F64, m), "(double)m"),
        (to(F64, op("add", a, b)), "(double)(a + b)"),
        (to(F64, p), "p ? 1.0 : 0.0"),
        (to("float16", op("bitwise_and", p, q)), "convert_f32_f16((p & q) ? 1.0f : 0.0f)"),
        (op("add", a, to(F64, op("less", a, b))), "a + (a < b ? 1.0 : 0.0)"),
        (to(F32, op("maximum", Ref("u", U8), Ref("v", U8))), "(float)(int32_t)maximum_u8(u, v)"),
        (to(F64, Load("u", (0,), U8)), "(double)u[0]"),
        (to(F32, to("float16", to(F32, Ref("u", U8)))), "(float)(int32_t)u"),
        (to(F32, to("float16", to(F32, m))), "round_f16((float)m)"),
        (to(BOOL, m), "m != 0"),
        (to(BOOL, op("add", a, b)), "a + b != 0.0"),
        (to(I32, a), "convert_f64_i32(a)"),
        (to(F64, Ref("z", C128)), "creal(z)"),
        (op("multiply", to(F64, m), a), "(double)m * a"),
    ],
)
def test_parentheses_where_c_needs_them(expr, expected):
    assert text(expr) == expected


def test_precise_mathematics_is_the_library_s():
    printer = Printer(C, precise=True)
    assert printer.print(op("exp", a)) == "exp(a)"
    assert printer.print(op("maximum", a, b)) == "maximum_f64(a, b)"
    assert printer.used == {"maximum_f64"}


def test_a_helper_is_noted_when_it_is_used():
    printer = Printer(C)
    printer.print(op("exp", op("remainder", a, b)))
    assert printer.used == {"exp_f64", "remainder_f64"}


def test_functions_that_no_row_and_no_library_has_are_refused():
    with pytest.raises(InternalError, match="no C function for nonsense of float64"):
        Printer(C).function("nonsense", F64)


def test_assignments_need_no_cast_where_nothing_is_lost():
    printer = Printer(C)
    assert printer.assigned(to(F64, m)) == "m"
    assert printer.assigned(to(F64, Ref("k", I64))) == "(double)k"
    assert printer.assigned(to(F32, a)) == "(float)a"
    assert printer.assigned(to(F64, p)) == "p ? 1.0 : 0.0"
    assert printer.assigned(to(F64, Ref("u", U8))) == "(double)(int32_t)u"


# ---------------------------------------------------------------------------------------- indices

I = Dim.of(Symbol("i", 0, 10))
J = Dim.of(Symbol("j", 0, 7))
ANY = Dim.symbol("k", -5)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, "0"),
        (I, "i"),
        (2 * I + 1, "2 * i + 1"),
        (9 - I, "9 - i"),
        (I * J, "i * j"),
        (J - I, "j - i"),
        (80 - 16 * I + 3 * J, "80 - 16 * i + 3 * j"),
        (floor_divide(I, 3), "i / 3"),
        (2 * modulo(I + J, 3), "2 * ((i + j) % 3)"),
        (floor_divide(ANY, 2), "floor_divide_i64(k, 2)"),
    ],
)
def test_indices_read_like_a_person_s(index, expected):
    assert Printer(C).index(index) == expected


def test_elements_have_real_subscripts():
    assert text(Load("x", (I, 2 * J + 1), F64)) == "x[i][2 * j + 1]"
    assert text(Load("x", (), F64)) == "*x"
    assert Printer(C, values=frozenset({"x"})).print(Load("x", (), F64)) == "x"


def test_bounds_that_hold_anyway_are_not_tested():
    assert text(Within(I, 0, 5)) == "i < 5"
    assert text(Within(I, 2, 10)) == "i >= 2"
    assert text(Within(I, 2, 5)) == "i >= 2 && i < 5"
    assert text(Within(I, 0, 10)) == "true"


def test_parts_of_an_index_are_called_by_their_name():
    strip = 128 * Dim.of(Symbol("strip", 0, 3))
    printer = Printer(C, indices=((strip, "first"),))
    assert printer.index(I - strip) == "i - first"
    assert printer.index(strip) == "first"
    assert printer.index(I) == "i"


# ----------------------------------------------------------------------------------- random trees

COUNT, DEPTH, SIZE = 300, 5, 16
LEAVES = {"x": F64, "y": F64, "k": I32, "l": I32, "u": U32, "t": BOOL, "s": BOOL}
ARITHMETIC = ("add", "subtract", "multiply", "negative", "square")
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
OPERATIONS = {
    F64: (*ARITHMETIC, "divide", "absolute", "maximum", "reciprocal", "remainder", "floor"),
    I32: (*ARITHMETIC, *BITWISE, "floor_divide", "remainder", "left_shift", "maximum", "sign"),
    U32: (*ARITHMETIC, *BITWISE, "floor_divide", "right_shift", "minimum"),
    BOOL: (*BITWISE, "logical_and", "logical_or", "logical_xor", "logical_not"),
}
TESTS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
TESTS += ("logical_and", "logical_or", "logical_xor", "logical_not")
UNARY = {"negative", "square", "absolute", "reciprocal", "floor", "sign", "invert", "logical_not"}


def random_tree(random, dtype, depth):
    """A random expression of a dtype."""
    if depth == 0 or random.random() < 0.1:
        names = [name for name, kind in LEAVES.items() if kind == dtype]
        if random.random() < 0.7:
            return Load(random.choice(names), (I,), dtype)
        value = random.choice([0, 1, 2, 7] if dtype.kind in "ub" else [0, -1, 3, -7])
        return Literal(dtype.type(value), dtype)
    kind = random.random()
    if kind < 0.15:
        parts = [random_tree(random, d, depth - 1) for d in (BOOL, dtype, dtype)]
        return Apply("select", tuple(parts), dtype)
    others = [d for d in OPERATIONS if d != dtype]
    source = others[random.integers(len(others))]
    if kind < 0.3 and not (dtype == U32 and source == F64):
        return to(dtype, random_tree(random, source, depth - 1))
    if dtype == BOOL and kind < 0.8:
        name = TESTS[random.integers(len(TESTS))]
        arity = 1 if name in UNARY else 2
        return Apply(
            name, tuple(random_tree(random, source, depth - 1) for _ in range(arity)), BOOL
        )
    name = OPERATIONS[dtype][random.integers(len(OPERATIONS[dtype]))]
    arity = 1 if name in UNARY else 2
    return Apply(name, tuple(random_tree(random, dtype, depth - 1) for _ in range(arity)), dtype)


def value_of(expr, leaves):
    """The value of an expression by the table's NumPy column."""
    match expr:
        case Literal(value=value, dtype=dtype):
            return np.full(SIZE, value, dtype)
        case Load(buffer=name):
            return leaves[name]
        case Apply(op="convert_element_type", args=(x,), dtype=dtype):
            return value_of(x, leaves).astype(dtype)
        case Apply(op=name, args=args):
            return TABLE[name].numpy(*(value_of(x, leaves) for x in args))


def test_random_trees_mean_in_c_what_they_mean_in_numpy(tmp_path):
    """A wrong precedence would give another number: everything here is exact."""
    random = np.random.default_rng(1)
    kinds = list(OPERATIONS)
    trees = [random_tree(random, kinds[k % len(kinds)], DEPTH) for k in range(COUNT)]
    index = Dim.of(Symbol("i", 0, SIZE))
    inputs = [Buffer(name, (SIZE,), dtype) for name, dtype in LEAVES.items()]
    outputs = [Buffer(f"out_{k}", (SIZE,), tree.dtype) for k, tree in enumerate(trees)]
    stores = tuple(
        Store(o.name, (index,), at(t, index)) for o, t in zip(outputs, trees, strict=True)
    )
    kernel = Kernel("trees_kernel", (For(Symbol("i", 0, SIZE), SIZE, stores),))
    program = Program("trees", tuple(inputs), tuple(outputs), (kernel,))
    files = render(program, Options(), "trees.h")
    (tmp_path / "trees.h").write_text(files.header)
    (tmp_path / "trees.c").write_text(files.source)
    # Comparisons with 0 of unsigned numbers are resolved by a pass.
    options = Options(
        opt_level=1, extra_cflags=("-Werror", "-Wno-type-limits", "-Wno-bool-compare")
    )
    compiler = toolchain.find_compiler(options)
    flags = toolchain.flags(compiler, options)
    toolchain.build_shared(compiler, tmp_path / "trees.c", tmp_path / "trees.so", flags)
    leaves = {
        name: (
            random.integers(-9, 10, SIZE) if dtype.kind in "if" else random.integers(0, 2, SIZE)
        ).astype(dtype)
        for name, dtype in LEAVES.items()
    }
    leaves["u"] = random.integers(0, 2**32, SIZE, np.uint32)
    leaves["k"] = random.integers(-(2**31), 2**31, SIZE).astype(I32)
    results = [np.empty(SIZE, tree.dtype) for tree in trees]
    arrays = [*leaves.values(), *results]
    library = ctypes.CDLL(str(tmp_path / "trees.so"))
    assert library.trees(*(ctypes.c_void_p(x.ctypes.data) for x in arrays), None) == 0
    with np.errstate(all="ignore"):
        for tree, result in zip(trees, results, strict=True):
            np.testing.assert_array_equal(result, value_of(tree, leaves), err_msg=text(tree))


def at(expr, index):
    """The expression with its elements at another index."""
    if isinstance(expr, Load):
        return Load(expr.buffer, (index,), expr.dtype)
    if isinstance(expr, Apply):
        return Apply(expr.op, tuple(at(x, index) for x in expr.args), expr.dtype)
    return expr


def test_an_index_can_be_a_number():
    assert text(op("add", IndexValue(2 * I + 1), Literal(3, I64))) == "add_i64(2 * i + 1, 3)"
