"""What the pages of the reference say, sentence by sentence: of `jit`, `djit`, `xpr`, of the
stages, and of `xla_computation`, whose examples are typed in as they stand there.

What is different on purpose is in docs/reference_interface.md; the tests of it are here too.
"""

import collections
import contextlib
import inspect
import io
import re

import numpy as np
import pytest

import transpile
from transpile import djit, jit, stages, xla_computation, xpr

X, Y = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)


def counted():
    """A function and the list of the arguments with which its Python ran."""
    runs = []

    def f(x, n):
        runs.append(n)
        return np.sin(x) * n

    return f, runs


# -------------------------------------------------------------------------------- jit, djit, xpr


def test_the_parameters_of_the_page_in_its_order():
    """`jit` has four that are given by position too, `djit` three, `xpr` a function and primals."""
    names = ["func", "static", "show_graph", "auto_device"]
    assert list(inspect.signature(jit).parameters)[:4] == names
    assert list(inspect.signature(djit).parameters)[:3] == [names[0], *names[2:]]
    assert list(inspect.signature(xpr).parameters)[:2] == ["fn", "primals"]
    defaults = [p.default for p in inspect.signature(jit).parameters.values()][:4]
    assert defaults == [None, True, False, True]
    defaults = [p.default for p in inspect.signature(djit).parameters.values()][:3]
    assert defaults == [None, False, True]


def test_a_call_and_a_decorator_with_or_without_parentheses():
    def f(x):
        """Of x."""
        return x + 1

    for wrapped in (jit(f), jit()(f), jit(static=True)(f), djit(f), djit()(f), jit(f, False)):
        assert wrapped(X).tolist() == (X + 1).tolist() and wrapped.__wrapped__ is f
        assert (wrapped.__name__, wrapped.__doc__) == ("f", "Of x.")


@pytest.mark.parametrize("auto_device", [True, False])
def test_static_compiles_once_and_dynamic_runs_the_python_each_time(auto_device, capsys):
    """`auto_device` moves nothing, as there is no accelerator: results and traces are the same."""
    f, runs = counted()
    static = jit(f, auto_device=auto_device)
    assert [static(X, n).shape for n in (2, 3, 4.0)] == [(3, 4)] * 3
    assert len(runs) == 2 and not any(isinstance(n, int | float) for n in runs)  # int and float
    f, runs = counted()
    dynamic = djit(f, show_graph=True, auto_device=auto_device)
    for n in (2, 3, 2):
        np.testing.assert_allclose(dynamic(X, n), np.sin(X) * n, rtol=1e-15)
    assert runs == [2, 3, 2]  # numbers are left as Python's
    printed = capsys.readouterr().out
    assert printed.count("{ lambda ;") == 2  # the third graph is the first one


def test_show_graph_prints_the_text_of_xpr_when_it_is_first_compiled(capsys):
    f, _ = counted()
    shown = jit(f, show_graph=True)
    assert capsys.readouterr().out == ""
    shown(X, 2), shown(X + 1, 3)
    assert capsys.readouterr().out.rstrip("\n") == xpr(f, X, 2)


def test_the_text_of_xpr_is_like_jaxs():
    primals = {"a": X, "b": (Y,)}
    assert xpr(lambda p: np.sin(p["a"]) @ p["b"][0], primals) == (
        "{ lambda ; a:f64[3,4] b:f64[4,5]. let\n"
        "    c:f64[3,4] = sin a\n"
        "    d:f64[3,5] = dot_general[dimension_numbers=(((1,),(0,)),((),()))] c b\n"
        "  in (d,) }"
    )


# ----------------------------------------------------------------------------------------- stages


def affine(x, y, *, scale=1.0):
    return {"total": (x @ y).sum(), "scaled": x * scale}


def test_a_wrapped_function_is_called_or_lowered_and_the_result_compiled_before_it_runs():
    wrapped = jit(affine)
    assert isinstance(wrapped, stages.Wrapped)
    lowered = wrapped.lower(X, Y, scale=2.0)
    assert isinstance(lowered, stages.Lowered) and not lowered.built_layouts()
    compiled = lowered.compile()
    assert isinstance(compiled, stages.Compiled)
    a, b = wrapped(X, Y, scale=2.0), compiled(X, Y, scale=2.0)
    assert a["total"] == b["total"] and a["scaled"].tolist() == b["scaled"].tolist()


def test_what_a_lowering_says_of_itself():
    lowered = jit(affine).lower(X, Y, scale=2.0)
    text = lowered.as_text()
    assert isinstance(text, str) and text == lowered.as_text(dialect="c") and "affine" in text
    assert "stablehlo.dot_general" in lowered.as_text("stablehlo")
    assert "stablehlo" in str(lowered.compiler_ir("stablehlo"))
    assert lowered.compiler_ir() is not None
    assert set(lowered.cost_analysis()) >= {"flops", "transcendentals", "bytes accessed"}
    args, kwargs = lowered.in_tree.unflatten(range(3))
    assert (args, kwargs) == ((0, 1), {"scale": 2})
    assert isinstance(lowered.in_tree, transpile.tree_util.PyTreeDef)
    leaves = transpile.tree.leaves(lowered.args_info)
    assert [(leaf.shape, leaf.dtype, leaf.donated) for leaf in leaves] == [
        ((3, 4), np.dtype("f8"), False),
        ((4, 5), np.dtype("f8"), False),
        ((), np.dtype("f8"), False),
    ]
    assert lowered.compile({"opt_level": 0}) is lowered.compile({"opt_level": 0})


def test_what_a_compiled_function_says_of_itself():
    compiled = jit(affine).lower(X, Y).compile()
    assert "affine" in compiled.as_text() and compiled.as_text() == compiled.as_text("c")
    assert compiled.cost_analysis() == jit(affine).lower(X, Y).cost_analysis()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (32 * 8, 13 * 8)
    assert memory.temp_size_in_bytes >= 0 and memory.generated_code_size_in_bytes > 0
    assert memory.alias_size_in_bytes == 0
    assert compiled.in_tree == jit(affine).lower(X, Y).in_tree
    leaves = compiled.runtime_executable()([X, Y])
    assert {np.shape(leaf) for leaf in leaves} == {(), (3, 4)}
    assert compiled.call(X, Y)["total"] == (X @ Y).sum()


def test_pmap_has_the_same_stages():
    """They are those of the program of one device."""
    lowered = transpile.pmap(lambda x: x * 2).lower(X[:1])
    assert isinstance(lowered, stages.Lowered)
    assert lowered.compile()(X[0]).tolist() == (X[0] * 2).tolist()


# ------------------------------------------------------------------------ examples, typed in

SESSION = """
>>> import jax
>>>
>>> def f(x): return jax.numpy.sin(jax.numpy.cos(x))
>>> c = jax.xla_computation(f)(3.)
>>> print(c.as_hlo_text())  # doctest: +SKIP
>>> import types
>>> scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
>>> c = jax.xla_computation(f)(scalar)
>>> print(c.as_hlo_text())
>>> def f(x): return x - jax.lax.psum(x, 'i')
>>> c = jax.xla_computation(f, axis_env=[('i', 4)])(2)
>>> print(c.as_hlo_text())  # doctest: +SKIP
>>> from jax import lax
>>> def g(x):
...   rowsum = lax.psum(x, 'i')
...   colsum = lax.psum(x, 'j')
...   allsum = lax.psum(x, ('i', 'j'))
...   return rowsum, colsum, allsum
...
>>> axis_env = [('i', 4), ('j', 2)]
>>> c = xla_computation(g, axis_env=axis_env)(5.)
>>> print(c.as_hlo_text())  # doctest: +SKIP
"""
SINE = """
  constant.2 = pred[] constant(false)
  parameter.1 = f32[] parameter(0)
  cosine.3 = f32[] cosine(parameter.1)
  sine.4 = f32[] sine(cosine.3)
  ROOT tuple.5 = (f32[]) tuple(sine.4)
"""
PAGE = [
    SINE,
    SINE,
    """
primitive_computation.3 {
  parameter.4 = s32[] parameter(0)
  parameter.5 = s32[] parameter(1)
  ROOT add.6 = s32[] add(parameter.4, parameter.5)
}
ENTRY jaxpr_computation.9 {
  tuple.1 = () tuple()
  parameter.2 = s32[] parameter(0)
  all-reduce.7 = s32[] all-reduce(parameter.2), replica_groups={{0,1,2,3}}, \
to_apply=primitive_computation.3
  ROOT subtract.8 = s32[] subtract(parameter.2, all-reduce.7)
""",
    """
  tuple.1 = () tuple()
  parameter.2 = f32[] parameter(0)
  all-reduce.7 = f32[] all-reduce(parameter.2), replica_groups={{0,2,4,6},{1,3,5,7}}, \
to_apply=primitive_computation__1.3
  all-reduce.12 = f32[] all-reduce(parameter.2), replica_groups={{0,1},{2,3},{4,5},{6,7}}, \
to_apply=primitive_computation__1.8
  all-reduce.17 = f32[] all-reduce(parameter.2), replica_groups={{0,1,2,3,4,5,6,7}}, \
to_apply=primitive_computation__1.13
  ROOT tuple.18 = (f32[], f32[], f32[]) tuple(all-reduce.7, all-reduce.12, all-reduce.17)
""",
]
INSTRUCTION = re.compile(r"^ *(ROOT )?\S+ = (.*?) ([a-z-]+)\((.*?)\)(.*)$", re.M)


def instructions(text):
    """Of the entry: is it the root, type, opcode, operands by their opcodes, and groups of each
    instruction but those that are tokens."""
    found = []
    entry = text.split("ENTRY ")[-1]
    for root, kind, opcode, operands, rest in INSTRUCTION.findall(entry):
        groups = re.search(r"replica_groups=(\{\{.*?\}\})", rest)
        parts = re.findall(r"[a-z-]+(?=\.\d)|^\d+$", operands)
        found.append((bool(root), kind, opcode, parts, groups and groups[1]))
    return [i for i in found if i[1:3] not in (("pred[]", "constant"), ("()", "tuple"))]


def typed_in(session):
    """What each `print` of a session prints, its imports changed."""
    source = re.sub(r"^(>>>|\.\.\.) ?", "", session, flags=re.M)
    source = source.replace("import jax\n", "import transpile as jax\n")
    source = source.replace("from jax import", "from transpile import")
    printed = []

    def note(text):
        printed.append(text)

    names = {"np": np, "xla_computation": xla_computation, "print": note}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, "<page>", "exec"), names)
    return printed


def test_the_examples_print_the_instructions_of_the_page():
    """But for 64-bit numbers, tokens that nothing reads, the order of what does not depend on each
    other, and a tuple around a result that is alone."""
    printed = typed_in(SESSION)
    assert len(printed) == len(PAGE) == 4
    widths = ["64", "32", "64", "64"]
    for text, page, width in zip(printed, PAGE, widths, strict=True):
        wanted = instructions(re.sub(r"\b([fs])32\[", rf"\g<1>{width}[", page))
        found = instructions(text)
        if found[-1][2] == "tuple" and wanted[-1][2] != "tuple":
            (_, kind, opcode, operands, groups) = wanted[-1]
            wanted[-1:] = [
                (False, kind, opcode, operands, groups),
                (True, f"({kind})", "tuple", [opcode], None),
            ]
        assert sorted(found, key=str) == sorted(wanted, key=str)
    combiner = r"ROOT add\.\d+ = s64\[\] add\(parameter\.\d+, parameter\.\d+\)"
    assert re.search(combiner, printed[2])


# ------------------------------------------------------------------------------- xla_computation


def test_every_parameter_has_the_name_the_place_and_the_default_of_the_page():
    parameters = inspect.signature(xla_computation).parameters
    assert list(parameters) == [
        "fun", "static_argnums", "axis_env", "in_parts", "out_parts", "backend", "tuple_args",
        "instantiate_const_outputs", "return_shape", "donate_argnums",
    ]  # fmt: skip
    defaults = [p.default for p in parameters.values()][1:]
    assert defaults == [(), None, None, None, None, False, None, False, ()]


def test_return_shape_gives_shapes_dtypes_and_named_shapes_in_the_results_structure():
    def h(x):
        total = transpile.lax.psum(x, "i")
        return {"sum": total, "own": (x, transpile.lax.axis_index("i").astype("f4"))}

    settings = {"axis_env": [("i", 4)], "return_shape": True}
    computation, shape = xla_computation(h, **settings)(np.ones(3, "f4"))
    assert computation.as_hlo_text().startswith("HloModule xla_computation_h")
    own, number = shape["own"]
    for leaf, size in ((shape["sum"], (3,)), (own, (3,)), (number, ())):
        assert (leaf.shape, leaf.dtype) == (size, np.dtype("f4"))
    named = [leaf.named_shape for leaf in (shape["sum"], own, number)]
    assert named == [{}, {}, {"i": 4}]


def test_the_deprecated_argument_and_the_name_of_a_backend_change_nothing():
    f = lambda x: x + 1
    texts = {
        xla_computation(f, instantiate_const_outputs=flag, backend=name)(X).as_hlo_text()
        for flag in (None, True, False)
        for name in (None, "cpu", "gpu", "tpu")
    }
    assert len(texts) == 1


def test_tuple_args_takes_one_argument_and_none_tuples_more_than_a_hundred():
    f = lambda *xs: sum(xs)
    for setting, count, parameters in (
        (False, 101, 101),
        (True, 2, 1),
        (None, 100, 100),
        (None, 101, 1),
    ):
        made = xla_computation(f, tuple_args=setting)(*[1.0] * count)
        assert len(made.program_shape().parameters) == parameters


def test_parts_say_how_arguments_and_results_are_cut():
    f = lambda x, y: (x @ y, y)
    made = xla_computation(f, in_parts=((1, 2), None), out_parts=((3, 1), None))(X, Y)
    text = made.as_hlo_text()
    assert "sharding={devices=[1,2]0,1}" in text and "sharding={replicated}" in text
    assert "devices=[3,1]0,1,2" in text


def test_donated_arguments_are_said_to_be_aliases():
    text = xla_computation(lambda x, y: x + 1, donate_argnums=(0,))(X, Y).as_hlo_text()
    assert "input_output_alias={ {0}: (0, {}, may-alias) }" in text


def test_arguments_need_no_more_than_a_shape_and_a_dtype_but_named_tuples_are_containers():
    Pair = collections.namedtuple("Pair", ["shape", "dtype"])
    made = xla_computation(lambda p: p.shape + p.dtype)(Pair(1.0, 2.0))
    assert str(made.program_shape()) == "(f64[], f64[]) -> (f64[])"
    assert len(transpile.tree.leaves(Pair(np.ones(3), 2.0))) == 2
    struct = transpile.ShapeDtypeStruct((2, 3), np.dtype("f4"))
    made = xla_computation(lambda n, x: x * n, static_argnums=0)(5, struct)
    assert str(made.program_shape()) == "(f32[2,3]) -> (f32[2,3])"


def test_the_three_representations():
    made = xla_computation(lambda x: np.sin(x).sum())(X)
    assert made.as_hlo_text().startswith("HloModule")
    pytest.importorskip("google.protobuf")
    assert b"xla_computation__lambda_" in made.as_serialized_hlo_module_proto()
    assert made.as_hlo_dot_graph().startswith("digraph")
