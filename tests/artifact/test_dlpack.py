"""The entry for tensors of DLPack, with tensors that NumPy makes."""

import ctypes

import numpy as np
import pytest

import transpile
from transpile import ShapeDtypeStruct
from transpile.errors import UnsupportedError

DLPACK = {"layout": "dlpack"}


class Tensor(ctypes.Structure):
    """As NumPy hands it over, in the order of the specification."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def mix(x, z, b, k, f):
    return x.T * f, z.real.sum(0) + k, ~b, z * 2


@pytest.fixture(scope="module")
def library(tmp_path_factory, shared_cache):
    kinds = [((3, "n"), "f8"), ((2, "n"), "c8"), (("n",), "?"), (("n",), "u2"), ((), "f4")]
    structs = [ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in kinds]
    (path, *_) = (
        transpile.jit(mix, compiler_options=DLPACK)
        .lower(*structs)
        .save(tmp_path_factory.mktemp("dlpack"))
    )
    loaded = ctypes.CDLL(str(path))
    loaded.mix_error.restype = ctypes.c_char_p
    loaded.mix_strided_workspace_size.restype = ctypes.c_size_t
    loaded.mix_strided_workspace_size.argtypes = [ctypes.c_int64]
    return loaded


def tensor_of(array, kept):
    capsule = array.__dlpack__()
    kept.append(capsule)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Tensor.from_address(pointer(capsule, b"dltensor"))


def arrays_of(n):
    random = np.random.default_rng(n)
    x = np.asfortranarray(random.normal(size=(3, n)))
    z = (random.normal(size=(n, 4)) + 1j).astype("c8").T[::2]
    b, k = random.normal(size=2 * n)[::2] > 0, np.arange(n, dtype="u2")[::-1]
    return [x, z, b, k, np.array(2.5, "f4")]


def call(library, arrays, outs, change=lambda tensors: None):
    kept = []
    tensors = [tensor_of(array, kept) for array in (*arrays, *outs)]
    change(tensors)
    n = arrays[0].shape[1]
    work = np.empty(library.mix_strided_workspace_size(n) + 1, np.uint8)
    code = library.mix_dlpack(*map(ctypes.byref, tensors), ctypes.c_void_p(work.ctypes.data))
    return code, library.mix_error(code).decode()


def outs_of(n):
    return [
        np.zeros((3, n)).T,
        np.zeros((n, 2), "f4")[:, 1].astype("f4"),
        np.zeros(n, "?"),
        np.zeros((2, n), "c8"),
    ]


def test_results_are_numpy_s(library):
    for n in (1, 2, 9):
        arrays, outs = arrays_of(n), outs_of(n)
        expected = mix(*arrays)
        outs[1] = np.zeros(2 * n, expected[1].dtype)[::2]
        assert call(library, arrays, outs) == (0, "success")
        for out, result in zip(outs, expected, strict=True):
            np.testing.assert_allclose(out, result, rtol=1e-6)


def test_byte_offsets_count_and_strides_may_be_missing(library):
    arrays, outs = arrays_of(4), outs_of(4)
    expected = mix(*arrays)
    outs[1] = np.zeros(4, expected[1].dtype)
    shifted = np.concatenate([[7.0], arrays[0].ravel()])

    def change(tensors):
        tensors[0].data, tensors[0].byte_offset = shifted.ctypes.data, 8
        tensors[0].strides = None

    assert call(library, arrays, outs, change) == (0, "success")
    np.testing.assert_allclose(outs[0], expected[0])


def test_each_fault_has_a_code_and_a_text(library):
    def fault(position, value):
        arrays, outs = arrays_of(4), outs_of(4)
        outs[1] = np.zeros(4, mix(*arrays)[1].dtype)
        (arrays if position < 5 else outs)[position % 5] = value
        outs[0 if position != 5 else 2][...] = 0
        code, text = call(library, arrays, outs)
        if position != 7:
            assert not outs[2].any()
        return code, text

    assert fault(0, np.zeros((3, 4), "f4")) == (-1001, "x is no tensor of float64")
    assert fault(1, np.zeros((2, 4), "c16"))[1] == "z is no tensor of complex64"
    assert fault(2, np.zeros(4, "u1"))[1] == "b is no tensor of bool"
    assert fault(4, np.zeros(1, "f4"))[1] == "f has not 0 axes"
    assert fault(1, np.zeros((2, 5), "c8"))[1] == "z has not the shape (2, n)"
    assert fault(0, np.zeros((2, 4)))[1] == "x has not the shape (3, n)"
    assert fault(0, np.zeros((3, 0)))[1].startswith("n is less than 1")
    assert fault(7, np.zeros(3, "?"))[1].endswith("has not the shape (n)")
    arrays, outs = arrays_of(4), outs_of(4)

    def on_a_gpu(tensors):
        tensors[3].device_type = 2

    assert call(library, arrays, outs, on_a_gpu)[1] == "k is not in the memory of the CPU"

    def odd(tensors):
        tensors[0].byte_offset = 4

    assert call(library, arrays, outs, odd)[1] == "x is not aligned to 8 bytes"

    def empty(tensors):
        tensors[1].data = None

    assert call(library, arrays, outs, empty)[1] == "z has no data"

    def shapeless(tensors):
        tensors[0].shape = None

    assert call(library, arrays, outs, shapeless)[1] == "x has not 2 axes"
    assert library.mix_error(library.mix_dlpack(*[None] * 10)) == b"x is no tensor of float64"
    assert not outs[2].any()


def test_callbacks_are_those_of_the_other_entry(tmp_path, shared_cache):
    def doubled(x):
        return transpile.pure_callback(lambda x: 2 * x, ShapeDtypeStruct((3,), np.float64), x) + 1

    lowered = transpile.jit(doubled, compiler_options=DLPACK).lower(np.ones(3))
    (path, *_) = lowered.save(tmp_path)
    loaded = ctypes.CDLL(str(path))
    x, out, kept = np.arange(6.0)[::2], np.zeros(3), []
    tensors = [ctypes.byref(tensor_of(array, kept)) for array in (x, out)]
    work = np.empty(loaded.doubled_strided_workspace_size(), np.uint8).ctypes

    @ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.POINTER(ctypes.c_void_p)] * 2)
    def twice(context, place, values, results):
        given, wanted = (
            ctypes.cast(p[0], ctypes.POINTER(ctypes.c_double)) for p in (values, results)
        )
        for k in range(3):
            wanted[k] = 2 * given[k]
        return 0

    assert loaded.doubled_dlpack(*tensors, ctypes.c_void_p(work.data)) == 2
    call = loaded.doubled_dlpack_with_callback
    assert call(*tensors, ctypes.c_void_p(work.data), twice, None) == 0
    np.testing.assert_array_equal(out, 2 * x + 1)


def test_sizes_have_to_follow_from_shapes(tmp_path):
    n, m = transpile.dims("n, m")
    lowered = transpile.jit(lambda x: x + 1, compiler_options=DLPACK).lower(
        ShapeDtypeStruct((n + m,), np.float64)
    )
    with pytest.raises(UnsupportedError, match=r"the shapes of the arguments of .* do not"):
        lowered.save(tmp_path)


def selected(x, counts):
    return x[x[:, 0] > 0] * 2, np.repeat(counts, counts)


def test_results_may_be_as_long_as_values_say(tmp_path, shared_cache):
    structs = ShapeDtypeStruct(("n", 3), np.float64), ShapeDtypeStruct(("m",), np.int64)
    lowered = transpile.jit(selected, compiler_options=DLPACK).lower(*structs)
    loaded = ctypes.CDLL(str(lowered.save(tmp_path)[0]))
    loaded.selected_error.restype = ctypes.c_char_p
    loaded.selected_strided_workspace_size.restype = ctypes.c_size_t
    loaded.selected_strided_workspace_size.argtypes = [ctypes.c_int64] * 3

    def call(x, counts, rows, repeated, lengths):
        kept = []
        tensors = [tensor_of(array, kept) for array in (x, counts, rows, repeated, *lengths)]
        size = loaded.selected_strided_workspace_size(len(x), len(counts), len(repeated))
        work = np.empty(size, np.uint8)
        places = map(ctypes.byref, tensors)
        code = loaded.selected_dlpack(*places, ctypes.c_void_p(work.ctypes.data))
        return loaded.selected_error(code).decode()

    for n, m in (1, 1), (7, 4), (40, 3):
        x = np.random.default_rng(n).normal(size=(n, 3))
        counts = np.arange(m)
        expected = selected(x, counts)
        # Rows stand in columns, and every second element is one of a result.
        outs = np.full((3, n), 9.0).T, np.full(2 * len(expected[1]) + 10, 9)[::2]
        lengths = np.zeros((), np.int64), np.zeros((), np.int64)
        assert call(x, counts, *outs, lengths) == "success"
        for out, length, result in zip(outs, lengths, expected, strict=True):
            assert length == len(result)
            np.testing.assert_array_equal(out[:length], result)
            assert (out[length:] == 9).all()
    little = np.zeros(1, np.int64)
    assert "u2 is more than u2_room" in call(x, counts, outs[0], little, lengths)
    assert lengths[1] == len(expected[1])
    assert call(x, counts, np.zeros((n - 1, 3)), little, lengths).endswith("not the shape (n, 3)")
