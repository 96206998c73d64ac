"""`pmap` on devices that are threads: values beside `vmap`, classic errors, devices that fail."""

import functools
import json
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import transpile
from transpile import grad, lax, pmap, vmap
from transpile.errors import DeviceError

X = np.arange(12.0).reshape(4, 3) / 7


@pytest.fixture(autouse=True)
def four_devices(monkeypatch):
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "4")


def assert_same(got, want):
    got, want = transpile.tree.leaves(got), transpile.tree.leaves(want)
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w) and np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-14)


def every_collective(x):
    four = np.stack([x, x + 1, x * 2, -x])
    return {
        "psum": lax.psum(x, "i"),
        "groups": lax.psum(x, "i", axis_index_groups=[[0, 3, 1], [2]]),
        "pmean": lax.pmean(x, "i", axis_index_groups=[[0, 3, 1], [2]]),
        "int": [
            lax.psum((x * 9).astype(t), "i")
            for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
        ],
        "float": [lax.psum(x.astype(t), "i") for t in ("f2", "f4", "c8", "c16")],
        "bool": lax.psum(x > 1, "i"),
        "pmax": [lax.pmax((x * 9).astype(t), "i") for t in ("i1", "u4", "f4", "f8", "?", "c16")],
        "pmin": [lax.pmin((x * 9).astype(t), "i") for t in ("i8", "u1", "f2", "f8", "?")],
        "nan": lax.pmax(np.where(x > 1, np.nan, x), "i"),
        "all_gather": lax.all_gather(x, "i", axis=1),
        "tiled": lax.all_gather(four, "i", axis=1, tiled=True),
        "scalar": lax.all_gather(x[0] > 1, "i"),
        "psum_scatter": lax.psum_scatter(four, "i"),
        "scatter tiled": lax.psum_scatter(four.T, "i", scatter_dimension=1, tiled=True),
        "all_to_all": lax.all_to_all(four, "i", 0, 1),
        "exchange in groups": lax.all_to_all(
            four, "i", 0, 1, axis_index_groups=[[0, 2], [3, 1]], tiled=True
        ),
        "ppermute": lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
        "nobody": lax.ppermute(x, "i", []),
        "pbroadcast": lax.pbroadcast(x.astype("f2"), "i", 2),
        "index": lax.axis_index("i"),
        "size": lax.psum(3, "i") * x,
        "constant": lax.all_gather(2.5, "i"),
    }


def test_collectives_are_those_of_vmap():
    got = pmap(every_collective, axis_name="i")(X)
    assert_same(got, vmap(every_collective, axis_name="i")(X))


def in_control_flow(x):
    def body(c, a):
        return c + lax.psum(a, "i"), lax.psum(c * a, "i")

    return (
        lax.scan(body, 0.0, x),
        lax.while_loop(lambda c: lax.pmax(c, "i") < 100, lambda c: c * 2 + 1, x[0]),
        lax.fori_loop(0, 3, lambda k, a: a + lax.ppermute(a, "i", [(0, 1), (1, 0)]), x),
        lax.cond(lax.psum(x[0], "i") > 1, lambda v: lax.pmean(v, "i"), lambda v: v, x),
        grad(lambda v: (lax.psum(v * v, "i") ** 2).sum())(x),
        vmap(lambda v: lax.psum(v, ("i", "k")), axis_name="k")(x),
    )


def test_collectives_in_loops_branches_and_derivatives():
    got = pmap(in_control_flow, axis_name="i")(X)
    assert_same(got, vmap(in_control_flow, axis_name="i")(X))


def nested(of, inner_name):
    def inner(v, w):
        total = lax.psum(v, ("i", inner_name)) if inner_name == "j" else lax.psum(v, inner_name)
        return v / total, lax.psum(w, "i"), total

    def outer(row, w):
        return of(inner, axis_name=inner_name, in_axes=(0, None), out_axes=(0, 0, None))(row, w)

    return of(outer, axis_name="i", in_axes=(1, 0))


@pytest.mark.parametrize("name", ["j", "i"])
def test_a_pmap_inside_of_another_multiplies_the_devices(name):
    x = np.arange(1.0, 5).reshape(2, 2)
    got = nested(pmap, name)(x, x[0])
    assert_same(got, nested(vmap, name)(x, x[0]))


def test_nested_maps_need_the_product_of_devices():
    inner = pmap(lambda v: v + 1)
    with pytest.raises(ValueError, match="requires 6 logical devices, but only 4 devices"):
        pmap(lambda r: inner(r) * 2)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="requires 6 logical devices, but only 4 devices"):
        pmap(lambda r: inner(r) * 2)(np.ones((3, 2)))


def test_axes_of_arguments_and_results():
    def function(params, x, k, *, scale):
        return {"a": params["w"] * x.sum() + k, "b": lax.pmean(x, "i") * scale}

    w = np.arange(3.0)
    mapped = pmap(function, "i", in_axes=({"w": None}, 1, None), out_axes={"a": 1, "b": None})
    got = mapped({"w": w}, X, 2, scale=np.arange(3.0))
    want = np.stack([w * X[:, k].sum() + 2 for k in range(3)], axis=1)
    np.testing.assert_allclose(got["a"], want)
    np.testing.assert_allclose(got["b"], X.mean(1) * 0)
    assert got["a"].flags.c_contiguous


def test_static_arguments_and_axis_size():
    mapped = pmap(
        lambda f, x, n: f(x) * n, static_broadcasted_argnums=(0, 2), in_axes=(None, 0, None)
    )
    np.testing.assert_allclose(mapped(np.sin, X, 3), np.sin(X) * 3)
    constant = pmap(lambda x: x + lax.axis_index("i"), "i", in_axes=None, axis_size=3)
    np.testing.assert_array_equal(constant(1.0), [1, 2, 3])


def test_a_signature_is_traced_once():
    traces = []

    @functools.partial(pmap, axis_name="i")
    def function(x):
        traces.append(x.shape)
        return x - lax.pmean(x, "i")

    for factor in (1.0, 2.0):
        np.testing.assert_allclose(function(X * factor), (X - X.mean(0)) * factor)
    function(X[:2])
    assert traces == [(3,), (3,)]
    assert function.__name__ == "pmap_function"


@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_keys_are_arguments_and_results(generator):
    random = transpile.random
    keys = random.split(random.key(0, impl=generator), 4)
    drawn = lambda k: (random.normal(k["k"], (2,)), random.split(k["k"])[1])
    for mapped in (pmap(drawn), transpile.jit(pmap(drawn))):
        got, new = mapped({"k": keys})
        want, keys_wanted = transpile.vmap(drawn)({"k": keys})
        np.testing.assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_array_equal(random.key_data(new), random.key_data(keys_wanted))
    inner = pmap(lambda k: random.uniform(k), "j")
    nested = pmap(lambda row: inner(row), "i")(keys.reshape(2, 2))
    np.testing.assert_array_equal(nested.ravel(), transpile.vmap(random.uniform)(keys))


def test_inside_of_other_transformations_it_is_a_part_of_them():
    def loss(x):
        return (pmap(lambda v: v - lax.pmean(v, "i"), "i")(x) ** 2).sum()

    def batched(x):
        return (vmap(lambda v: v - lax.pmean(v, "i"), axis_name="i")(x) ** 2).sum()

    many = np.ones((9, 2)) * np.arange(9.0)[:, None]  # more than there are devices
    np.testing.assert_allclose(grad(loss)(many), grad(batched)(many), atol=1e-15)
    np.testing.assert_allclose(transpile.jit(loss)(many), batched(many))


def test_results_take_the_memory_of_donated_arguments():
    @functools.partial(pmap, axis_name="i", donate_argnums=(0, 2), in_axes=(0, 0, None))
    def step(state, x, scale):
        total = lax.psum(state["a"], "i")
        return {"a": state["a"] * 3 + total * scale, "b": x @ x + state["b"]}, total

    random = np.random.default_rng(2)
    values = random.normal(size=(4, 9)), random.normal(size=4)
    want = vmap(
        lambda a, b, x: (a * 3 + lax.psum(a, "i") * 2.0, x @ x + b, lax.psum(a, "i")), axis_name="i"
    )(*values, X)
    scale = np.array(2.0)
    for _ in range(2):
        state = {"a": values[0].copy(), "b": values[1].copy()}
        a, b = state["a"], state["b"]
        address = [x.ctypes.data for x in (a, b)]
        new, total = step(state, X, scale)
        np.testing.assert_allclose(new["a"], want[0])
        np.testing.assert_allclose(new["b"], want[1])
        np.testing.assert_allclose(total, want[2])
        assert [new[name].ctypes.data for name in "ab"] == address
        for x in (a, b):
            with pytest.raises(TypeError, match="deleted"):
                x + 1
    assert scale == 2.0  # all devices read it

    # Memory of others, or that may not be written, is left alone.
    whole = np.stack([values[0], values[0]])
    view, fixed = whole[0], values[1].copy()
    fixed.flags.writeable = False
    new, _ = step({"a": view, "b": fixed}, whole[0][:, :3] * 1, scale)
    assert new["a"].ctypes.data == view.ctypes.data  # nothing else that is given lies there
    assert not np.shares_memory(new["b"], fixed)
    np.testing.assert_array_equal(fixed, values[1])
    both = values[0].copy()
    swap = pmap(lambda x, y: (y + 1, x), donate_argnums=(0, 1))
    np.testing.assert_allclose(swap(both, both)[0], values[0] + 1)
    np.testing.assert_array_equal(both, values[0])
    with pytest.raises(ValueError, match=r"donate_argnums .* cannot intersect"):
        pmap(lambda x: x, donate_argnums=0, static_broadcasted_argnums=(0,))


# ------------------------------------------------------------------------------------------ errors

ERRORS = [
    (
        r"compiling computation that requires 9 logical devices, but only 4 devices are available",
        lambda: pmap(lambda x: x)(np.ones(9)),
    ),
    (
        r"pmap got inconsistent sizes for array axes to be mapped:\n.*4.*;\n.*3",
        lambda: pmap(lambda x, y: x)(np.ones(4), np.ones(3)),
    ),
    (
        "pmap must have at least one non-None value in in_axes",
        lambda: pmap(lambda x: x, in_axes=None),
    ),
    (
        "Specified axis_size 3 doesn't match received axis_size 4.",
        lambda: pmap(lambda x: x, axis_size=3)(np.ones(4)),
    ),
    ("pmap was requested to map its argument along axis 0", lambda: pmap(lambda x: x)(1.0)),
    (r"len\(in_axes\)=2, len\(args\)=1", lambda: pmap(lambda x: x, in_axes=(0, 1))(X)),
    ("pmap in_axes specification must be a tree prefix", lambda: pmap(len, in_axes=((0, 1),))(X)),
]


@pytest.mark.parametrize(("text", "call"), ERRORS, ids=range(len(ERRORS)))
def test_errors_of_arguments(text, call):
    with pytest.raises(ValueError, match=text):
        call()


def test_the_devices_are_counted(monkeypatch):
    assert (
        [d.id for d in transpile.devices()] == [0, 1, 2, 3] == list(range(transpile.device_count()))
    )
    assert transpile.local_device_count() == 4 and transpile.process_index() == 0
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "none")
    with pytest.raises(ValueError, match="TRANSPILE_NUM_DEVICES is a positive number, not 'none'"):
        transpile.devices()
    monkeypatch.delenv("TRANSPILE_NUM_DEVICES")
    assert transpile.device_count() == 1
    with pytest.raises(ValueError, match="requires 4 logical devices, but only 1 devices"):
        pmap(lambda x: x * 3)(X)
    with pytest.raises(ValueError, match="only 2 devices"):
        pmap(lambda x: x * 3, devices=[transpile.devices()[0]] * 2)(X)


# -------------------------------------------------------------------------------- devices that fail


def diverging(x):
    """Devices 2 and 3 make no exchange."""
    return lax.cond(lax.axis_index("i") > 1, lambda v: v, lambda v: lax.psum(v, "i"), x)


def differing(x):
    """Devices 2 and 3 make another exchange."""
    return lax.cond(
        lax.axis_index("i") > 1,
        lambda v: lax.all_gather(v, "i").sum(0),
        lambda v: lax.psum(v, "i"),
        x,
    )


def test_devices_whose_programs_differ_end_with_a_message():
    with pytest.raises(
        DeviceError, match=r"device [23] has ended, and device [01] waits for it in"
    ):
        pmap(diverging, axis_name="i")(X)
    with pytest.raises(DeviceError, match=r"devices differ: device \d is in .* of \d+ bytes"):
        pmap(differing, axis_name="i")(X)


class BrokenError(Exception):
    """Of the callback of one device."""


def test_the_exception_of_a_device_ends_the_others():
    """Device 1 raises while others wait for it in a loop that would never end."""

    def callback(k):
        if k == 1:
            raise BrokenError("device 1 is broken")

    def function(x):
        transpile.debug.callback(callback, lax.axis_index("i"))
        return lax.psum(x, "i")

    with pytest.raises(BrokenError, match="device 1 is broken"):
        pmap(function, axis_name="i")(X)


def test_calls_from_several_threads_take_turns():
    function = pmap(lambda x: lax.psum(x, "i") + x, axis_name="i")
    function(X)
    results = {}

    def call(number):
        for _ in range(20):
            results[number] = function(X * number)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number in range(1, 4):
        np.testing.assert_allclose(results[number], (X.sum(0) + X) * number)


# -------------------------------------------------------------------------------------------- in C

MAIN = Path(__file__).parents[1] / "c" / "one_device.c"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler by this name")
def test_a_saved_program_takes_a_communicator_from_c(tmp_path):
    def step(x):
        return lax.psum(x * 2, "i") + lax.axis_index("i")

    lowered = pmap(step, axis_name="i").lower(np.ones((1, 3)))
    assert "const transpile_communicator *communicator" in lowered.as_text()
    with pytest.raises(TypeError, match="runs on several devices: call what `pmap` gave"):
        lowered.compile()(np.ones(3))
    lowered.save(tmp_path)
    main = tmp_path / "main"
    command = ["cc", "-Wall", "-Werror", str(MAIN), f"-I{tmp_path}", str(tmp_path / "step.so")]
    subprocess.run([*command, f"-Wl,-rpath,{tmp_path}", "-o", str(main)], check=True)
    done = subprocess.run([str(main)], capture_output=True, text=True, check=True)
    (program, values), (again, code, message) = (
        done.stdout.splitlines()[:2],
        done.stdout.splitlines()[2:],
    )
    assert program == again and program.startswith("step(f64[3]) -> (f64[3]) of test_pmap.py:")
    assert json.loads(values) == [2.0, 4.0, 6.0]
    assert (code, message) == ("-2", "an exchange with other devices has failed")


LOAD = MAIN.with_name("devices_under_load.c")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler by this name")
@pytest.mark.sanitized
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_exchanges_under_the_sanitizers(tmp_path, sanitizer):
    program = tmp_path / "load"
    words = ["-O1", "-g", "-pthread", f"-fsanitize={sanitizer}", "-fno-sanitize-recover"]
    built = subprocess.run(["cc", *words, str(LOAD), "-o", str(program)], capture_output=True)
    if built.returncode:
        pytest.skip("the compiler has no such sanitizer")
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("0 wrong, 4 failed: device 2 has ended, and device")


def test_a_program_of_a_device_is_lowered_for_types():
    mapped = pmap(lambda x, y: lax.psum(x, "i") * y, axis_name="i", in_axes=(0, None))
    types = transpile.ShapeDtypeStruct((4, 3), np.float32), transpile.ShapeDtypeStruct((), "f4")
    given = np.ones((4, 3), np.float32), np.float32(2)
    assert mapped.lower(*types).as_text() == mapped.lower(*given).as_text()
    with pytest.raises(transpile.errors.UnsupportedError, match="pmap needs shapes that are known"):
        mapped.lower(transpile.ShapeDtypeStruct((4, "n"), np.float32), types[1])
