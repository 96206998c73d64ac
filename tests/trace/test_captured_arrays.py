"""Arrays that functions take from their surroundings, and traced indices into them."""

import functools

import numpy as np
import pytest

import transpile
from transpile import errors, lax
from transpile.functional.gradients import grad
from transpile.functional.vectorize import vmap

TABLE = np.arange(5.0) ** 2
PARAMETERS = {"w": np.arange(12.0).reshape(3, 4), "names": ["a"]}


def looked_up(i):
    return TABLE[i]


def indirect(i):
    return looked_up(i) + 1


def test_a_global_array():
    assert transpile.jit(looked_up)(3) == 9.0
    assert transpile.jit(indirect)(3) == 10.0
    np.testing.assert_array_equal(vmap(indirect)(np.array([0, 4])), [1.0, 17.0])


def test_an_array_in_a_closure_and_in_containers():
    table = np.arange(3) * 10
    nested = (table, [{"x": table + 1}])
    f = transpile.jit(lambda i: table[i] + nested[1][0]["x"][i] + PARAMETERS["w"][i, i])
    assert f(2) == 20 + 21 + 10.0


def test_an_array_among_defaults_and_in_partials():
    @transpile.jit
    def of_default(i, table=TABLE):
        return table[i]

    assert of_default(2) == 4.0
    of_partial = functools.partial(lambda table, i, scale: table[i] * scale[i], TABLE, scale=TABLE)
    assert transpile.jit(lambda i: of_partial(i))(2) == 16.0


def test_functions_inside_functions_and_jitted_ones():
    table = np.arange(4.0)
    inner = transpile.jit(lambda i: table[i])

    def outer(i):
        def local(k):
            return inner(k) * TABLE[k]

        return local(i) + (lambda k: table[k])(i)

    assert transpile.jit(outer)(3) == 30.0
    assert grad(lambda x: x * inner(np.int64(2)))(1.0) == 2.0


def recursive(i, depth):
    return TABLE[i] if not depth else recursive(i, depth - 1) + 1


def test_a_function_that_calls_itself():
    assert transpile.jit(lambda i: recursive(i, 3))(2) == 7.0


class Model:
    """Has an array of its own, which stays what it is: arguments are traced, attributes are not."""

    table = np.arange(3.0)

    def look(self, i):
        return TABLE[i]

    def look_at_own(self, i):
        return self.table[i]


def test_methods():
    model = Model()
    assert transpile.jit(model.look)(2) == 4.0
    assert transpile.jit(lambda i: model.look_at_own(i))(2) == model.look_at_own(2)


def test_the_array_is_not_traced_where_that_is_not_needed():
    seen = []

    @transpile.jit
    def f(x):
        seen.append(type(TABLE))
        return x * TABLE

    np.testing.assert_array_equal(f(2.0), 2 * TABLE)
    assert seen == [np.ndarray]


def test_a_change_of_the_array_is_noticed():
    table = np.arange(3.0)
    f = transpile.jit(lambda i: table[i])
    assert f(2) == 2.0
    table[2] = 7.0
    assert f(2) == 7.0


def test_an_array_of_the_surroundings_is_not_assigned_to():
    table = np.zeros(3)

    def body(i, c):
        table[i] = 1.0
        return c + table[i]

    for call in (
        lambda: lax.fori_loop(0, 3, body, 0.0),
        lambda: transpile.jit(lambda i: body(i, 1.0))(2),
        lambda: vmap(body)(np.arange(3), np.ones(3)),
    ):
        with pytest.raises(errors.UnsupportedError, match="array of its surroundings"):
            call()
    assert not table.any()


def test_what_remains_of_errors_is_raised():
    class Library:
        """Wants a number, as code outside of NumPy does."""

        def __call__(self, i):
            return len([1, 2, 3][:i])

    both = lambda i: TABLE[i] + Library()(i)
    with pytest.raises(errors.TracerIntegerConversionError, match="was used as an index"):
        transpile.jit(both, python_control_flow=False)(2)
    np.testing.assert_array_equal(transpile.jit(both)(2), both(2))  # i becomes static
    with pytest.raises(ValueError, match="could not be broadcast together"):
        transpile.jit(lambda i: TABLE[i] + TABLE + TABLE[:3])(2)


def test_functions_keep_their_names_and_attributes():
    def body(c, i):
        return c + TABLE[i], body.__name__ == "body" and body.mark

    body.mark = 7
    carry, marks = lax.scan(body, 0.0, np.arange(3))
    assert carry == 5.0
    np.testing.assert_array_equal(marks, [7, 7, 7])
