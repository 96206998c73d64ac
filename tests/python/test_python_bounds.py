"""`jit(f, check_bounds=True)`: indices out of range end the call as in NumPy."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import ShapeDtypeStruct


def one(x, i):
    return x[i] * 2


def of_matrix(x, i):
    return x[i % 7, i]


def stored(x, i):
    x = x.copy()
    x[i] = 3.0
    x[i - 1] += 1
    return x


def walked(x, i):
    total = 0.0
    while total < 100:
        total = total + x[i]
        i += 1
    return total


X = np.arange(5.0)
SQUARE = np.arange(25.0).reshape(5, 5)


@pytest.mark.parametrize(
    ("f", "x", "i"),
    [
        (one, X, 4),
        (one, X, -5),
        (one, X, 5),
        (one, X, -6),
        (one, X, np.array([[0, 4], [-5, 1]])),
        (one, X, np.array([[0, 4], [-6, 9]])),
        (one, X, np.zeros(0, int)),
        (of_matrix, SQUARE, 3),
        (of_matrix, SQUARE, 5),
        (of_matrix, SQUARE, 12),
        (stored, X, 3),
        (stored, X, 5),
        (stored, X, -5),
        (stored, X, np.array([1, 7])),
        (walked, X, 2),
        (walked, 50 * X, 2),
    ],
)
@one_in(3)
def test_indices_end_calls_as_in_numpy(f, x, i):
    compiled = transpile.jit(f, check_bounds=True)
    try:
        wanted = f(x, i)
    except IndexError as error:
        with pytest.raises(IndexError) as caught:
            compiled(x, i)
        assert str(caught.value) == str(error)
    else:
        np.testing.assert_array_equal(compiled(x, i), wanted)


def test_without_it_indices_are_brought_into_the_range():
    assert transpile.jit(one)(X, 9) == 8.0
    assert "return 1001;" not in transpile.jit(one).lower(X, 1).as_text()


def test_runtime_sizes_gradients_and_batches():
    (n,) = transpile.dims("n", "n >= 1")
    sized = transpile.jit(one, check_bounds=True).lower(ShapeDtypeStruct((n,), np.float64), 1)
    assert sized.compile()(X, 4) == 8.0
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        sized.compile()(X, 5)
    slope = transpile.jit(transpile.grad(one), check_bounds=True)
    np.testing.assert_array_equal(slope(X, 1), [0.0, 2.0, 0.0, 0.0, 0.0])
    with pytest.raises(IndexError, match="index -6 is out of bounds for axis 0 with size 5"):
        slope(X, -6)
    batch = transpile.jit(transpile.vmap(one, in_axes=(None, 0)), check_bounds=True)
    np.testing.assert_array_equal(batch(X, np.array([1, -1])), [2.0, 8.0])
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        batch(X, np.array([1, 7]))


def test_a_loop_that_has_ended_does_not_ask_its_condition():
    def leading(x):
        count = 0
        while x[count] > 0:
            count += 1
            if count == len(x):
                break
        return count

    def next_greater(x):
        stack, result = [], np.full(len(x), -1.0)
        for i in range(len(x)):
            if stack:
                while stack[-1] <= x[i]:
                    stack.pop()
                    if not stack:
                        break
            if stack:
                result[i] = stack[-1]
            stack.append(x[i])
        return result

    checked = transpile.jit(leading, check_bounds=True)
    for x in (X + 1, X - 1, np.array([2.0, 1.0, -1.0, 3.0])):
        assert checked(x) == leading(x)
        np.testing.assert_array_equal(transpile.jit(next_greater)(x), next_greater(x))
