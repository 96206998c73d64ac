"""Arrays as a type, devices and what moves arrays between them, and named scopes."""

from __future__ import annotations

import pickle
from typing import get_type_hints

import numpy as np
import pytest

import transpile as tp
from transpile import errors, lax, random, typing
from transpile import numpy as jnp

TREE = {"a": 1, "b": np.ones(2), "c": (np.float32(2), None)}


def test_array_is_the_type_of_what_functions_give():
    values = (np.ones(2), np.float64(1), 1.0, [1.0], "a", None)
    assert [isinstance(v, tp.Array) for v in values] == [True, True] + [False] * 4
    assert isinstance(tp.jit(lambda x: x + 1)(np.ones(2)), tp.Array)
    assert isinstance(random.key(0), tp.Array)
    seen = []
    tp.jit(lambda x: seen.append(isinstance(x, tp.Array)) or x)(1.0)
    assert seen == [True]
    assert issubclass(np.ndarray, tp.Array) and not issubclass(float, tp.Array)
    with pytest.raises(TypeError, match="Array is a type"):
        tp.Array()


def test_types_serve_as_annotations():
    def function(x: tp.Array | None, y: typing.ArrayLike, dtype: typing.DTypeLike) -> tp.Array: ...

    hints = get_type_hints(function, {"tp": tp, "typing": typing})
    assert hints["return"] is tp.Array and hints["x"] == tp.Array | None
    assert isinstance(1.0, typing.ArrayLike) and isinstance(np.ones(2), typing.ArrayLike)
    assert not isinstance("a", typing.ArrayLike)


def test_device_put_copies():
    found = tp.device_put(TREE)
    assert tp.tree.structure(found) == tp.tree.structure(TREE)
    assert all(type(leaf) is np.ndarray for leaf in tp.tree.leaves(found))
    TREE["b"][0] = 5
    assert found["b"][0] == 1
    TREE["b"][0] = 1
    cpu = tp.devices()[0]
    for device in (cpu, [cpu], None):
        assert tp.device_put([1, 2.5], device)[1] == 2.5
    x = np.ones(3)
    assert tp.device_put(x, may_alias=True) is x and tp.device_put(x, donate=True) is x
    key = random.key(0)
    assert tp.device_put(key) is key


def test_device_put_refuses_what_is_no_array_or_device():
    with pytest.raises(TypeError, match="Argument 'x' of type <class 'str'> is not a valid"):
        tp.device_put({"a": "x"})
    with pytest.raises(ValueError, match=r"`device_put` only accepts `None`.*invalid value: 3"):
        tp.device_put(np.ones(2), device=3)


def test_device_get_and_block_until_ready():
    found = tp.device_get({"a": 1, "b": np.ones(2), "c": "x", "d": np.float32(2)})
    assert (found["a"], found["c"]) == (1, "x")
    assert found["d"].dtype == np.float32 and type(found["b"]) is np.ndarray
    assert tp.block_until_ready(TREE) is TREE and tp.copy_to_host_async(TREE) is TREE


def test_inside_a_traced_function_they_change_nothing():
    @tp.jit
    def function(x):
        return tp.device_put(tp.block_until_ready(x) + 1, tp.devices()[0]) * tp.device_get(x)

    np.testing.assert_array_equal(function(np.arange(3.0)), [0, 2, 6])


def test_there_is_one_device():
    (cpu,) = tp.devices()
    assert (repr(cpu), str(cpu)) == ("CpuDevice(id=0)", "cpu:0")
    assert isinstance(cpu, tp.Device) and pickle.loads(pickle.dumps(cpu)) is cpu
    assert (cpu.platform, cpu.device_kind, cpu.id, cpu.memory_stats()) == ("cpu", "cpu", 0, None)
    assert tp.devices("cpu") == tp.local_devices(backend="cpu") == tp.local_devices(0) == [cpu]
    assert tp.device_count() == tp.local_device_count() == tp.process_count() == 1
    assert tp.process_index() == 0 and tp.process_indices() == [0]
    assert tp.default_backend() == "cpu"
    assert tp.effects_barrier() is None
    with tp.default_device(cpu):
        assert tp.jit(lambda x: x)(1.0) == 1.0


def test_other_devices_are_not_there():
    with pytest.raises(RuntimeError, match="Unknown backend: 'tpu' requested, but no platforms"):
        tp.devices("tpu")
    with pytest.raises(
        RuntimeError, match=r"Unknown backend foo. Available backends are \['cpu'\]"
    ):
        tp.device_count("foo")
    with pytest.raises(ValueError, match="Unknown process_index 1"):
        tp.local_devices(process_index=1)


def test_typeof_gives_shape_and_dtype():
    assert str(tp.typeof(np.ones((2, 3), np.float32))) == "f32[2,3]"
    assert tp.typeof(1.0).weak


# ------------------------------------------------------------------------------------- named_scope


@tp.named_scope("outer")
def scoped(x):
    with tp.named_scope("inner"):
        y = np.exp(x)
    return y.sum()


def test_scopes_stand_in_comments_and_change_nothing_else():
    text = tp.jit(scoped).lower(np.ones(3)).as_text()
    assert "(outer/inner): y = np.exp(x)" in text
    assert "(outer): return y.sum()" in text
    np.testing.assert_allclose(tp.jit(scoped)(np.ones(3)), 3 * np.e)
    assert str(tp.make_jaxpr(scoped)(np.ones(3))).count("exp") == 1


def test_scopes_end_when_their_block_does():
    @tp.named_scope("first")
    def fails(x):
        raise KeyError

    def function(x):
        with pytest.raises(KeyError):
            fails(x)
        return x + 1

    assert "first" not in tp.jit(function).lower(1.0).as_text()


def test_scopes_stand_in_error_messages():
    def function(x):
        with tp.named_scope("layer 3"):
            return x.item()

    with pytest.raises(
        errors.TracerFloatConversionError, match=r"test_arrays.py:\d+ \(layer 3\): "
    ):
        tp.jit(function, python_control_flow=False)(1.0)


def test_a_scope_has_a_string_for_a_name():
    with pytest.raises(TypeError, match="named_scope name argument must be a string"):
        tp.named_scope(3)


# ------------------------------------------------------------------- constants while tracing


def test_constants_are_computed_while_tracing():
    seen = []

    @tp.jit
    def function(x):
        with tp.ensure_compile_time_eval():
            total = jnp.arange(4).sum()
            largest = lax.max(np.array([1.0, 5.0]), np.array([2.0, 3.0]))
        seen.append((int(total), largest.tolist()))
        return x + total

    assert function(1.0) == 7.0 and seen == [(6, [2.0, 5.0])]


def test_traced_values_are_not():
    @tp.jit
    def function(x):
        with tp.ensure_compile_time_eval():
            return x + 1

    with pytest.raises(errors.UnexpectedTracerError):
        function(1.0)
    assert tp.jit(lambda x: x + 1)(1.0) == 2.0
