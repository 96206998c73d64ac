"""What is asked of arrays without their values: dtypes, devices, namespaces, texts."""

import numpy as np
import pytest
from helpers import assert_same, evaluate, ordinary, trace_to_graph

import transpile
from transpile import numpy as jnp
from transpile.errors import TracerArrayConversionError


def told(question, *args):
    """What a traced function finds out while it is traced."""
    found = []

    def f(*tracers):
        found.append(question(*tracers))
        return tracers

    trace_to_graph(f, *args)
    return found[0]


QUESTIONS = [
    lambda x: np.shape(x),
    lambda x: np.ndim(x),
    lambda x: np.size(x),
    lambda x: np.size(x, 0),
    lambda x: np.size(x, (0, 1)),
    lambda x: np.can_cast(x, "f4"),
    lambda x: np.can_cast(x, "i1", "unsafe"),
    lambda x: np.can_cast(x.dtype, "c8"),
    lambda x: np.result_type(x, "f4"),
    lambda x: np.result_type(x, 2.5),
    lambda x: np.result_type(x, x, np.int8(3)),
    lambda x: np.promote_types(x.dtype, "f4"),
    lambda x: np.isdtype(x.dtype, "integral"),
    lambda x: np.min_scalar_type(x),
    lambda x: np.common_type(x, x) if x.dtype != bool else None,
    lambda x: np.iscomplexobj(x),
    lambda x: np.isrealobj(x),
    lambda x: np.isscalar(x),
    lambda x: np.iterable(x),
    lambda x: np.einsum_path("ij,jk->ik", x, x.T)[0],
    lambda x: np.array_equiv(x, np.ones(17)),
    lambda x: x.device,
    lambda x: x.to_device("cpu").shape,
    lambda x: x.__dlpack_device__(),
    lambda x: (x.itemsize, x.nbytes, x.size, x.ndim, x.shape, x.dtype),
    lambda x: [i for i, _ in jnp.ndenumerate(x)],
    lambda x: jnp.broadcast(x, np.ones((5, 1, 1))).shape,
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("dtype", ["b1", "i4", "f4", "f8", "c16"])
def test_answer_is_numpys(question, dtype):
    x = ordinary(dtype, (3, 4), 2)
    assert told(question, x) == question(x)


def test_indices_from_a_shape_are_numpys():
    x = np.ones((3, 3))
    for function in (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from):
        np.testing.assert_array_equal(told(function, x), function(x))
        np.testing.assert_array_equal(evaluate(function, x), function(x))


def test_text_of_a_traced_array_is_its_type():
    x = np.ones((3, 4))
    for function in (str, repr, np.array_repr, np.array_str, np.array2string):
        assert told(function, x) == "Traced<f64[3,4]>"


def test_python_numbers_cannot_be_cast_in_numpys_words():
    assert_same(lambda n: np.can_cast(n, "i4"), 3)
    assert_same(lambda x: x.to_device("gpu"), np.ones(2))
    assert_same(lambda x: x.to_device("cpu", stream=1), np.ones(2))
    assert_same(lambda x: x.__array_namespace__(api_version="1999.1"), np.ones(2))


def test_namespace_of_a_traced_array_is_this_one():
    assert told(lambda x: x.__array_namespace__(), np.ones(2)) is jnp
    assert told(lambda x: x.__array_namespace__(api_version="2024.12"), np.ones(2)) is jnp


def test_buffers_are_handed_out_only_where_values_are_known():
    with pytest.raises(TracerArrayConversionError):
        trace_to_graph(lambda x: x.__dlpack__(), np.ones(2))
    assert_same(lambda x: jnp.from_dlpack(x) * 2, np.ones(2))
    assert_same(lambda x: np.from_dlpack(x) * 2, np.ones(2))


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 5), (3, 3, 3)])
@pytest.mark.parametrize("wrap", [False, True])
def test_filled_diagonal_is_numpys(shape, wrap):
    def f(x, v):
        x = x + 0
        np.fill_diagonal(x, v, wrap)
        return x

    assert_same(f, ordinary("f8", shape, 1), np.float64(7))
    assert_same(f, ordinary("i4", shape, 1), np.array([1.5, -2.5]))


def test_equivalent_arrays_are_told_apart():
    x = np.arange(3.0)
    assert_same(lambda a: np.array_equiv(a, np.stack([x, x])), x)
    assert_same(lambda a: np.array_equiv(a, np.stack([x, x + 1])), x)


# ---------------------------------------------------------------------- the array API's questions


def test_namespace_info_is_that_of_the_array_api():
    info, numpys = jnp.__array_namespace_info__(), np.__array_namespace_info__()
    assert set(info.capabilities()) == set(numpys.capabilities())
    assert info.default_device() == numpys.default_device()
    assert info.devices() == numpys.devices()
    assert info.default_dtypes() == numpys.default_dtypes()
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating")
    for kind in (None, *kinds, "complex floating", "numeric", ("integral", "bool")):
        assert info.dtypes(kind=kind) == numpys.dtypes(kind=kind), kind
    with pytest.raises(ValueError, match="unsupported kind: 'fancy'"):
        info.dtypes(kind="fancy")
    with pytest.raises(ValueError, match="Device not understood"):
        info.dtypes(device="gpu")


def test_jitted_function_may_ask_an_array_for_its_namespace():
    def softmax(x):
        xp = x.__array_namespace__()
        e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    x = ordinary("f8", (3, 4), 1)
    np.testing.assert_allclose(transpile.jit(softmax)(x), softmax(x), rtol=1e-14)


def test_items_are_pythons_numbers(shared_cache):
    def f(x, y):
        first, middle = x[0].item(), y.item(1, 2)
        if first > 0.5:  # a number of Python's changes no dtype
            first = first + middle
        return [first * x, y.item(5) * x, sum(y.tolist()[1]), y.tolist(), x.sum().item()]

    jitted = transpile.jit(f)
    for start in (0.25, 1.5):
        x, y = np.full(2, start, "f4"), np.arange(6.0).reshape(2, 3)
        found, expected = jitted(x, y), f(x, y)
        assert [a.dtype for a in found[:2]] == [a.dtype for a in expected[:2]]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(ValueError, match="size 1"):
        transpile.jit(lambda x: x.item())(np.ones(2))
