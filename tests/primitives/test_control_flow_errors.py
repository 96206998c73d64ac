"""What is said where loops and branches do not fit: JAX's words, read off JAX 0.10.2."""

import re

import numpy as np
import pytest

import transpile
from transpile import errors, lax
from transpile.functional.gradients import grad

XS = np.arange(3.0)
ONES = np.ones(2)


def fails(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value), str(caught.value)


CARRY_TYPES = "function carry input and carry output must have equal types, but they differ:"
CARRY_TREES = (
    "function carry input and carry output must have the same pytree structure, but they differ:"
)
CHANGED = "\n\nRevise the function so that all output types match the corresponding input types."


CARRIES = [
    (
        lambda: lax.scan(lambda c, x: (c + 1.5, c), np.arange(2), XS),
        f"scan body {CARRY_TYPES}\n\nThe input carry c has type int64[2] but the corresponding "
        f"output carry component has type float64[2], so the dtypes do not match.{CHANGED}",
    ),
    (
        lambda: lax.scan(
            lambda c, x: ({"a": c["a"], "b": c["b"].astype("float32")[:2]}, c),
            {"a": 1, "b": np.ones(3)},
            XS,
        ),
        f"scan body {CARRY_TYPES}\n\nThe input carry component c['b'] has type float64[3] but the "
        f"corresponding output carry component has type float32[2], so the dtypes do not match, "
        f"and the shapes do not match.{CHANGED}",
    ),
    (
        lambda: lax.scan(lambda c, x: ((c[0] > 1, c[1][:1]), c), (XS, ONES), XS),
        f"scan body {CARRY_TYPES}\n\n  * the input carry component c[0] has type float64[3] but "
        f"the corresponding output carry component has type bool[3], so the dtypes do not match;\n"
        f"  * the input carry component c[1] has type float64[2] but the corresponding output "
        f"carry component has type float64[1], so the shapes do not match.{CHANGED}",
    ),
    (
        lambda: lax.scan(lambda c, x: ((c[0], c[1], 2.0), c), (1.0, ONES), XS),
        f"scan body {CARRY_TREES}\n\nThe input carry c is a tuple of length 2 but the "
        f"corresponding component of the carry output is a tuple of length 3, so the lengths do "
        f"not match.\n\nRevise the function so that the carry output has the same pytree "
        f"structure as the carry input.",
    ),
    (
        lambda: lax.scan(lambda c, x: ((c, c), c), 1.0, XS),
        "The input carry c is a pytree leaf but the corresponding component of the carry output "
        "is a <class 'tuple'>, so their Python types differ.",
    ),
    (
        lambda: lax.scan(lambda c, x: ([c[0], (c[1],)], c), [1.0, 2.0], XS),
        "The input carry component c[1] is a pytree leaf but the corresponding component of the "
        "carry output is a <class 'tuple'>, so their Python types differ.",
    ),
    (
        lambda: lax.scan(lambda c, x: ({"a": 1}, c), {"b": 1}, XS),
        "The input carry c is a <class 'dict'> with pytree metadata ('b',) but the corresponding "
        "component of the carry output is a <class 'dict'> with pytree metadata ('a',), so the "
        "pytree node metadata does not match.",
    ),
    (
        lambda: lax.scan(lambda c, x: ({"a": 1}, c), {"a": 1, "b": 1}, XS),
        "The input carry c is a <class 'dict'> with 2 children but the corresponding component "
        "of the carry output is a <class 'dict'> with 1 child, so the numbers of children do not "
        "match, with the symmetric difference of key sets: {'b'}.",
    ),
    (
        lambda: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] > 2), (1, 2.0)),
        f"while_loop body {CARRY_TYPES}\n\nThe input carry component c[1] has type float64[] but "
        f"the corresponding output carry component has type bool[], so the dtypes do not match."
        f"{CHANGED}",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, c: c.astype("float32"), ONES),
        f"scan body {CARRY_TYPES}\n\nThe input carry component loop_carry[1] has type float64[2] "
        f"but the corresponding output carry component has type float32[2], so the dtypes do not "
        f"match.{CHANGED}",
    ),
    (
        lambda: transpile.make_jaxpr(
            lambda n: lax.fori_loop(0, n, lambda i, c: c.astype("float32"), ONES)
        )(3),
        f"while_loop body {CARRY_TYPES}\n\nThe input carry component loop_carry[2] has type "
        f"float64[2] but the corresponding output carry component has type float32[2], so the "
        f"dtypes do not match.{CHANGED}",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, c: (c, c), ONES),
        f"scan body {CARRY_TREES}\n\nThe input carry component loop_carry[1] is a pytree leaf",
    ),
]


@pytest.mark.parametrize(("call", "text"), CARRIES, ids=range(len(CARRIES)))
def test_a_carry_that_changes_is_explained(call, text):
    fails(TypeError, text, call)


def one(x):
    return x


def pair(x):
    return x, 1


BRANCHES = [
    (
        lambda: lax.cond(True, pair, one, 1.0),
        "cond branch outputs must have the same pytree structure, but they differ:\n\n",
        "true_fun output is a <class 'tuple'> but false_fun output is a pytree leaf, so their "
        "Python types differ.\n\nRevise true_fun and/or false_fun so that they have the same "
        "pytree structure.",
    ),
    (
        lambda: lax.cond(True, pair, lambda x: (x, 2.0), 1.0),
        "cond branches must have equal output types but they differ.\n\n",
        "The output of true_fun at path [1] has type int64[] but the corresponding output of "
        "false_fun has type float64[], so the dtypes do not match.\n\nRevise true_fun and/or "
        "false_fun so that all output types match.",
    ),
    (
        lambda: lax.cond(True, lambda x: {"a": x, "b": 1}, lambda x: {"a": x > 2, "b": 2.0}, 1.0),
        "cond branches must have equal output types but they differ.\n\n",
        "  * the output of true_fun at path ['a'] has type float64[] but the corresponding output "
        "of false_fun has type bool[], so the dtypes do not match;\n  * the output of true_fun at "
        "path ['b'] has type int64[] but the corresponding output of false_fun has type "
        "float64[], so the dtypes do not match.",
    ),
    (
        lambda: lax.switch(1, [one, one, lambda x: x > 1], 1.0),
        "switch branches must have equal output types but they differ.\n\nbranch 0 is one at ",
        "The output of branch 0 has type float64[] but the corresponding output of branch2 has "
        "type bool[], so the dtypes do not match.\n\nRevise branch 0 and/or branch2 so that all "
        "output types match.",
    ),
    (
        lambda: lax.switch(1, [one, lambda x: x[:1]], ONES),
        "switch branches must have equal",
        "has type float64[2] but the corresponding output of branch1 has type float64[1], so the "
        "shapes do not match.",
    ),
]


@pytest.mark.parametrize(("call", "start", "text"), BRANCHES, ids=range(len(BRANCHES)))
def test_branches_that_differ_are_explained(call, start, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert start in str(caught.value)
    assert text in str(caught.value)


def test_the_message_says_where_the_branches_are():
    line = pair.__code__.co_firstlineno
    with pytest.raises(TypeError, match=f"true_fun is pair at {re.escape(__file__)}:{line}\n"):
        lax.cond(True, pair, one, 1.0)


ARGUMENTS = [
    (TypeError, "lax.scan: f argument should be a callable.", lambda: lax.scan(3, 1.0, XS)),
    (
        TypeError,
        "scan body output must be a pair, got (float64[], float64[], int64[]).",
        lambda: lax.scan(lambda c, x: (c, x, 1), 0.5, XS),
    ),
    (TypeError, "scan body output must be a pair, got ", lambda: lax.scan(lambda c, x: c, 0.5, XS)),
    (
        ValueError,
        "scan got values with different leading axis sizes: 3, 4.",
        lambda: lax.scan(lambda c, x: (c, x), 1.0, (XS, np.ones(4))),
    ),
    (
        ValueError,
        "scan got value with no leading axis to scan over: 1.0.",
        lambda: lax.scan(lambda c, x: (c, x), 1.0, (1.0, np.ones(4))),
    ),
    (
        ValueError,
        "scan got no values to scan over and `length` not provided.",
        lambda: lax.scan(lambda c, x: (c, x), 1.0),
    ),
    (
        ValueError,
        "scan got `length` argument of 4 which disagrees with leading axis sizes [3].",
        lambda: lax.scan(lambda c, x: (c, x), 1.0, XS, length=4),
    ),
    (
        errors.ConcretizationTypeError,
        "The `length` argument to `scan` expects a concrete `int` value. For scan-like iteration "
        "with a dynamic length, use `while_loop` or `fori_loop`.",
        lambda: transpile.make_jaxpr(lambda n: lax.scan(lambda c, _: (c, c), 1.0, None, n))(3),
    ),
    (
        ValueError,
        "`unroll` must be a `bool` or a non-negative `int`.",
        lambda: lax.scan(lambda c, x: (c, x), 1.0, XS, unroll=-1),
    ),
    (
        TypeError,
        "argument 'init' of lax.scan is a str",
        lambda: lax.scan(lambda c, x: (c, x), "a", XS),
    ),
    (
        TypeError,
        "the result[1] of '<lambda>'",
        lambda: lax.scan(lambda c, x: (c, "a"), 1.0, XS),
    ),
    (
        TypeError,
        "lax.while_loop: body_fun and cond_fun arguments should be callable.",
        lambda: lax.while_loop(one, 3, 1.0),
    ),
    (
        TypeError,
        "cond_fun must return a boolean scalar, but got output type(s) [float64[]].",
        lambda: lax.while_loop(one, one, 1.0),
    ),
    (
        TypeError,
        "cond_fun must return a boolean scalar, but got pytree PyTreeDef((*, *)).",
        lambda: lax.while_loop(pair, one, 1.0),
    ),
    (
        TypeError,
        "lax.fori_loop: body_fun argument should be callable.",
        lambda: lax.fori_loop(0, 1, 2, 3),
    ),
    (
        TypeError,
        "lower and upper arguments to fori_loop must have equal types, got int32 and int64",
        lambda: lax.fori_loop(np.int32(0), np.int64(3), lambda i, c: c, ONES),
    ),
    (
        TypeError,
        "lower and upper arguments to fori_loop must have equal types, got int64 and float64",
        lambda: lax.fori_loop(0, 3.0, lambda i, c: c, ONES),
    ),
    (
        ValueError,
        "Can only use `unroll` in `fori_loop` if the loop bounds are statically known.",
        lambda: transpile.make_jaxpr(lambda n: lax.fori_loop(0, n, lambda i, c: c, ONES, unroll=2))(
            3
        ),
    ),
    (
        TypeError,
        "lax.cond: true_fun and false_fun arguments should be callable.",
        lambda: lax.cond(True, 3.0, 2.0),
    ),
    (
        TypeError,
        "if 'operand' keyword is passed then no positional operands can be passed, got operand=2 "
        "and positional operands (1.0,)",
        lambda: lax.cond(True, one, one, 1.0, operand=2),
    ),
    (TypeError, "cond predicate is None", lambda: lax.cond(None, one, one, 1.0)),
    (
        TypeError,
        "Pred must be a scalar, got [True] of type <class 'list'>.",
        lambda: lax.cond([True], one, one, 1.0),
    ),
    (
        TypeError,
        "Pred must be a scalar, got [1. 1.] of shape (2,).",
        lambda: lax.cond(ONES, one, one, 1.0),
    ),
    (
        TypeError,
        "Pred type must be either boolean or number, got complex128.",
        lambda: lax.cond(1j, one, one, 1.0),
    ),
    (
        TypeError,
        "lax.switch: branches argument should be a sequence of callables.",
        lambda: lax.switch(1, [one, 2], 1.0),
    ),
    (
        TypeError,
        "Branch index must be scalar, got [1. 1.] of shape (2,).",
        lambda: lax.switch(ONES, [one, one], 1.0),
    ),
    (
        TypeError,
        "Index type must be an integer, got 1.5 as float64",
        lambda: lax.switch(1.5, [one, one], 1.0),
    ),
    (
        TypeError,
        "Index type must be an integer, got True as bool",
        lambda: lax.switch(True, [one, one], 1.0),
    ),
    (TypeError, "Index type must be an integer, got a.", lambda: lax.switch("a", [one, one], 1.0)),
    (ValueError, "Empty branch sequence", lambda: lax.switch(1, [], 1.0)),
    (
        TypeError,
        "lax.platform_dependent: the 'cpu' branch must be a callable.",
        lambda: lax.platform_dependent(1.0, cpu=3),
    ),
    (
        TypeError,
        "lax.platform_dependent: the 'default' branch must be a callable.",
        lambda: lax.platform_dependent(1.0, default=3),
    ),
    (
        ValueError,
        "Use 'cuda' or 'rocm' for lax.platform_dependent.",
        lambda: lax.platform_dependent(1.0, gpu=one),
    ),
    (
        NotImplementedError,
        "has no branch for the platform cpu, and no default; there is one for tpu",
        lambda: lax.platform_dependent(1.0, tpu=one),
    ),
    (
        TypeError,
        "lax.associative_scan: fn argument should be callable.",
        lambda: lax.associative_scan(3, XS),
    ),
    (
        ValueError,
        "Array inputs to associative_scan must have the same first dimension. (saw: [(3,), (2,)])",
        lambda: lax.associative_scan(np.add, (XS, ONES)),
    ),
    (
        ValueError,
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values. Try using lax.scan, or using fori_loop with static start/stop.",
        lambda: grad(lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * x, x))(2.0),
    ),
    (
        ValueError,
        "Reverse-mode differentiation does not work for lax.while_loop",
        lambda: transpile.make_jaxpr(grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x)))(
            2.0, 3
        ),
    ),
    (
        ValueError,
        "zero-length scan is not supported in disable_jit() mode because the output type is "
        "unknown.",
        lambda: without_jit(lambda: lax.scan(lambda c, x: (c, x), 1.0, np.ones(0))),
    ),
]


def without_jit(call):
    with transpile.disable_jit():
        return call()


@pytest.mark.parametrize(("kind", "text", "call"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_arguments_that_do_not_fit_are_errors(kind, text, call):
    fails(kind, text, call)


def test_errors_name_the_line_of_the_user():
    line = test_errors_name_the_line_of_the_user.__code__.co_firstlineno + 3
    with pytest.raises(TypeError, match=f"test_control_flow_errors.py:{line}: scan body"):
        lax.scan(lambda c, x: (c + 1.5, c), np.arange(2), XS)


def test_python_branches_in_bodies_are_the_usual_error():
    def body(c, x):
        return (c if c > 0 else -c), x

    with pytest.raises(errors.TracerBoolConversionError, match="'c'"):
        transpile.jit(lambda: lax.scan(body, 1.0, XS), python_control_flow=False)()
    assert lax.scan(body, 1.0, XS)[0] == 1.0
