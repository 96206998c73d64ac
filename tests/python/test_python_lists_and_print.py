"""Lists indexed by traced numbers, and `print`, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import transpile
from transpile import errors


def check(function, *cases):
    """The results are those of Python."""
    compiled = transpile.jit(function)
    for case in cases:
        np.testing.assert_allclose(compiled(*case), function(*case), rtol=1e-12)


WEIGHTS = (2.0, 3, 5.5, -1)
TABLE = [[1, 2, 3], [4, 5, 6]]


def of_numbers(n, x):
    own = [x, x * 2, 7.0]
    s = 0.0
    for i in range(n):
        s = s * 0.5 + WEIGHTS[i] * own[-1 - i % 3]
    return s


def of_lists(i, j):
    return TABLE[i][j] + (TABLE[j % 2][i] if i > 0 else 0)


def of_pairs(i):
    name, row = [(1.0, np.arange(3)), (2.0, np.arange(3) * 2)][i]
    return name * row


def test_lists_are_indexed_by_traced_numbers():
    check(of_numbers, (0, 1.5), (4, 1.5), (3, -2.0))
    check(of_lists, (0, 2), (1, 0), (-1, -1))
    check(of_pairs, (0,), (1,))


def of_unlike(i):
    return [np.ones(2), np.ones(3)][i]


def test_lists_of_unlike_items_are_not():
    with pytest.raises(errors.TracerError, match="as an index or a Python int"):
        transpile.jit(lambda x: of_unlike(x.argmax()))(np.arange(2.0))
    np.testing.assert_array_equal(transpile.jit(of_unlike)(1), of_unlike(1))  # becomes static


def prints(x, n):
    print("begin", x, n)
    if x > 0:
        print("positive")
    for i in range(n):
        print(f"{i}: {x:.2f}", [x, i], sep="; ", end=".\n")
    if n > 1:
        print(np.array([1, 2]) * n, f"{n!r:>4}", {"x": x > 0})
    return x


def test_print_is_called_when_the_program_comes_to_it(capsys):
    compiled = transpile.jit(prints)
    compiled(1.0, 0)
    for case in ((2.5, 2), (-1.0, 1), (0.1, 3)):
        capsys.readouterr()
        prints(*case)
        wanted = capsys.readouterr().out
        compiled(*case)
        assert capsys.readouterr().out == wanted


def refuses(a, n):
    if n > 1:
        raise ValueError(f"not {a}", n)
    return a


def test_exceptions_have_arrays_in_their_texts():
    with pytest.raises(ValueError, match=r"not \[1\. 2\.\]"):
        transpile.jit(refuses)(np.array([1.0, 2.0]), 3)


def test_elements_are_printed_as_numpys_and_numbers_as_pythons(capsys):
    def f(x, n):
        if n > 2:
            print(f"{n:3d} {x[0]!r} {n!r} {n > 1!r}", [x[1], n], end="!\n")
        return x.sum()

    x = np.array([0.5, -1.5])
    f(x, 3)
    wanted = capsys.readouterr().out
    transpile.jit(f)(x, 3)
    assert capsys.readouterr().out == wanted


@np.errstate(divide="ignore")
def quotient(x, n):
    with np.errstate(all="ignore"), np.printoptions(precision=3):
        return x / n if n > 0 else x / 0.0


def test_numpys_error_states_are_no_statements_of_the_program():
    x = np.array([1.5, -2.0, 3.0])
    for n in (4, -1):
        np.testing.assert_array_equal(transpile.jit(quotient)(x, n), quotient(x, n))

    def f(x, n):
        total = 0.0
        for i in range(n):
            try:
                with np.errstate(all="raise"):
                    total += x[i] if x[i] > 0 else 1 / x[i]
            finally:
                total += 1
        return total

    assert transpile.jit(f)(x, 3) == f(x, 3)


def told(x, n):
    print("from", x, n, sep=":")
    made = np.zeros(3)
    print("made", file=None)
    made[0] = x
    if x > 0:
        print("positive", made)
    return made


def test_what_is_printed_while_tracing_is_shown_once(capsys):
    """Also where an attempt has printed before Python asked it for a value."""
    transpile.jit(told)(2.0, 4)
    found = capsys.readouterr().out.splitlines()
    told(2.0, 4)
    assert sorted(found) == sorted(capsys.readouterr().out.splitlines())

    def refused(x):
        print("seen", 1)
        return np.ones(int(x.sum()))[x > 0].item(3)

    with pytest.raises(errors.TracerError):
        transpile.jit(refused, python_control_flow=False)(np.ones(2))
    assert capsys.readouterr().out == "seen 1\n"


def test_what_a_function_inside_prints_while_tracing_is_shown_once(capsys):
    @transpile.jit
    def inner(x):
        print("inner")
        return x * 2 if x > 0 else x

    def outer(x):
        print("outer")
        y = inner(x)
        print("behind")
        return y if y < 9 else -y

    transpile.jit(outer)(3.0)
    assert capsys.readouterr().out.split() == ["outer", "inner", "behind"]
    transpile.xpr(lambda x: print("plain") or x + 1, 1.0)
    assert capsys.readouterr().out == "plain\n"
