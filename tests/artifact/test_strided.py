"""The entry for arrays of any strides against NumPy's views."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transpile
from transpile import ShapeDtypeStruct
from transpile.errors import UnsupportedError

KINDS = {
    "x": ((3, "n"), np.float64),
    "z": ((2, "n", 2), np.complex128),
    "b": (("n",), np.bool_),
    "k": (("n", 2, 1), np.int16),
    "f": ((), np.float32),
}


def many(x, z, b, k, f):
    return x.T * f, z.real.sum(0) + k[:, :, 0], ~b, z * 2, f + 1


def view_of(data, array, spread):
    """The same values in other memory: axes in another order, with steps and signs."""
    order = data.draw(st.permutations(range(array.ndim)))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in order]
    shape = [array.shape[axis] * abs(step) for axis, step in zip(order, steps, strict=True)]
    memory = np.full(shape, spread, array.dtype)
    slices = [slice(None, None, step) for step in steps]
    view = memory[(*slices, ...)].transpose(np.argsort(order))
    assert view.shape == array.shape
    view[...] = array
    return memory, view


@pytest.fixture(scope="module")
def library(tmp_path_factory, shared_cache):
    lowered = transpile.jit(many, compiler_options={"layout": "strided"}).lower(
        *(ShapeDtypeStruct(shape, dtype) for shape, dtype in KINDS.values())
    )
    (path, *_) = lowered.save(tmp_path_factory.mktemp("strided"))
    loaded = ctypes.CDLL(str(path))
    loaded.many_strided_workspace_size.restype = ctypes.c_size_t
    loaded.many_strided_workspace_size.argtypes = [ctypes.c_int64]
    return loaded


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 7))
def test_strides_of_any_kind(library, data, n):
    random = np.random.default_rng(n)

    def drawn(shape, dtype):
        values = random.integers(0, 9, [n if extent == "n" else extent for extent in shape])
        return np.asarray(values).astype(dtype)

    arguments = [drawn(*kind) for kind in KINDS.values()]
    expected = [np.asarray(result) for result in many(*arguments)]
    held = [view_of(data, array, 1) for array in arguments]
    outs = [view_of(data, np.zeros_like(result), 0) for result in expected]
    pointers = [ctypes.c_int64(n)]
    for _, view in (*held, *outs):
        pointers.append(ctypes.c_void_p(view.ctypes.data))
        if view.ndim:
            strides = [step // view.itemsize for step in view.strides]
            pointers.append((ctypes.c_int64 * view.ndim)(*strides))
    before = [memory.copy() for memory, _ in held]
    work = np.full(library.many_strided_workspace_size(n) + 8, 77, np.uint8)
    assert library.many_strided(*pointers, ctypes.c_void_p(work.ctypes.data)) == 0
    assert (work[-8:] == 77).all()
    for (memory, view), result in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(view, result)
        view[...] = 0
        assert not memory.any()
    for (memory, _), kept in zip(held, before, strict=True):
        np.testing.assert_array_equal(memory, kept)


def lowered(function, *shapes):
    structs = [ShapeDtypeStruct(shape, np.float64) for shape in shapes]
    return transpile.jit(function, compiler_options={"layout": "strided"}).lower(*structs)


def test_what_has_no_such_entry_is_named(tmp_path):
    text = "results whose length along an axis behind the first one depends on values: it has no"
    with pytest.raises(UnsupportedError, match=text):
        lowered(lambda x: x[:, x[0] > 0], (2, "n")).save(tmp_path)
    with pytest.raises(UnsupportedError, match="an array 'x_strides', a name that the entry"):
        lowered(lambda x, x_strides: x + x_strides, (3,), (3,)).save(tmp_path)
    with pytest.raises(ValueError, match="'layout' takes 'contiguous', 'strided' or 'dlpack', not"):
        transpile.jit(np.sin, compiler_options={"layout": "fortran"})(np.ones(3))
    assert not [*tmp_path.iterdir()]
    header = lowered(np.sin, (3,))._lowering.rendered("f.h").header
    assert "strided" not in header
