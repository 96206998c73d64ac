"""`xla_computation` and the text of modules: XLA's reference page, and what it leaves out."""

import types

import numpy as np
import pytest

import transpile
from transpile import lax, xla_computation
from transpile.errors import UnsupportedError
from transpile.hlo.module import called


def f(x):
    return np.sin(np.cos(x))


OF_F = """HloModule xla_computation_f

ENTRY xla_computation_f.5 {
  parameter.1 = f32[] parameter(0)
  cosine.2 = f32[] cosine(parameter.1)
  sine.3 = f32[] sine(cosine.2)
  ROOT tuple.4 = (f32[]) tuple(sine.3)
}
"""


def test_the_example_of_the_reference():
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    assert xla_computation(f)(scalar).as_hlo_text() == OF_F
    assert xla_computation(f)(3.0).as_hlo_text() == OF_F.replace("f32", "f64")
    assert transpile.jit(f).lower(np.float32(3)).as_text("hlo") == OF_F
    assert transpile.jit(f).lower(np.float32(3)).compiler_ir("hlo") == OF_F


def test_the_name_and_the_types_of_a_module():
    computation = xla_computation(lambda x, y: (x + 1, y))(np.ones((2, 3), "f4"), np.int8(1))
    assert computation.name() == "xla_computation__lambda_"
    assert str(computation.program_shape()) == "(f32[2,3], s8[]) -> (f32[2,3], s8[])"
    assert repr(computation).startswith(
        "<XlaComputation xla_computation__lambda_: (f32[2,3], s8[])"
    )


def test_parameters_that_nothing_reads_stay_and_names_come_last_in_their_order():
    def g(x, unused, *, b, a):
        return x + b, a

    computation = xla_computation(g)(np.ones(3), True, b=np.ones(3), a=np.int16(2))
    assert str(computation.program_shape()) == (
        "(f64[3], pred[], s16[], f64[3]) -> (f64[3], s16[])"
    )


def test_a_result_that_appears_twice_is_given_twice():
    text = xla_computation(lambda x: (x, x, 2.0))(np.ones(3)).as_hlo_text()
    assert "(f64[3], f64[3], f64[]) tuple(parameter.1, parameter.1, constant" in text


def test_arguments_as_one_tuple():
    many = [np.ones(2)] * 101
    total = lambda *xs: sum(xs)
    assert str(xla_computation(total)(*many).program_shape()).count("f64[2]") == 102
    for setting, count, is_tuple in ((True, 2, True), (None, 100, False), (None, 101, True)):
        shape = xla_computation(total, tuple_args=setting)(*many[:count]).program_shape()
        assert (len(shape.parameters) == 1) == is_tuple
        assert shape.result == (shape.result[0],) and shape.result_shape() == shape.result


def test_donated_arguments_are_aliases_of_outputs_of_their_type():
    def g(x, y, z):
        return y + 1, x.sum(), x * 2

    x, y, z = np.ones((3, 2)), np.ones(3, "f4"), np.ones(7)
    text = xla_computation(g, donate_argnums=(0, 1, 2))(x, y, z).as_hlo_text()
    head = text.splitlines()[0]
    assert head.endswith("{ {0}: (1, {}, may-alias), {2}: (0, {}, may-alias) }")
    text = xla_computation(g, donate_argnums=0, tuple_args=True)(x, y, z).as_hlo_text()
    assert "input_output_alias={ {2}: (0, {0}, may-alias) }" in text


def test_the_shape_of_the_result():
    _, shape = xla_computation(lambda x: {"s": x.sum(0), "n": 1}, return_shape=True)(
        np.ones((3, 2))
    )
    assert {k: (v.shape, v.dtype, v.named_shape) for k, v in shape.items()} == {
        "n": ((), np.dtype("int64"), {}),
        "s": ((2,), np.dtype("float64"), {}),
    }


def test_static_arguments_are_no_parameters():
    text = xla_computation(lambda x, n: x**n, static_argnums=1)(np.ones(3), 2).as_hlo_text()
    assert "parameter(1)" not in text


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="unknown backend 'vulkan': there are cpu, gpu and tpu"):
        xla_computation(f, backend="vulkan")
    with pytest.raises(ValueError, match="static_argnums"):
        xla_computation(f, static_argnums=7)(1.0)
    with pytest.raises(ValueError, match="static"):
        xla_computation(f, static_argnums=0, donate_argnums=0)(1.0)


@pytest.mark.parametrize("dialect", ["hlo", "stablehlo"])
def test_sizes_that_are_known_at_run_time_are_refused(dialect):
    points = transpile.ShapeDtypeStruct(("n", 3), np.float64)
    said = r"but x of .* is f64\[n,3\]: give example arguments of known shapes"
    with pytest.raises(UnsupportedError, match=said):
        transpile.jit(f).lower(points).as_text(dialect)
    with pytest.raises(UnsupportedError, match=said):
        xla_computation(f)(points)


def test_loops_and_branches_call_computations():
    def g(x):
        x = lax.fori_loop(0, 5, lambda i, s: s + i, x)
        return lax.cond(x[0] > 0, np.sin, np.cos, x)

    module = xla_computation(g)(np.ones(3)).module
    callees = {
        (i.opcode, computation.name)
        for c in module.computations
        for i in c.instructions
        for computation in called(i)
    }
    assert callees == {
        ("while", "condition"),
        ("while", "body"),
        ("conditional", "branch_0"),
        ("conditional", "branch_1"),
    }


def test_computations_come_before_what_calls_them_and_names_are_unique():
    def g(x):
        return lax.scan(lambda c, r: (c + np.sort(r), r.argmax()), x[0], x)

    module = xla_computation(g)(np.ones((4, 3))).module
    seen = set()
    for computation in module.computations:
        for instruction in computation.instructions:
            assert all(c in seen for c in called(instruction))
        seen.add(computation)
    names = [i.name for c in module.computations for i in c.instructions]
    assert len(names) == len(set(names))


def test_equal_combiners_are_one_computation():
    text = xla_computation(lambda x: (x.sum(0), x.sum(1), x.max()))(np.ones((3, 2))).as_hlo_text()
    assert text.count("\nadd.") == 1 and text.count("\nmaximum.") == 1
    assert text.count("reduce(") == 3


def test_numbers_read_back_as_the_same_ones():
    values = np.array([0.1, np.inf, -np.inf, np.nan, -0.0, 1e-310, 5e300])
    text = xla_computation(lambda: values)().as_hlo_text()
    inside = text.split("constant({")[1].split("})")[0].split(", ")
    assert np.array([float(v) for v in inside]).tobytes() == values.tobytes()
    halves = np.float16(values[[0, 1, 4]])
    text = xla_computation(lambda: halves)().as_hlo_text()
    inside = text.split("constant({")[1].split("})")[0].split(", ")
    assert np.array([float(v) for v in inside], "f2").tobytes() == halves.tobytes()


def test_a_graph_of_instructions_for_graphviz():
    text = xla_computation(lambda x: x.sum())(np.ones(3)).as_hlo_dot_graph()
    assert text.startswith('digraph "xla_computation__lambda_" {')
    assert text.count("{") == text.count("}")
    assert text.count("[style=dashed]") == 1
