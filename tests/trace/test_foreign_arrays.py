"""Arrays of other libraries as arguments: by `__array__`, or DLPack, or an error with their name.

The classes here have the protocols of torch, CuPy, pandas and xarray: `__array__(dtype, copy)`,
`__dlpack__(**keywords)`, `__dlpack_device__()`, and dtypes that are not NumPy's.
"""

from __future__ import annotations

import numpy as np
import pytest

import transpile as tp

X = np.arange(3.0)
CPU, CUDA = 1, 2


class ForeignDtype:
    def __repr__(self):
        return "torch.float64"


class Exchanged:
    """By DLPack alone."""

    device = CPU

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **keywords):
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (self.device, 0)


class Tensor(Exchanged):
    """As torch has it."""

    dtype = ForeignDtype()
    problem = None

    @property
    def shape(self):
        return self.values.shape

    def __array__(self, dtype=None, copy=None):
        if self.problem is not None:
            raise self.problem
        return self.values if dtype is None else self.values.astype(dtype)


class Differentiated(Tensor):
    problem = RuntimeError("Use tensor.detach().numpy() instead.")


class OnDevice(Tensor):
    """As torch and CuPy have it."""

    device = CUDA
    problem = TypeError("Use Tensor.cpu() to copy it to host memory first.")


class OnDeviceExchanged(Exchanged):
    device = CUDA

    def __dlpack__(self, **keywords):
        raise BufferError("it is in the memory of a device")


class Labelled(Tensor):
    """As xarray has it, or pandas for its extension dtypes."""

    dtype = np.dtype("float64")


def double(x):
    return x * 2


def compiled(x):
    return tp.jit(double).lower(x).compile()(x)


@pytest.mark.parametrize("kind", [Tensor, Exchanged, Labelled])
@pytest.mark.parametrize("call", [tp.jit(double), tp.djit(double), compiled, tp.vmap(double)])
def test_values_on_the_cpu_are_read(kind, call):
    for _ in range(2):
        assert np.array_equal(call(kind(X)), 2 * X)
    assert np.array_equal(call(kind(np.arange(3))), [0, 2, 4])


@pytest.mark.parametrize("kind", [Tensor, Exchanged, Labelled])
def test_transformations_and_containers(kind):
    gradient = tp.grad(lambda p: (p["x"] * p["x"]).sum())({"x": kind(X)})
    assert np.array_equal(gradient["x"], 2 * X)
    assert np.array_equal(tp.jit(lambda p: p[0] + p[1])((kind(X), X)), 2 * X)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (Differentiated, "Use tensor.detach().numpy() instead."),
        (OnDevice, "Use Tensor.cpu() to copy it"),
        (OnDeviceExchanged, "it is in the memory of a device"),
    ],
)
@pytest.mark.parametrize("call", [tp.jit(double), compiled, tp.vmap(double), tp.grad(double)])
def test_values_that_cannot_be_read_are_an_error_that_names_the_argument(kind, advice, call):
    with pytest.raises(TypeError) as caught:
        call(kind(X))
    text = str(caught.value)
    assert "argument 'x'" in text and advice in text
    assert f"test_foreign_arrays.{kind.__name__}, whose values NumPy cannot read" in text
    assert caught.value.__cause__ is not None


def test_missing_values_are_no_numbers():
    with pytest.raises(tp.errors.UnsupportedError, match=r"argument 'x'.*astype"):
        tp.jit(double)(Tensor(np.array([1, None], object)))
