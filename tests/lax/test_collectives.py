"""Collectives under `vmap(axis_name=...)`, beside NumPy on the values of all participants."""

import itertools

import numpy as np
import pytest

import transpile
from transpile import custom_vjp, grad, jvp, lax, vjp, vmap

RANDOM = np.random.default_rng(16)

# ----------------------------------------------------------------- what each participant should get


def members_of(groups, count):
    """For each participant the participants of its group, in order."""
    groups = [range(count)] if groups is None else groups
    return {k: list(group) for group in groups for k in group}


def reduced(function):
    def of_all(xs, groups):
        members = members_of(groups, len(xs))
        return [function(np.stack([xs[m] for m in members[k]]), 0) for k in range(len(xs))]

    return of_all


def gathered(xs, groups, axis=0, tiled=False):
    join = np.concatenate if tiled else np.stack
    members = members_of(groups, len(xs))
    return [join([xs[m] for m in members[k]], axis) for k in range(len(xs))]


def scattered(xs, groups, scatter_dimension=0, tiled=False):
    results = []
    for k, members in sorted(members_of(groups, len(xs)).items()):
        total = sum(xs[m] for m in members)
        part = np.split(total, len(members), scatter_dimension)[members.index(k)]
        results.append(part if tiled else part.squeeze(scatter_dimension))
    return results


def exchanged(xs, groups, split_axis, concat_axis, tiled=False):
    results = []
    for k, members in sorted(members_of(groups, len(xs)).items()):
        parts = [np.split(xs[m], len(members), split_axis)[members.index(k)] for m in members]
        if tiled:
            results.append(np.concatenate(parts, concat_axis))
        else:
            results.append(np.stack([p.squeeze(split_axis) for p in parts], concat_axis))
    return results


def permuted(xs, groups, perm):
    results = [np.zeros_like(x) for x in xs]
    for source, target in perm:
        results[target] = xs[source]
    return results


REDUCTIONS = {"psum": np.sum, "pmean": np.mean, "pmax": np.max, "pmin": np.min}
ORACLES = {
    **{name: reduced(function) for name, function in REDUCTIONS.items()},
    "all_gather": gathered,
    "psum_scatter": scattered,
    "all_to_all": exchanged,
    "ppermute": permuted,
    "pbroadcast": lambda xs, groups, source: [xs[source]] * len(xs),
}


def random_groups(count, even):
    order = [int(k) for k in RANDOM.permutation(count)]
    if even:
        size = RANDOM.choice([d for d in range(1, count + 1) if count % d == 0])
        return [order[k : k + size] for k in range(0, count, size)]
    cut = int(RANDOM.integers(1, count)) if count > 1 else 1
    return [g for g in (order[:cut], order[cut:]) if g]


def drawn(name, count, may_group):
    """A value's shape, the groups and the params of a call."""
    shape = [int(d) for d in RANDOM.integers(1, 4, RANDOM.integers(0, 3))]
    even = name not in REDUCTIONS
    groups = random_groups(count, even) if may_group and RANDOM.random() < 0.5 else None
    size = len(groups[0]) if groups else count
    if name == "all_gather":
        tiled = bool(RANDOM.random() < 0.5) and bool(shape)
        return (
            shape,
            groups,
            {
                "axis": int(RANDOM.integers(len(shape) + (not tiled))),
                "tiled": tiled,
            },
        )
    if name in ("psum_scatter", "all_to_all"):
        shape = shape or [1]
        tiled = bool(RANDOM.random() < 0.5)
        split = int(RANDOM.integers(len(shape)))
        shape[split] = size * (int(RANDOM.integers(1, 3)) if tiled else 1)
        if name == "psum_scatter":
            return shape, groups, {"scatter_dimension": split, "tiled": tiled}
        concat = int(RANDOM.integers(len(shape)))
        return shape, groups, {"split_axis": split, "concat_axis": concat, "tiled": tiled}
    if name == "ppermute":
        pairs = int(RANDOM.integers(count + 1))
        ends = [RANDOM.permutation(count)[:pairs] for _ in range(2)]
        return shape, None, {"perm": [(int(s), int(t)) for s, t in zip(*ends, strict=True)]}
    if name == "pbroadcast":
        return shape, None, {"source": int(RANDOM.integers(count))}
    return shape, groups, {}


def call(name, x, names, groups, params):
    params = dict(params)
    if name in ("ppermute", "pbroadcast"):
        return getattr(lax, name)(x, names, **params)
    return getattr(lax, name)(x, names, axis_index_groups=groups, **params)


@pytest.mark.parametrize("name", ORACLES)
def test_collectives_are_what_they_are_on_all_values(name):
    for _ in range(25):
        count = int(RANDOM.integers(1, 7))
        shape, groups, params = drawn(name, count, True)
        xs = RANDOM.integers(-9, 9, (count, *shape)).astype(float)
        got = vmap(lambda x: call(name, x, "i", groups, params), axis_name="i")(xs)
        want = np.stack(ORACLES[name](list(xs), groups, **params))
        np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=f"{shape} {groups} {params}")


@pytest.mark.parametrize("name", ORACLES)
def test_collectives_over_several_axes(name):
    """Of three nested axes some, in any order: the others are independent."""
    sizes = {"i": 2, "j": 3, "k": 2}
    for number in range(8):
        chosen = list(itertools.permutations("ijk", 2 if number % 2 else 3))
        names = chosen[int(RANDOM.integers(len(chosen)))]
        count = int(np.prod([sizes[n] for n in names]))
        shape, groups, params = drawn(name, count, True)
        xs = RANDOM.integers(-9, 9, (*sizes.values(), *shape)).astype(float)

        def of_one(x, name=name, names=names, groups=groups, params=params):
            return call(name, x, names, groups, params)

        mapped = of_one
        for axis in "kji":
            mapped = vmap(mapped, axis_name=axis)
        rest = [n for n in "ijk" if n not in names]
        order = ["ijk".index(n) for n in (*rest, *names)]
        values = xs.transpose(*order, *range(3, xs.ndim)).reshape(-1, count, *shape)
        want = np.stack([np.stack(ORACLES[name](list(v), groups, **params)) for v in values])
        want = want.reshape(*[sizes[n] for n in (*rest, *names)], *want.shape[2:])
        want = want.transpose(*np.argsort(order), *range(3, want.ndim))
        np.testing.assert_allclose(mapped(xs), want, rtol=1e-14, err_msg=f"{names} {groups}")


@pytest.mark.parametrize("name", ORACLES)
def test_values_that_all_participants_share(name):
    """An operand that is not mapped, and a constant, are the same for all."""
    for _ in range(6):
        count = int(RANDOM.integers(1, 5))
        shape, groups, params = drawn(name, count, True)
        x = RANDOM.integers(-9, 9, tuple(shape)).astype(float)
        want = np.stack(ORACLES[name]([x] * count, groups, **params))
        for given in (lambda x: x, lambda _, x=x: x):
            mapped = vmap(
                lambda x, given=given: call(name, given(x), "i", groups, params),
                in_axes=None,
                axis_size=count,
                axis_name="i",
            )
            np.testing.assert_allclose(mapped(x), want, rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in ORACLES if n not in ("pmax", "pmin")])
def test_derivatives_outside_of_vmap_are_those_of_what_it_computes(name):
    for _ in range(4):
        shape, groups, params = drawn(name, 4, True)
        xs, ts = RANDOM.normal(size=(2, 4, *shape))
        function = vmap(lambda x: call(name, x, "i", groups, params), axis_name="i")
        out, tangent = jvp(function, (xs,), (ts,))
        np.testing.assert_allclose(tangent, function(ts), rtol=1e-13, atol=1e-13)
        ct = RANDOM.normal(size=np.shape(out))
        (back,) = vjp(function, xs)[1](ct)
        np.testing.assert_allclose((back * ts).sum(), (ct * tangent).sum(), rtol=1e-11)


# -------------------------------------------------------------------------------- inside of a vmap

X = np.arange(12.0).reshape(4, 3) / 7


def over_i(function, **keywords):
    return vmap(function, axis_name="i", **keywords)


def test_transposes_inside_of_vmap_sum_what_all_participants_have():
    """The transpose of a sum is a sum, as in JAX: each participant has its own cotangent."""
    got = over_i(grad(lambda x: (lax.psum(x, "i") ** 2).sum()))(X)
    np.testing.assert_allclose(got, np.broadcast_to(8 * X.sum(0), X.shape))
    got = over_i(grad(lambda x: (lax.all_gather(x, "i") ** 2).sum()))(X)
    np.testing.assert_allclose(got, 8 * X)
    weights = np.arange(1.0, 5)
    ring = [(0, 1), (1, 2), (2, 3)]
    got = over_i(grad(lambda x, w: w * lax.ppermute(x, "i", ring)))(X[:, 0], weights)
    np.testing.assert_allclose(got, [2, 3, 4, 0])
    got = over_i(grad(lambda x, w: w * lax.pbroadcast(x, "i", 2)))(X[:, 0], weights)
    np.testing.assert_allclose(got, [0, 0, 10, 0])


def test_extremes_have_a_derivative_only_where_vmap_is_inside():
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'pmax'"):
        over_i(grad(lambda x: lax.pmax(x, "i")))(X[:, 0])
    got = grad(lambda x: over_i(lambda v: lax.pmax(v, "i"))(x)[0])(X[:, 0])
    np.testing.assert_allclose(got, [0, 0, 0, 1])


@pytest.mark.parametrize("outside", [False, True])
def test_the_rules_of_custom_derivatives_may_use_the_axis(outside):
    @custom_vjp
    def mean_of_all(x):
        return lax.pmean(x, "i")

    mean_of_all.defvjp(
        lambda x: (lax.pmean(x, "i"), None), lambda _, ct: (10 * lax.pmean(ct, "i"),)
    )
    weights = np.arange(4.0)
    if outside:
        got = grad(lambda x: (over_i(mean_of_all)(x) * weights).sum())(X[:, 0])
    else:
        got = over_i(grad(lambda x, w: mean_of_all(x) * w))(X[:, 0], weights)
    np.testing.assert_allclose(got, np.full(4, 15.0))


def masked_loop(x):
    """Those that have ended still give their last value to the others."""
    return lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 0.5, lax.psum(c[0], "i")), (x, 0.0))


CONTROL = {
    "scan": lambda x: lax.scan(lambda c, a: (c + lax.psum(a, "i"), c * a), 0.0, x),
    "scan without a carry": lambda x: lax.scan(lambda c, a: (c, a - lax.pmean(a, "i")), None, x)[1],
    "fori": lambda x: lax.fori_loop(0, 3, lambda k, a: a / lax.psum(a, "i"), x),
    "while": lambda x: lax.while_loop(
        lambda c: lax.psum(c.sum(), "i") < 50, lambda c: c + lax.pmax(c, "i"), x
    ),
    "cond": lambda x: lax.cond(
        x[0] > 0.5, lambda a: lax.psum(a, "i"), lambda a: a - lax.axis_index("i"), x
    ),
    "cond of all": lambda x: lax.cond(
        lax.pmax(x[0], "i") > 5, lambda a: a, lambda a: lax.ppermute(a, "i", [(0, 3)]), x
    ),
}


def in_numpy(name):
    """The same, with loops of Python over all participants."""
    rows = X.copy()
    if name == "scan":
        carry = np.concatenate([[0], np.cumsum(X.sum(0))])
        return np.full(4, carry[-1]), carry[:-1] * X
    if name == "scan without a carry":
        return X - X.mean(0)
    if name == "fori":
        for _ in range(3):
            rows = rows / rows.sum(0)
        return rows
    if name == "while":
        while rows.sum() < 50:
            rows = rows + rows.max(0)
        return rows
    if name == "cond":
        return np.where(X[:, :1] > 0.5, X.sum(0), X - np.arange(4)[:, None])
    return np.array([0 * X[0]] * 3 + [X[0]])


@pytest.mark.parametrize("jitted", [False, True])
def test_collectives_in_loops_and_branches(jitted):
    def everything(x):
        return {name: over_i(function)(x) for name, function in CONTROL.items()}

    got = (transpile.jit(everything) if jitted else everything)(X)
    for name in CONTROL:
        for g, w in zip(
            transpile.tree.leaves(got[name]), transpile.tree.leaves(in_numpy(name)), strict=True
        ):
            np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-15, err_msg=name)


def test_a_loop_that_ends_at_other_times_goes_on_for_all():
    got = over_i(masked_loop)(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(got[0], [1, 1, 1])
    # Two iterations: the sums are 0 + 0.5 + 1, then 0.5 + 1 + 1; the second one ends after one.
    np.testing.assert_allclose(got[1], [2.5, 1.5, 0])


def test_batch_norm_is_one_program():
    def normalised(x):
        mean = lax.pmean(x, "batch")
        variance = lax.pmean((x - mean) ** 2, "batch")
        return (x - mean) / np.sqrt(variance + 1e-5)

    x = RANDOM.normal(size=(32, 5))
    want = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)
    function = transpile.jit(vmap(normalised, axis_name="batch"))
    np.testing.assert_allclose(function(x), want, rtol=1e-12)
    assert "psum" not in str(transpile.make_jaxpr(vmap(normalised, axis_name="batch"))(x))


def test_an_inner_axis_hides_an_outer_one_of_its_name():
    got = over_i(over_i(lambda x: lax.psum(x, "i")))(X)
    np.testing.assert_allclose(got, np.repeat(X.sum(1, keepdims=True), 3, 1))


def test_results_that_all_participants_have_need_no_axis():
    total, index = over_i(lambda x: (lax.psum(x, "i"), lax.axis_index("i")), out_axes=(None, 0))(X)
    np.testing.assert_allclose(total, X.sum(0))
    np.testing.assert_array_equal(index, np.arange(4, dtype="int32"))
    assert index.dtype == np.int32


# ---------------------------------------------------------------------------- constants and errors


def test_sums_of_python_numbers_are_python_numbers():
    seen = []

    def function(x):
        both = vmap(
            lambda x: seen.append((lax.psum(3, ("i", "j")), lax.axis_size(("i", "j")))) or x,
            axis_name="j",
        )
        seen.append((lax.psum(1, "i"), lax.psum(2.5, "i"), lax.pmean(3, "i"), lax.axis_size("i")))
        seen.append(lax.psum({"a": 1, "b": (2, [])}, "i"))
        return both(x)

    over_i(function)(X)
    assert seen == [(4, 10.0, 3.0, 4), {"a": 4, "b": (8, [])}, (36, 12)]
    assert [type(v) for v in seen[0]] == [int, float, float, int]


def test_bools_are_summed_as_int32():
    got = over_i(lambda x: (lax.psum(x > 1, "i"), lax.psum(True, "i")))(X)
    assert [g.dtype for g in got] == [np.int32, np.int32]
    np.testing.assert_array_equal(got[0], np.repeat((X > 1).sum(0)[None], 4, 0))
    np.testing.assert_array_equal(got[1], [4] * 4)


def test_the_mean_of_uneven_groups_is_that_of_each():
    groups = [[2, 0, 3], [1]]
    x = np.array([1.0, 2, 4, 7], "float32")
    got = over_i(lambda x: lax.pmean(x, "i", axis_index_groups=groups))(x)
    np.testing.assert_allclose(got, [4, 2, 4, 4])
    assert got.dtype == np.float32
    np.testing.assert_array_equal(
        over_i(lambda x: x * 0 + lax.psum(2, "i", axis_index_groups=groups))(x), [6, 2, 6, 6]
    )


def test_a_dimension_may_be_summed_with_named_axes():
    got = over_i(lambda x: (lax.psum(x, ("i", 0)), lax.pmean(x, (0, "i")), lax.pmax(x, (0,))))(X)
    np.testing.assert_allclose(got[0], [X.sum()] * 4)
    np.testing.assert_allclose(got[1], [X.mean()] * 4)
    np.testing.assert_allclose(got[2], X.max(1))


SIX = [[0, 1], [2]]
ERRORS = [
    (NameError, "unbound axis name: j", lambda x: lax.psum(x, "j")),
    (NameError, "unbound axis name: j", lambda x: lax.axis_index("j")),
    (NameError, "unbound axis name: j", lambda x: lax.axis_size(("i", "j"))),
    (ValueError, "is given twice", lambda x: lax.psum(x, ("i", "i"))),
    (
        ValueError,
        "axis_index_groups must cover all indices exactly once",
        lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2, 3]]),
    ),
    (
        ValueError,
        "axis_index_groups must cover all indices exactly once",
        lambda x: lax.psum(x, "i", axis_index_groups=SIX),
    ),
    (
        ValueError,
        "must all be the same size",
        lambda x: lax.all_gather(x, "i", axis_index_groups=[[0], [1, 2, 3]]),
    ),
    (
        ValueError,
        "axis_index_groups only supported for sums over just named axes",
        lambda x: lax.psum(x, ("i", 0), axis_index_groups=[[0, 1, 2, 3]]),
    ),
    (
        ValueError,
        r"ppermute sources and destinations must be unique, got \[\(0, 1\), \(0, 2\)\]",
        lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]),
    ),
    (ValueError, "must be unique", lambda x: lax.ppermute(x, "i", [(0, 1), (2, 5)])),
    (ValueError, "does not represent a permutation", lambda x: lax.pshuffle(x, "i", [0, 0, 1, 2])),
    (ValueError, "pbroadcast from 4, but the axis has size 4", lambda x: lax.pbroadcast(x, "i", 4)),
    (
        ValueError,
        "operand scatter dimension size 3 must match shard count 4",
        lambda x: lax.psum_scatter(x, "i"),
    ),
    (
        ValueError,
        "tiled reduce_scatter operand scatter dimension size 3 must be divisible by shard_count 4",
        lambda x: lax.psum_scatter(x, "i", tiled=True),
    ),
    (
        ValueError,
        r"equal x.shape\[split_axis\], but they are 4 and 3 respectively",
        lambda x: lax.all_to_all(x, "i", 0, 0),
    ),
    (
        ValueError,
        r"split_axis \(3\) has to be divisible by the size of the named axis i \(4\)",
        lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
    ),
    (
        ValueError,
        "out of bounds for array of dimension 2",
        lambda x: lax.all_gather(x, "i", axis=2),
    ),
]


@pytest.mark.parametrize(("kind", "text", "function"), ERRORS, ids=range(len(ERRORS)))
def test_errors_of_collectives(kind, text, function):
    with pytest.raises(kind, match=text) as caught:
        over_i(function)(X)
    assert "test_collectives.py:" in str(caught.value)


def test_there_is_no_axis_outside_of_a_map():
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.psum(X, "i")
    with pytest.raises(NameError, match="unbound axis name: i"):
        transpile.jit(lambda x: lax.psum(x, "i"))(X)
    over_i(lambda x: x)(X)
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.axis_size("i")
