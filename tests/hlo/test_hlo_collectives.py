"""Collectives in `xla_computation(axis_env=...)`: replica groups, and what XLA makes of modules."""

import re
import subprocess
import sys

import numpy as np
import pytest

from transpile import lax, vmap, xla_computation
from transpile.ir.primitive import Axis
from transpile.primitives.collectives.replicas import replica_groups, source_target_pairs

TWO = [("i", 4), ("j", 2)]
THREE = [("i", 2), ("j", 3), ("k", 2)]


def parsed_groups(text):
    inside = text.replace("{", "[").replace("}", "]")
    return tuple(tuple(int(n) for n in g.split(",")) for g in re.findall(r"\[([0-9,]+)\]", inside))


GROUPS = [
    (TWO, "i", None, "{{0,2,4,6},{1,3,5,7}}"),
    (TWO, "j", None, "{{0,1},{2,3},{4,5},{6,7}}"),
    (TWO, "ij", None, "{{0,1,2,3,4,5,6,7}}"),
    (TWO, "ji", None, "{{0,2,4,6,1,3,5,7}}"),
    (TWO, "i", [[0, 1], [2, 3]], "{{0,2},{4,6},{1,3},{5,7}}"),
    (THREE, "i", None, "{{0,6},{1,7},{2,8},{3,9},{4,10},{5,11}}"),
    (THREE, "j", None, "{{0,2,4},{1,3,5},{6,8,10},{7,9,11}}"),
    (THREE, "ik", None, "{{0,1,6,7},{2,3,8,9},{4,5,10,11}}"),
    (THREE, "ki", None, "{{0,6,1,7},{2,8,3,9},{4,10,5,11}}"),
    ([("i", 4), ("i", 2)], "i", None, "{{0,1},{2,3},{4,5},{6,7}}"),
]


@pytest.mark.parametrize(("environment", "names", "members", "text"), GROUPS)
def test_replica_groups(environment, names, members, text):
    def f(x):
        return lax.psum(x, tuple(names), axis_index_groups=members)

    module = xla_computation(f, axis_env=environment)(np.float32(5)).as_hlo_text()
    assert f"replica_groups={text}, to_apply=add" in module


def test_uneven_groups_of_a_sum():
    groups = [[2, 0, 3], [1]]
    computation = xla_computation(
        lambda x: lax.psum(x, "i", axis_index_groups=groups), axis_env=[("i", 4)]
    )(np.float32(5))
    assert "replica_groups={{2,0,3},{1}}" in computation.as_hlo_text()
    rows = "dense<[[2, 0, 3], [1, -1, -1]]> : tensor<2x3xi64>"
    assert rows in computation.as_stablehlo_text()


def test_the_pairs_of_a_ring_and_the_index_of_a_replica():
    ring = [(k, (k + 1) % 4) for k in range(4)]
    axes = [Axis(size, name) for name, size in TWO]
    pairs = source_target_pairs(axes, axes[:1], ring)
    assert pairs == parsed_groups("{{0,2},{2,4},{4,6},{6,0},{1,3},{3,5},{5,7},{7,1}}")
    text = xla_computation(lambda x: lax.ppermute(x, "i", ring), axis_env=TWO)(1.0).as_hlo_text()
    assert "source_target_pairs={{0,2},{2,4},{4,6},{6,0},{1,3},{3,5},{5,7},{7,1}}" in text
    text = xla_computation(lambda: lax.axis_index("j"), axis_env=THREE)().as_hlo_text()
    found = re.findall(r"constant\.\d+ = u32\[\] constant\((\d+)\)", text)
    assert found == ["2", "3"]  # the size of the later axis, then its own
    order = [text.index(op) for op in ("replica-id()", "divide(", "remainder(", "convert(")]
    assert order == sorted(order)


def test_groups_are_a_partition():
    axes = [Axis(size, name) for name, size in THREE]
    for chosen in (axes[:1], axes[1:], axes[::-1], axes[::2]):
        groups = replica_groups(axes, chosen)
        assert sorted(k for g in groups for k in g) == list(range(12))


# The example of the reference page, as it stands there.
def g(x):
    rowsum = lax.psum(x, "i")
    colsum = lax.psum(x, "j")
    allsum = lax.psum(x, ("i", "j"))
    return rowsum, colsum, allsum


def test_the_examples_of_the_reference():
    c = xla_computation(lambda x: x - lax.psum(x, "i"), axis_env=[("i", 4)])(2)
    lines = [line.strip() for line in c.as_hlo_text().splitlines() if " = " in line]
    assert [re.sub(r"\.\d+", "", line) for line in lines] == [
        "parameter = s64[] parameter(0)",
        "parameter = s64[] parameter(1)",
        "ROOT add = s64[] add(parameter, parameter)",
        "parameter = s64[] parameter(0)",
        "all-reduce = s64[] all-reduce(parameter), replica_groups={{0,1,2,3}}, to_apply=add",
        "subtract = s64[] subtract(parameter, all-reduce)",
        "ROOT tuple = (s64[]) tuple(subtract)",
    ]
    c = xla_computation(g, axis_env=[("i", 4), ("j", 2)])(5.0)
    groups = re.findall(r"replica_groups=(\S+),", c.as_hlo_text())
    assert groups == ["{{0,2,4,6},{1,3,5,7}}", "{{0,1},{2,3},{4,5},{6,7}}", "{{0,1,2,3,4,5,6,7}}"]


def test_results_say_along_which_axes_they_vary():
    def f(x):
        index = lax.axis_index("i") + 2 * lax.axis_index("j")
        return {"i": lax.psum(index, "j"), "both": x + index, "none": lax.pmax(index, ("j", "i"))}

    _, shape = xla_computation(f, axis_env=TWO, return_shape=True)(1.0)
    named = {key: (v.named_shape, v.shape) for key, v in shape.items()}
    assert named == {"i": ({"i": 4}, ()), "both": ({"i": 4, "j": 2}, ()), "none": ({}, ())}


def test_partitions_are_shardings():
    def f(x, y, *, z):
        return {"s": x + y, "t": z}

    computation = xla_computation(f, in_parts=((2, 1), None), out_parts={"s": (1, 2), "t": None})(
        np.ones((4, 6)), 1.0, z=np.ones(3)
    )
    text = computation.as_hlo_text()
    assert "f64[4,6] parameter(0), sharding={devices=[2,1]0,1}" in text
    assert "f64[] parameter(1), sharding={replicated}" in text
    assert "f64[3] parameter(2), sharding={replicated}" in text
    assert re.search(
        r"ROOT tuple\S* = .*, sharding=\{\{devices=\[1,2\]0,1\}, \{replicated\}\}", text
    )
    assert (
        'tensor<4x6xf64> {mhlo.sharding = "{devices=[2,1]0,1}"}' in computation.as_stablehlo_text()
    )
    text = xla_computation(f, in_parts=(2, 2), tuple_args=True)(
        np.ones((4, 6)), np.ones((4, 6)), z=1.0
    ).as_hlo_text()
    assert "parameter(0), sharding={{devices=[2,2]0,1,2,3}, {devices=[2,2]0,1,2,3}, {replic" in text
    with pytest.raises(ValueError, match=r"in_parts has the parts .* for an array of 2 dimensions"):
        xla_computation(lambda x: x, in_parts=(2,))(np.ones((4, 6)))


def test_names_that_are_no_axes_are_errors():
    with pytest.raises(NameError, match="unbound axis name: j"):
        xla_computation(lambda x: lax.psum(x, "j"), axis_env=[("i", 4)])(1.0)
    with pytest.raises(ValueError, match="sizes of axis_env are positive"):
        xla_computation(lambda x: x, axis_env=[("i", 0)])
    with pytest.raises(NameError, match="unbound axis name: i"):
        xla_computation(lambda x: lax.psum(x, "i"))(1.0)


def test_an_environment_is_part_of_what_is_traced():
    def f(x):
        return lax.psum(1.0, "i") * x

    for size in (2, 3):
        text = xla_computation(f, axis_env=[("i", size)])(np.ones(2)).as_hlo_text()
        assert f"constant({size}.0)" in text


# ------------------------------------------------------------------------------------ XLA as a peer

PROGRAMS = {
    "psum": lambda x: lax.psum(x, "i"),
    "psum of both": lambda x: lax.psum(x, ("j", "i")),
    "pmean": lambda x: lax.pmean(x, "j"),
    "pmax, pmin": lambda x: lax.pmax(x, "i") - lax.pmin(x, "j"),
    "groups": lambda x: lax.psum(x, "i", axis_index_groups=[[0, 3], [1, 2]]),
    "integers": lambda x: lax.psum((x * 10).astype("int32"), "i"),
    "bools": lambda x: lax.psum(x > 0, "i"),
    "all_gather": lambda x: lax.all_gather(x, ("i", "j"), axis=1),
    "all_gather tiled": lambda x: lax.all_gather(x, "i", axis=1, tiled=True),
    "all_gather in groups": lambda x: lax.all_gather(x, "i", axis_index_groups=[[1, 3], [2, 0]]),
    "psum_scatter": lambda x: lax.psum_scatter(x, ("i", "j")),
    "psum_scatter tiled": lambda x: lax.psum_scatter(x, "j", scatter_dimension=1, tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x, ("j", "i"), 0, 1),
    "all_to_all tiled": lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True),
    "pswapaxes": lambda x: lax.pswapaxes(x, ("i", "j"), 0),
    "ppermute": lambda x: lax.ppermute(x, "i", [(0, 1), (1, 3), (3, 0)]),
    "ppermute of both": lambda x: lax.ppermute(x, ("j", "i"), [(0, 7), (3, 2)]),
    "axis_index": lambda x: x * (lax.axis_index("i") * 10 + lax.axis_index("j")),
    "in a loop": lambda x: lax.fori_loop(0, 3, lambda k, s: s / lax.psum(s + 9, "i"), x),
}
EIGHT = np.random.default_rng(3).normal(size=(4, 2, 8, 4))

RUN = """
import pickle, sys
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib import _jax, xla_client
jax.config.update("jax_enable_x64", True)
modules, xs = pickle.load(sys.stdin.buffer)
devices = jax.devices("cpu")
assert len(devices) == 8
options = xla_client.CompileOptions()
options.num_replicas = 8
sharding = NamedSharding(Mesh(np.array(devices), "d"), PartitionSpec("d"))
x = jax.device_put(xs.reshape(-1, *xs.shape[1:]).reshape(-1, xs.shape[-1]), sharding)
results = {}
for name, (text, proto) in modules.items():
    found = []
    read = _jax.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(proto))
    for module in (text, read):
        them = _jax.DeviceList(tuple(devices))
        program = devices[0].client.compile_and_load(module, them, options)
        (shards,) = program.execute_sharded([x]).disassemble_into_single_device_arrays()
        found.append(np.stack([np.asarray(s) for s in shards]))
    results[name] = found
sys.stdout.buffer.write(pickle.dumps(results))
"""


def test_xla_runs_them_on_eight_replicas_with_our_numbers():
    pytest.importorskip("jaxlib")
    import os
    import pickle

    modules = {}
    for name, function in PROGRAMS.items():
        made = xla_computation(function, axis_env=TWO)(EIGHT[0, 0])
        modules[name] = made.as_stablehlo_text(), made.as_serialized_hlo_module_proto()
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=pickle.dumps((modules, EIGHT.reshape(8, 8, 4))),
        capture_output=True,
        env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"},
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    for name, results in pickle.loads(done.stdout).items():
        mapped = vmap(vmap(PROGRAMS[name], axis_name="j"), axis_name="i")
        want = np.asarray(mapped(EIGHT))
        want = want.reshape(8, *want.shape[2:])
        for got in results:
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13, err_msg=name)


def test_xla_parses_every_text():
    pytest.importorskip("jaxlib")
    from xla import parsed, printed

    more = {"pbroadcast": lambda x: lax.pbroadcast(x, "i", 2)}
    for name, function in (PROGRAMS | more).items():
        made = xla_computation(function, axis_env=TWO, in_parts=((2, 1),))(EIGHT[0, 0])
        text = parsed(made.as_hlo_text()).to_string()
        proto = printed(made.as_serialized_hlo_module_proto())
        for key in ("replica_groups", "source_target_pairs", "sharding"):
            found = re.findall(rf"{key}=(\{{\S+)", made.as_hlo_text())
            for other in (text, proto):
                assert re.findall(rf"{key}=(\{{\S+)", other) == found, (name, key)
