"""gather and scatter of `lax` against their definition, element by element."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile
from transpile import lax
from transpile.test_util import check_grads

COMBINE = {
    "scatter": lambda old, new: new,
    "scatter_add": lambda old, new: old + new,
    "scatter_sub": lambda old, new: old - new,
    "scatter_mul": lambda old, new: old * new,
    "scatter_min": min,
    "scatter_max": max,
}
MODES = ("clip", "fill", "promise_in_bounds")


class Case:
    """Drawn dimension numbers: an operand, indices, and the slices that they mean."""

    def __init__(self, draw):
        ndim = draw(st.integers(1, 4))
        self.shape = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
        kinds = [draw(st.sampled_from(["window", "dropped", "batch"])) for _ in range(ndim)]
        self.batching = [a for a, k in enumerate(kinds) if k == "batch"]
        self.dropped = [a for a, k in enumerate(kinds) if k == "dropped"]
        self.window = [a for a, k in enumerate(kinds) if k == "window"]
        others = [draw(st.integers(0, 3)) for _ in range(draw(st.integers(0, 2)))]
        self.batch = [*[self.shape[a] for a in self.batching], *others]
        order = draw(st.permutations(range(len(self.batch))))
        self.batch = [self.batch[k] for k in order]
        self.index_batching = [order.index(k) for k in range(len(self.batching))]
        free = [a for a in range(ndim) if a not in self.batching]
        chosen = draw(st.permutations(free)) if free else []
        self.start_map = chosen[: draw(st.integers(0, len(chosen)))]
        self.sizes = tuple(
            draw(st.integers(1, self.shape[a])) if a in self.window else 1 for a in range(ndim)
        )
        random = np.random.default_rng(draw(st.integers(0, 1000)))
        self.x = random.integers(-9, 9, self.shape).astype(float)
        self.indices = random.integers(-2, 5, (*self.batch, len(self.start_map)))
        rank = len(self.batch) + len(self.window)
        places = draw(st.permutations(range(rank)))
        self.window_dims = tuple(sorted(places[: len(self.window)]))
        self.mode = draw(st.sampled_from(MODES))
        if self.mode == "promise_in_bounds":
            high = [self.shape[a] - self.sizes[a] for a in self.start_map]
            self.indices = np.clip(self.indices, 0, np.array(high, int))
        sizes, batch = iter([self.sizes[a] for a in self.window]), iter(self.batch)
        self.updates_shape = tuple(
            next(sizes) if k in self.window_dims else next(batch) for k in range(rank)
        )
        self.updates = random.integers(-9, 9, self.updates_shape).astype(float)

    def places(self):
        """(place in the slices' array, place in the operand or None) of every element."""
        for place in np.ndindex(*self.updates_shape):
            at = [p for k, p in enumerate(place) if k not in self.window_dims]
            inside = [p for k, p in enumerate(place) if k in self.window_dims]
            start = [0] * len(self.shape)
            for component, axis in enumerate(self.start_map):
                start[axis] = int(self.indices[(*at, component)])
            high = [d - n for d, n in zip(self.shape, self.sizes, strict=True)]
            valid = all(0 <= s <= h for s, h in zip(start, high, strict=True))
            start = [min(max(s, 0), h) for s, h in zip(start, high, strict=True)]
            for axis, dim in zip(self.batching, self.index_batching, strict=True):
                start[axis] = at[dim]
            for axis, offset in zip(self.window, inside, strict=True):
                start[axis] += offset
            yield place, tuple(start) if valid or self.mode != "fill" else None

    def gather(self, x, indices):
        numbers = lax.GatherDimensionNumbers(
            self.window_dims,
            tuple(self.dropped),
            tuple(self.start_map),
            tuple(self.batching),
            tuple(self.index_batching),
        )
        return lax.gather(x, indices, numbers, self.sizes, mode=self.mode)

    def scatter(self, name, x, indices, updates):
        numbers = lax.ScatterDimensionNumbers(
            self.window_dims,
            tuple(self.dropped),
            tuple(self.start_map),
            tuple(self.batching),
            tuple(self.index_batching),
        )
        return getattr(lax, name)(x, indices, updates, numbers, mode=self.mode)

    def gathered(self):
        result = np.full(self.updates_shape, np.nan)
        for place, source in self.places():
            if source is not None:
                result[place] = self.x[source]
        return result

    def scattered(self, name):
        result = self.x.copy()
        # In the order of the indices, as the last of several is the one that counts.
        rank = len(self.batch)
        others = [k for k in range(len(self.updates_shape)) if k not in self.window_dims]
        places = sorted(self.places(), key=lambda p: [p[0][k] for k in others])
        assert rank == len(others)
        for place, target in places:
            if target is not None:
                result[target] = COMBINE[name](result[target], self.updates[place])
        return result


cases = st.composite(Case)()


@settings(max_examples=60, deadline=None)
@given(cases)
def test_gather_takes_slices(case):
    np.testing.assert_array_equal(case.gather(case.x, case.indices), case.gathered())


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(sorted(COMBINE)))
def test_scatter_puts_slices(case, name):
    found = case.scatter(name, case.x, case.indices, case.updates)
    np.testing.assert_array_equal(found, case.scattered(name))


@settings(max_examples=4, deadline=None)
@given(st.lists(cases, min_size=12, max_size=12))
def test_compiled_gathers_and_scatters_are_the_same(several):
    names = sorted(COMBINE)

    def everything(arguments):
        found = []
        for number, (case, (x, indices, updates)) in enumerate(
            zip(several, arguments, strict=True)
        ):
            found.append(case.gather(x, indices))
            found.append(case.scatter(names[number % 6], x, indices, updates))
        return found

    found = transpile.jit(everything)([(c.x, c.indices, c.updates) for c in several])
    for number, case in enumerate(several):
        np.testing.assert_array_equal(found[2 * number], case.gathered())
        np.testing.assert_array_equal(found[2 * number + 1], case.scattered(names[number % 6]))


@settings(max_examples=15, deadline=None)
@given(cases)
def test_vmap_is_a_loop(case):
    x = np.stack([case.x, case.x[::-1] + 1, case.x * 2])
    indices = np.stack([case.indices, case.indices, case.indices])
    found = transpile.vmap(case.gather)(x, indices)
    for k in range(3):
        np.testing.assert_array_equal(found[k], case.gather(x[k], indices[k]))
    found = transpile.vmap(lambda x, i: case.scatter("scatter_add", x, i, case.updates))(x, indices)
    for k in range(3):
        expected = case.scatter("scatter_add", x[k], indices[k], case.updates)
        np.testing.assert_array_equal(found[k], expected)


@settings(max_examples=15, deadline=None)
@given(cases, st.sampled_from(["scatter", "scatter_add", "scatter_sub"]))
def test_derivatives_are_adjoint_and_right(case, name):
    if case.updates.size == 0:
        return
    if case.mode == "fill" and np.isnan(case.gathered()).any():
        case.mode = "clip"
    check_grads(lambda x: case.gather(x, case.indices), (case.x,), 1)
    check_grads(lambda x, u: case.scatter(name, x, case.indices, u), (case.x, case.updates), 1)


def test_products_of_unique_places_have_derivatives():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    at = np.array([[2], [0]])

    def product(x, u):
        return lax.scatter_mul(x, at, u, numbers, unique_indices=True)

    check_grads(product, (np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])), 2)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i2", "u1", "?"])
def test_what_is_not_there_is_nan_or_the_extreme_integer(dtype):
    """As jax.numpy's fill: NaN, the smallest signed, the largest unsigned integer, True."""
    x = np.array([0, 1, 1]).astype(dtype)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    found = lax.gather(x, np.array([[1], [3]]), numbers, (1,), mode="fill")
    assert found.dtype == x.dtype
    assert found[0] == x[1]
    kind = np.dtype(dtype).kind
    if kind in "fc":
        assert np.isnan(found[1])
    else:
        limits = {"i": np.iinfo("i2").min, "u": np.iinfo("u1").max, "b": True}
        assert found[1] == limits[kind]


def test_a_fill_value_of_ones_own():
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    x = np.arange(6.0).reshape(3, 2)
    found = lax.gather(x, np.array([[7], [1]]), numbers, (1, 2), mode="fill", fill_value=-1)
    np.testing.assert_array_equal(found, [[-1, -1], [2, 3]])


def test_a_function_is_applied_once_to_each_element():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    found = lax.scatter_apply(
        np.arange(4.0), np.array([[1], [1], [3], [9]]), lambda x: x * 10, numbers, update_shape=(4,)
    )
    np.testing.assert_array_equal(found, [0, 10, 2, 30])


def test_large_unsigned_indices_are_out_of_range():
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    at = np.array([[2**64 - 1], [1]], np.uint64)
    found = lax.gather(np.arange(3.0), at, numbers, (1,), mode="fill")
    np.testing.assert_array_equal(found, [np.nan, 1])
