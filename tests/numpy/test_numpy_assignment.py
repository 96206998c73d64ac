"""Assignment into traced arrays: what NumPy gives, through views, in place, and on arguments."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import one_in

import transpile
from transpile import numpy as jnp
from transpile.errors import UnsupportedError
from transpile.test_util import check_grads
from transpile.transforms.interpret import interpret

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.normal(size=(6, 5)), RANDOM.normal(size=(6, 5))


def check(f, *args):
    """f gives, traced and compiled, what it gives on arrays, and changes its arguments alike."""
    ours, numpys = ([np.array(a) for a in args] for _ in range(2))
    wanted, found = f(*numpys), transpile.jit(f)(*ours)
    for a, b in zip(transpile.tree.leaves(wanted), transpile.tree.leaves(found), strict=True):
        assert np.asarray(a).dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-13)
    for a, b in zip(numpys, ours, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13)


def parts(x):
    z = x * 1
    z[0] = 1
    z[1:3, ::2] = 7
    z[:, -1] = z[:, 0]
    z[..., 2] = np.arange(6)
    z[-1, -2] = 5
    z[::-2, None, 1:3] = x[0:3, None, 0:2]
    return z


def swapped(x):
    z, row = x * 1, x[0] * 1
    row[0], row[1] = row[1], row[0]  # NumPy's scalars are no views of the array
    held, z[1, 2] = z[1, 2], 9
    z[3, 3] = held
    corner, z[5, 4] = z[5, 4, ...], 3  # with an Ellipsis it is a view
    few = z[[0, 1]]  # what an array of indices takes is no view either
    z[0] = 7
    few[1] = 8
    whole = z[[0, 1, 2, 3, 4, 5]]
    z[[0, 1]] = few
    return z, row, held, corner, few, whole


def item_again(x):
    z = x * 1
    part, element = z[1:3], z[4, 4]
    z[...] = z[::-1] * 1
    z[4, 4] = element
    z[1:3] = part  # what is there already
    z[2:3], z[1:2] = part[:1], part[1:]
    return z


def views(x):
    z = x * 1
    row, turned, flat, every = z[2], z.T, z.reshape(-1), z[::2]
    row[:] = 0
    turned[0] = 5
    flat[3] = 9
    every[1, 1] = -1
    inner = turned[1:4][::-1]
    inner[0, 2:] = 11
    return z, row, turned, flat, every, inner


def overlapping(x):
    z = x * 1
    a, b = z[1:], z[:-1]
    a[:] = b
    b += 1
    a *= 2
    z[2:] -= z[:-2]
    return z, a, b


def same_array(x, y):
    z = x * 1
    other = z
    other += y
    z[...] = z[::-1]
    return z, other


def copies(x):
    z = x * 1
    kept = [z.copy(), np.concatenate([z]), z.astype(float), z.flatten(), jnp.array(z), +z]
    kept += [np.where(True, z, 0), np.tile(z, 1), np.copy(z), np.repeat(z, 1, 0), z[:] * 1]
    z[0] = 99
    return kept


def shared(x):
    z = x * 1
    flipped, squeezed, halves = np.flip(z, 0), np.squeeze(z[None]), np.split(z, 2)
    flipped[0] = 1
    squeezed[2, 2] = 8
    halves[1][...] = 0
    np.swapaxes(z, 0, 1)[1, 1] = 4
    z.ravel()[7] = 3
    jnp.asarray(z)[0, 0] = 6
    return z, flipped, squeezed, halves


def by_rows(x):
    z = np.zeros_like(x)
    for i in range(6):
        z[i] = x[i] * i + (z[i - 1] if i else 0)
    return z


def scalars_stay(x):
    s = x.sum()
    t = s
    s += 1
    return s, t


def from_another(x):
    z = x * 1
    z[:] = x
    z[0, 0] = 5
    return z, x * 2


def arguments(x, y):
    x[0] = y[0]
    x += 1
    y[1:, 1:] *= x[:-1, :-1]
    return x.sum(), x


def integers(x):
    n = (x * 10).astype(np.int32)
    n //= 3
    n[0] = 2.75  # truncated
    n[1] <<= 2
    return n


FUNCTIONS = [
    (parts, (X,)),
    (swapped, (X,)),
    (item_again, (X,)),
    (views, (X,)),
    (overlapping, (X,)),
    (same_array, (X, Y)),
    (copies, (X,)),
    (shared, (X,)),
    (by_rows, (X,)),
    (scalars_stay, (X,)),
    (from_another, (X,)),
    (arguments, (X, Y)),
    (integers, (X,)),
]


@pytest.mark.parametrize(("f", "args"), FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS])
@one_in(3)
def test_assignments_do_what_they_do_in_numpy(f, args):
    check(f, *args)


KINDS = ["slice", "transpose", "reverse", "flat", "set", "add", "put", "few", "swap", "again"]


@st.composite
def programs(draw):
    """Steps on a list of arrays: views of one another, assignments to them."""
    steps = []
    for _ in range(draw(st.integers(2, 7))):
        kind = draw(st.sampled_from(KINDS))
        steps.append((kind, draw(st.integers(0, 7)), draw(st.integers(0, 3))))
    return steps


def run_program(steps):
    def f(x):
        arrays = [x * 1.0]
        for kind, which, number in steps:
            a = arrays[which % len(arrays)]
            match kind:
                case "slice":
                    arrays.append(a[number % len(a) :] if number % 2 else a[:: number + 1])
                case "transpose":
                    arrays.append(a.T)
                case "reverse":
                    arrays.append(a[::-1])
                case "flat":
                    arrays.append(a[0])
                case "set":
                    a[number % len(a)] = number + 0.5
                case "add":
                    a += number
                case "few":
                    arrays.append(a[[*range(number % len(a) + 1)]])
                case "swap":
                    first, last = (0,) * a.ndim, (-1,) * a.ndim
                    a[first], a[last] = a[last], a[first]
                case "again":
                    other = arrays[number % len(arrays)]
                    for key in (slice(1, None), slice(None, None, 2), 0):
                        if other[key].shape == a[key].shape:
                            a[key] = other[key]
                case "put":
                    other = arrays[number % len(arrays)]
                    if other.shape == a.shape:
                        a[...] = other * 2
            if arrays[-1].ndim == 0 or arrays[-1].size == 0:
                arrays.pop()
        return arrays

    return f


@given(programs())
@settings(max_examples=100, deadline=None)
def test_views_of_views_see_what_is_assigned(steps):
    f = run_program(steps)
    x = np.arange(12.0).reshape(4, 3)
    wanted = f(x)
    graph = transpile.make_jaxpr(f)(x)
    found = interpret(graph, [x])
    for a, b in zip(wanted, found, strict=False):
        np.testing.assert_array_equal(b, a)


def test_an_update_of_an_item_is_written_once():
    def f(x, v):
        x[2] += v
        x[::2, 1] *= 3

    graph = transpile.make_jaxpr(f)(X, X[0])
    names = [equation.primitive.name for equation in graph.equations]
    assert names.count("dynamic_update_slice") == 1
    assert names.count("scatter") == 1


# -------------------------------------------------------------------------------------- arguments


def test_an_argument_holds_its_new_values_in_any_layout():
    f = transpile.jit(lambda x: x.__setitem__(0, 7))
    for array in (np.zeros((3, 4)), np.zeros((4, 3)).T, np.zeros((6, 8))[::2, ::2]):
        f(array)
        assert (array[0] == 7).all() and (array[1:] == 0).all()


def test_an_argument_that_is_returned_is_the_result():
    @transpile.jit
    def f(x):
        x += 1
        return x, x * 2

    x = np.zeros(5)
    same, twice = f(x)
    assert same is x and (x == 1).all() and (twice == 2).all()


def test_arguments_in_containers_and_stages():
    @transpile.jit
    def f(state, n):
        state["count"][...] += n
        state["sum"] = state["sum"] + n  # the caller's dict is its own
        return state["sum"]

    state = {"count": np.zeros(3), "sum": np.ones(3)}
    assert (f(state, 2.0) == 3).all()
    assert (state["count"] == 2).all() and (state["sum"] == 1).all()
    compiled = f.lower(state, 2.0).compile()
    compiled(state, 3.0)
    assert (state["count"] == 5).all()
    assert f.eval_shape(state, 2.0).shape == (3,)


def test_an_argument_that_may_not_be_written_is_an_error():
    f = transpile.jit(lambda x: x.__setitem__(0, 7))
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="destination is read-only: argument 'x'"):
        f(x)


def test_branches_on_values_and_assignments():
    @transpile.djit
    def f(x):
        if x[0] > 0:
            x[1] = 7
        return x[1] * 2

    x = np.ones(3)
    assert f(x) == 14 and x[1] == 7


def test_under_derivatives_the_callers_array_stays():
    def f(x):
        x[1:] *= x[:-1]
        x[0] = 0
        return (x * x).sum()

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(transpile.grad(f)(x), [8, 40, 24])
    assert (x == [1, 2, 3]).all()


def test_derivatives_and_batches_go_through_assignments():
    def f(x):
        z = np.sin(x)
        z[1:] += z[:-1] * 2
        z[:, ::2] *= z[:, 1:2]
        z.T[0] = x[:, 1]
        return z

    check_grads(f, (X,), order=2)
    batched = transpile.vmap(f)(np.stack([X, Y]))
    np.testing.assert_allclose(batched, np.stack([f(X), f(Y)]))


# ------------------------------------------------------------------------------------- the program


def test_rows_that_are_assigned_in_turn_are_written_once():
    text = transpile.jit(by_rows).lower(X).as_text()
    assert text.count("for (int64_t") <= 2 * 6  # no copy of the whole array for each row


# ----------------------------------------------------------------------------------------- errors

ERRORS = [
    (
        lambda z: z.__setitem__(slice(0, 2), z[0:3]),
        "could not broadcast input array from shape (3,5) into shape (2,5)",
    ),
    (lambda z: z.__setitem__(6, 0), "index 6 is out of bounds for axis 0 with size 6"),
    (
        lambda z: z.__setitem__((0, 0, 0), 0),
        "too many indices for array: array is 2-dimensional, but 3 were indexed",
    ),
    (
        lambda z: z.astype(int).__iadd__(1.5),
        "Cannot cast ufunc 'add' output from dtype('float64') to dtype('int64') with casting "
        "rule 'same_kind'",
    ),
    (
        lambda z: z[0].__iadd__(z),
        "non-broadcastable output operand with shape (5,) doesn't match the broadcast shape (6,5)",
    ),
]


@pytest.mark.parametrize(("f", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors_are_numpys(f, text):
    with pytest.raises((ValueError, IndexError, TypeError), match=re.escape(text)):
        f(X * 1)
    with pytest.raises((ValueError, IndexError, TypeError), match=re.escape(text)) as caught:
        transpile.make_jaxpr(lambda x: f(x * 1))(X)
    assert "test_numpy_assignment.py" in str(caught.value)


def test_an_array_of_another_traced_function_is_not_assigned_to():
    def f(x):
        z = x * 1
        transpile.grad(lambda t: z.__setitem__(0, t) or t)(1.0)
        return z

    with pytest.raises(UnsupportedError, match="assigns into an array of f, which is another"):
        transpile.jit(f)(X)


def into(x, y):
    z, mask = np.zeros_like(x), x > 0
    same = np.add(x, y, out=z)
    np.multiply(x[0:2], 2, out=z[0:2], where=mask[0:2])
    np.sin(z[2], z[3])
    fraction, whole = np.zeros_like(x), np.zeros_like(x)
    np.modf(x * 3, out=(fraction, whole))
    total = np.zeros_like(x[0])
    np.sum(x, axis=0, out=total)
    np.cumsum(x, axis=1, out=fraction[:, :])
    return z, same, fraction, whole, total


SURROUNDING = np.zeros((6, 5))


def test_out_takes_results():
    check(into, X, Y)
    with pytest.raises(TypeError, match="which is not traced"):
        transpile.make_jaxpr(lambda x: np.add(x, x, out=SURROUNDING))(X)
    check(lambda x: np.add(x, x, out=np.zeros(X.shape)), X)


def test_arrays_that_the_function_makes():
    def ours(x):
        z = jnp.zeros((3, 2))
        z[1] = x
        w = jnp.full(2, 5.0)
        w += x
        return z, w

    z, w = transpile.jit(ours)(np.arange(2.0))
    assert z.tolist() == [[0, 0], [0, 1], [0, 0]] and w.tolist() == [5, 6]


def by_arrays(x, n, k):
    z = x * 1
    row = z[1]
    z[n] = 5
    z[n, ::2] += 1
    z[np.array([0, 2, 2]), np.array([1, 1, 3])] = np.array([7.0, 8.0, 9.0])
    z[k] = z[k - 1] * 2
    z[z > 1] = -1
    row[z[0] < 0] = 0.5
    z[[4, 5]] = z[[5, 4]]
    return z, row


def test_elements_that_arrays_choose():
    check(by_arrays, X, np.array([3, 0, 3]), np.int64(2))


def test_repeated_indices_count_once_unless_the_ufunc_is_told():
    def f(x, n):
        z = x * 1
        z[n] += 1  # NumPy reads, adds, writes: a repeated index counts once
        np.add.at(z, n, 10.0)  # and here every time
        return z

    check(f, np.zeros(5), np.array([1, 1, 3]))
