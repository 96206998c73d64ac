"""What the reference says of programs beyond its pages: of the modules of `xla_computation`, of
collectives with four devices that hold 0, 1, 2, 3, of callbacks and of checks.

Groups of replicas are in tests/hlo/test_hlo_collectives.py, errors of `pmap` in tests/parallel.
"""

import contextlib
import io

import numpy as np
import pytest

import transpile
from transpile import debug, jit, lax, pmap, vmap, xla_computation
from transpile.experimental import checkify

X = np.arange(4.0)


@pytest.fixture(autouse=True)
def four_devices(monkeypatch):
    monkeypatch.setenv("TRANSPILE_NUM_DEVICES", "4")


# ---------------------------------------------------------------------------- modules of a function


def test_parameters_names_and_errors_of_a_module():
    def named(x, unused, *, b, a):
        return x + b, a

    made = xla_computation(named)(X, np.ones(2), b=1.0, a=np.int8(2))
    assert made.name() == "xla_computation_named"
    assert str(made.program_shape()) == "(f64[4], f64[2], s8[], f64[]) -> (f64[4], s8[])"
    assert xla_computation(lambda x: x)(X).name() == "xla_computation__lambda_"
    for settings in ({"static_argnums": 9}, {"static_argnums": 0, "donate_argnums": (0,)}):
        with pytest.raises(ValueError, match=r"argnums|static"):
            xla_computation(named, **settings)(X, X, b=1.0, a=1)
    single = xla_computation(lambda x: x + 1)(X).module.computations[-1].root
    assert single.opcode == "tuple"


def test_the_index_along_an_axis_is_computed_from_the_number_of_the_replica():
    index = lambda: lax.axis_index("i")
    text = xla_computation(index, axis_env=[("i", 4), ("j", 2)])().as_hlo_text()
    assert all(word in text for word in ("replica-id()", "divide(", "remainder(", "s32[]"))
    with pytest.raises(NameError, match="unbound axis name: k"):
        xla_computation(lambda x: lax.psum(x, "k"), axis_env=[("i", 4)])(1.0)


# -------------------------------------------------------------------------------------- collectives


def collected(x):
    block = x * 10 + np.arange(4.0)
    return {
        "number": np.asarray(lax.psum(3, "i")),
        "bools": lax.psum(x > 1, "i"),
        "mean": lax.pmean(x, "i", axis_index_groups=[[0, 1, 2], [3]]),
        "exchanged": lax.all_to_all(block, "i", 0, 0),
        "tiled": lax.all_to_all(np.stack([block, -block]), "i", 1, 0, tiled=True),
        "shifted": lax.ppermute(x, "i", [(0, 1), (1, 2)]),
        "scattered": lax.psum_scatter(block, "i"),
        "index": lax.axis_index("i"),
    }


def test_four_devices_that_hold_their_numbers():
    for mapped in (vmap(collected, axis_name="i"), pmap(collected, axis_name="i")):
        found = mapped(X)
        assert found["number"].tolist() == [12] * 4
        assert found["bools"].dtype == np.int32 and found["bools"].tolist() == [2] * 4
        assert found["mean"].tolist() == [1, 1, 1, 3]  # each by the size of its own group
        block = X[:, None] * 10 + X
        assert found["exchanged"].tolist() == block.T.tolist()
        assert found["tiled"].shape == (4, 8, 1)
        assert found["shifted"].tolist() == [0, 0, 1, 0]  # zero where nobody sends
        assert found["scattered"].tolist() == block.sum(0).tolist()
        assert found["index"].dtype == np.int32 and found["index"].tolist() == [0, 1, 2, 3]
    seen = []
    vmap(lambda x: seen.append(lax.psum(3, "i")) or x, axis_name="i")(X)
    assert seen == [12] and type(seen[0]) is int


def test_slices_of_different_lengths_go_to_one_device_each():
    """JAX's example, and its derivative: rows that are not written keep what `output` has."""

    def exchanged(operand, output, *tables):
        return lax.ragged_all_to_all(operand, output, *tables, axis_name="i")

    operand = np.array([[1.0, 2, 2], [3, 4, 0]])
    tables = [[[0, 1], [0, 1]], [[1, 2], [1, 1]], [[0, 0], [1, 2]], [[1, 1], [2, 1]]]
    tables = [np.array(table) for table in tables]
    for output, wanted in ((0.0, [[1, 3, 0, 0], [2, 2, 4, 0]]), (9, [[1, 3, 9, 9], [2, 2, 4, 9]])):
        into = np.full((2, 4), float(output))
        for mapped in (vmap(exchanged, axis_name="i"), pmap(exchanged, axis_name="i")):
            assert mapped(operand, into, *tables).tolist() == wanted
        wide = vmap(exchanged, axis_name="i")(operand[..., None], into[..., None], *tables)
        assert wide[..., 0].tolist() == wanted
    weights = np.arange(8.0).reshape(2, 4)
    total = lambda x: (vmap(exchanged, axis_name="i")(x, into, *tables) * weights).sum()
    assert transpile.grad(total)(operand).tolist() == [[0, 4, 5], [1, 6, 0]]
    for k, bad, text in (
        (0, tables[0] * 1.0, "input_offsets must be integer type"),
        (1, tables[1][..., None], "send_sizes must be rank 1"),
        (2, tables[2][:, :1], "output_offsets must have the length of the others"),
    ):
        with pytest.raises(ValueError, match=text):
            changed = [*tables[:k], bad, *tables[k + 1 :]]
            vmap(exchanged, axis_name="i")(operand, into, *changed)


def test_values_may_vary_along_any_axis():
    varying = lambda x: lax.pcast(x, "i", to="varying")
    assert vmap(varying, axis_name="i")(X).tolist() == X.tolist()
    with pytest.raises(ValueError, match="'varying'"):
        vmap(lambda x: lax.pcast(x, "i", to="unreduced"), axis_name="i")(X)
    graph = transpile.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert "psum[axes=('i':4,) groups=None] a" in str(graph)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: lax.all_to_all(np.ones(3), "i", 0, 0), "3"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), "sources|source"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), "destination"),
        (lambda x: lax.psum_scatter(np.ones(5), "i"), "5"),
        (lambda x: lax.psum(x, "j"), "unbound axis name: j"),
    ],
)
def test_what_collectives_refuse(function, text):
    with pytest.raises((ValueError, NameError), match=text):
        vmap(function, axis_name="i")(X)


def test_devices_are_counted_and_nested_maps_multiply_them():
    assert transpile.device_count() == transpile.local_device_count() == 4
    assert len(transpile.devices()) == 4 and transpile.process_index() == 0
    inner = pmap(lambda x: lax.psum(x, ("a", "b")), axis_name="b")
    assert pmap(inner, axis_name="a")(X.reshape(2, 2)).tolist() == [[6, 6], [6, 6]]
    with pytest.raises(ValueError, match="requires 9 logical devices, but only 4"):
        pmap(lambda x: x)(np.ones(9))


# ----------------------------------------------------------------------------- callbacks and checks


def test_callbacks_run_in_loops_with_values_and_are_never_dead_code():
    seen = []

    @jit
    def f(x):
        debug.print("x = {}", x[0])
        lax.fori_loop(0, 3, lambda k, _: debug.callback(seen.append, k) or 0, 0)
        doubled = transpile.pure_callback(lambda v: v * 2, x, x, vmap_method="expand_dims")
        return doubled + transpile.io_callback(lambda: np.float64(1), np.float64(0), ordered=True)

    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert f(X + 5).tolist() == [11, 13, 15, 17]
    assert out.getvalue() == "x = 5.0\n" and list(map(int, seen)) == [0, 1, 2]


def test_the_exception_of_a_callback_reaches_the_caller_whole():
    class Special(Exception):
        pass

    def fails(x):
        raise Special("here", x.tolist())

    with pytest.raises(Special) as raised:
        jit(lambda x: transpile.pure_callback(fails, x, x))(X)
    assert raised.value.args == ("here", [0, 1, 2, 3])


def test_checks_are_values_beside_the_result():
    def f(x, k):
        checkify.check(x[0] < 1, "too large: {}", x[0])
        return np.log(x) / x[1], x[k]

    for errors, arguments, text in (
        (checkify.user_checks, (X + 2, 0), "too large: 2.0"),
        (checkify.nan_checks, (np.array([-1.0, 1.0]), 0), "nan generated by primitive"),
        (checkify.div_checks, (np.array([0.5, 0.0]), 0), "division by zero"),
        (checkify.index_checks, (np.array([0.5, 1.0]), 7), "out-of-bounds"),
        (checkify.float_checks, (np.array([-1.0, 1.0]), 0), "nan generated"),
        (checkify.all_checks, (np.array([0.5, 1.0]), 7), "out-of-bounds"),
    ):
        error, _ = jit(checkify.checkify(f, errors=errors))(*arguments)
        assert text in error.get()
        with pytest.raises(checkify.JaxRuntimeError, match=text.partition(":")[0]):
            error.throw()
    error, _ = jit(checkify.checkify(f, errors=checkify.all_checks))(np.array([0.5, 1.0]), 1)
    assert error.get() is None


def test_debug_nans_names_the_operation_and_the_line():
    f = jit(lambda x: np.log(x) * 2)
    with transpile.debug_nans(True), pytest.raises(FloatingPointError) as raised:
        f(-np.ones(3))
    assert "log" in str(raised.value) and "test_reference_programs.py" in str(raised.value)
    assert np.isnan(f(-np.ones(3))).all()
