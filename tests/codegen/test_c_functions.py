"""Which functions a program calls, found without its text: those that its text has, as often."""

import re
from collections import Counter

import numpy as np
import pytest
from golden_functions import FUNCTIONS

import transpile
from transpile.analysis.value_range import ordinary_angles
from transpile.codegen.c_functions import Calls, column, function, infix, parsed_column
from transpile.errors import InternalError
from transpile.ir.loop_ir import For, If, While
from transpile.ir.primitive import TABLE
from transpile.ir.types import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT64
from transpile.util.frozen_records import replace

X = np.linspace(0.5, 2, 16)


# What subscripts, ends of loops and statements call.
_OTHERS = re.compile("(minimum|floor_divide|remainder)_i64|thread_number|matmul_|transpose_|sort_")


def called(body, calls, near=False, lanes=False):
    """The functions that statements call, with those inside them."""
    for statement in body:
        yield from filter(None, calls.of_statement(statement, near, lanes))
        match statement:
            case For():
                yield from called(
                    statement.body, calls, near or statement.near, lanes or statement.simd
                )
            case If():
                yield from called(statement.body + statement.orelse, calls, near, lanes)
            case While():
                yield from called(statement.test + statement.body, calls, near, lanes)


def check(f, *arguments, **options):
    """What is found in the loops is what stands in the text; gives the names."""
    lowered = transpile.jit(f, compiler_options={"blas": "none", **options}).lower(*arguments)
    kernels, text = lowered.compiler_ir("loops").kernels, lowered.as_text("c")
    names = Counter()
    for kernel in kernels:
        calls = Calls(options.get("precise_math", False), ordinary_angles(kernel))
        names.update(called(kernel.body, calls))
    heads = "|".join(kernel.name for kernel in kernels)
    bodies = re.findall(rf"^static void (?:{heads})\([^{{]*{{\n(.*?)^}}", text, re.M | re.S)
    in_text = Counter(
        re.findall(r"\b\w+(?=\()", re.sub(r"^ *#.*$", "", "\n".join(bodies), flags=re.M))
    )
    found = {n: (names[n], in_text[n]) for n in names | in_text if not _OTHERS.match(n)}
    assert all(number == of_text for number, of_text in found.values()), found
    return set(names)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_golden_programs_call_what_their_texts_have(f):
    check(f, *FUNCTIONS[f])


def test_angles_are_ordinary_where_they_are_known_to_be():
    assert check(lambda x: np.sin(np.sin(x)), X) >= {"sin_near_f64"}
    assert "sin_precise_f64" not in check(lambda x: np.sin(x), X, precise_math=True)


@pytest.mark.parametrize("dtype", [np.float16, "bfloat16"])
@pytest.mark.parametrize("target", [np.float16, np.float32, np.float64, np.int32, bool, "bfloat16"])
def test_halves_are_converted_by_way_of_float32(dtype, target):
    dtypes = [BFLOAT16 if d == "bfloat16" else np.dtype(d) for d in (dtype, target)]
    few = X[:15]  # which no routine converts
    check(lambda x: (x * 2 + 1).astype(dtypes[1]), few.astype(dtypes[0]))
    check(lambda x: (np.exp(x.astype(np.float32)) + 1).astype(dtypes[0]), few.astype(dtypes[1]))


def test_sums_of_every_kind_call_what_their_texts_have():
    z = X + 1j
    check(lambda x: (x.max(), x.min(), np.logaddexp.reduce(x), np.hypot(x, 1).prod()), X)
    check(lambda z: (z * z, np.abs(z), z.real.astype(np.float16), np.exp(z).sum()), z)
    check(lambda k: (k.astype(bool).any(), k // 3, k % 4, (k > 2).sum()), np.arange(9))


def test_a_function_is_a_helper_else_the_librarys():
    assert function("exp", FLOAT64) == "exp_f64"
    assert function("exp", FLOAT64, precise=True) == "exp"
    assert function("ceil", FLOAT32) == "ceilf"
    assert function("sin", FLOAT64, near=True) == "sin_near_f64"
    with pytest.raises(InternalError, match=r"no C function for ceil of int64: .* ceil_i64"):
        function("ceil", INT64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x ? 1 : 0", r"is no expression in Python's syntax: 'x \? 1 : 0'"),
        ("sin(w)", r"has the name w: 'sin\(w\)'; operands are x, y and z"),
        ("x * pi", "has the name pi"),
    ],
)
def test_a_column_that_is_no_expression_over_its_operands_is_refused(monkeypatch, text, message):
    name = f"with {text}"
    monkeypatch.setitem(TABLE, name, replace(TABLE["sin"], name=name, c={"": text}))
    with pytest.raises(InternalError, match=f"the C column of {re.escape(name)} {message}"):
        parsed_column(name, FLOAT64)


def test_an_operation_has_an_operator_or_none():
    assert infix("add", FLOAT64) == "+" and infix("maximum", FLOAT64) == ""
    assert infix("add", FLOAT16) == infix("add", BFLOAT16) == ""
    assert column("select", FLOAT64) == "y if x else z"
