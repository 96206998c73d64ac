"""`shard_map` over meshes of devices that are threads, beside NumPy on whole arrays."""

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import Mesh, P, grad, lax, make_mesh, shard_map

A = np.random.default_rng(5).normal(size=(8, 12))
B = np.random.default_rng(6).normal(size=(12, 6))


@pytest.fixture(autouse=True)
def four_devices(monkeypatch):
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "4")


def product(mesh):
    """Rows of a over i, the inner dimension over j: partial products are summed."""

    def of_blocks(a, b):
        return lax.psum(a @ b, "j")

    return shard_map(of_blocks, mesh=mesh, in_specs=(P("i", "j"), P("j")), out_specs=P("i", None))


def test_a_product_of_matrices_in_blocks():
    function = product(make_mesh((2, 2), ("i", "j")))
    np.testing.assert_allclose(function(A, B), A @ B)
    np.testing.assert_allclose(transpile.jit(function)(A, B), A @ B)
    loss = lambda a: (function(a, B) ** 2).sum()
    np.testing.assert_allclose(grad(loss)(A), 2 * (A @ B) @ B.T)
    assert function.__name__ == "shard_map_of_blocks"


@pytest.mark.parametrize("jitted", [False, True])
def test_specifications_of_all_kinds(jitted):
    mesh = make_mesh((2, 2), ("i", "j"))

    @transpile.jit if jitted else lambda f: f
    @shard_map(
        mesh=mesh,
        in_specs=({"x": P(("j", "i")), "y": P(None, "i")}, P()),
        out_specs=[P(("j", "i")), P("j", "i"), P(), P(None, None, ("i", "j"))],
    )
    def function(d, k):
        assert d["x"].shape == (2, 12) and d["y"].shape == (8, 6)
        index = lax.axis_index("i") * 10 + lax.axis_index("j")
        return [
            d["x"] * k,
            np.full((1, 1), index),
            lax.psum(d["x"].sum(), ("i", "j")),
            d["y"][None],
        ]

    x, index, total, y = function({"x": A, "y": A * 2}, 3.0)
    np.testing.assert_allclose(x, A * 3)
    np.testing.assert_array_equal(index, [[0, 10], [1, 11]])
    np.testing.assert_allclose(total, A.sum())
    halves = np.split(A * 2, 2, 1)
    np.testing.assert_allclose(y[0], np.concatenate([h for h in halves for _ in range(2)], 1))


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
@one_in(2)
def test_keys_are_cut_as_arrays_are(generator, jitted):
    random = transpile.random
    keys = random.split(random.key(0, impl=generator), 4)
    mesh, specs = make_mesh((2,), ("i",)), (P("i"), {"s": P()})
    draw = lambda k, d: (
        transpile.vmap(random.split)(k)[:, 0],
        transpile.vmap(random.normal)(k) * d["s"],
    )
    mapped = shard_map(draw, mesh=mesh, in_specs=specs, out_specs=P("i"))
    new, drawn = (transpile.jit(mapped) if jitted else mapped)(keys, {"s": 2.0})
    wanted, numbers = draw(keys, {"s": 2.0})
    np.testing.assert_array_equal(random.key_data(new), random.key_data(wanted))
    np.testing.assert_allclose(drawn, numbers, rtol=1e-14)


def test_meshes_and_specifications():
    mesh = make_mesh((4,), ("i",))
    assert (mesh.shape, mesh.axis_names, mesh.size) == ({"i": 4}, ("i",), 4)
    assert mesh == Mesh(transpile.devices(), "i") and hash(mesh) == hash(Mesh(mesh.devices, "i"))
    assert repr(mesh) == "Mesh('i': 4)" and repr(P("i", None)) == "PartitionSpec('i', None)"
    assert P is transpile.sharding.PartitionSpec


ERRORS = [
    (r"\(8, 12\): 12 is not divisible by 8", lambda m: shard_map(
        lambda x: x, mesh=m, in_specs=P(None, ("i", "j")), out_specs=P())(np.ones((8, 12)))),
    ("which names an axis twice or one that", lambda m: shard_map(
        lambda x: x, mesh=m, in_specs=P("k"), out_specs=P())(A)),
    ("which names an axis twice or one that", lambda m: shard_map(
        lambda x: x, mesh=m, in_specs=P("i", "i"), out_specs=P())(A)),
    ("which has 2 dimensions", lambda m: shard_map(
        lambda x: x, mesh=m, in_specs=P(None, None, "i"), out_specs=P())(A)),
    ("Number of devices 4 must be >= the product", lambda _: make_mesh((5,), "i")),
    ("a mesh of 1 axes has as many different names", lambda _: make_mesh((4,), ("i", "j"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "call"), ERRORS, ids=range(len(ERRORS)))
def test_errors(text, call):
    array = np.empty((4, 2), dtype=object)
    array[:] = transpile.devices()[0]
    mesh = Mesh(array, ("i", "j"))
    with pytest.raises(ValueError, match=text):
        call(mesh)


def test_more_devices_than_there_are():
    array = np.empty((8,), dtype=object)
    array[:] = transpile.devices()[0]
    function = shard_map(lambda x: x, mesh=Mesh(array, "i"), in_specs=P("i"), out_specs=P("i"))
    with pytest.raises(ValueError, match="requires 8 logical devices, but only 4 devices"):
        function(A)
