"""Traced, Lowered and Compiled: every member, every refusal, pickling."""

from __future__ import annotations

import inspect
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections import namedtuple

import numpy as np
import pytest
from places import importing

import transpile as tp
from transpile import stages, tree
from transpile.ir import graph as graphs

pytestmark = pytest.mark.full_level

X = np.arange(12.0).reshape(3, 4)
Y = np.arange(4.0).astype("f4")
Point = namedtuple("Point", "x y")


def program(x, p, n=2, unused=None, *, scale=1.0):
    z = np.sin(x) * scale
    return {"z": z, "s": (p["w"] * n).sum()}


def jitted(**settings):
    return tp.jit(program, static_argnames="n", **settings)


P = {"w": Y, "b": Y}


@pytest.fixture
def traced():
    return jitted(donate_argnums=0).trace(X, P, 3, X, scale=2.0)


# --------------------------------------------------------------------------------------- members


def test_members_of_every_stage(traced):
    lowered = traced.lower()
    compiled = lowered.compile()
    info = stages.ArgInfo
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    for stage in (traced, lowered, compiled):
        args, kwargs = stage.args_info
        assert args[0] == info((3, 4), f8, True)
        assert args[1] == {"b": info((4,), f4), "w": info((4,), f4)}
        assert args[2] == info((3, 4), f8) and kwargs == {"scale": info((), f8)}
        assert stage.in_tree == tree.structure(((X, P, X), {"scale": 2.0}))
        assert stage.out_tree == tree.structure({"z": 0, "s": 0})
        assert stage.in_avals[1]["scale"].weak and stage.in_avals[0][0].shape == (3, 4)
        assert str(stage.out_avals["z"]) == "f64[3,4]"
        assert stage.out_info == {
            "z": tp.ShapeDtypeStruct((3, 4), "f8"),
            "s": tp.ShapeDtypeStruct((), "f4"),
        }
        assert stage.donate_argnums == (0,)
    assert isinstance(traced, stages.Traced) and isinstance(lowered, stages.Lowered)
    assert isinstance(compiled, stages.Compiled)


def test_traced_has_the_graph_and_the_name(traced):
    assert isinstance(traced.jaxpr, graphs.Graph) and traced.fun_name == "program"
    traced.jaxpr.check()
    assert str(traced.jaxpr) == tp.xpr(
        lambda *a, **k: program(*a[:2], 3, *a[2:], **k), X, P, X, scale=2.0
    )


def test_cost_and_memory(traced):
    lowered = traced.lower()
    for cost in (lowered.cost_analysis(), lowered.compile().cost_analysis()):
        assert {"flops", "transcendentals", "bytes accessed"} <= cost.keys()
        assert all(type(v) is float for v in cost.values())
    memory = lowered.compile().memory_analysis()
    for what in ("argument", "output", "temp", "alias", "generated_code"):
        assert getattr(memory, f"{what}_size_in_bytes") >= 0


def test_shardings_are_none_for_each_leaf(traced):
    compiled = traced.lower().compile()
    args, kwargs = compiled.input_shardings
    assert args == (None, {"b": None, "w": None}, None) and kwargs == {"scale": None}
    assert compiled.output_shardings == {"z": None, "s": None}


def test_runtime_executable_takes_flat_lists():
    compiled = tp.jit(lambda x: (x + 1, x * 2)).lower(X).compile()
    one, two = compiled.runtime_executable()([X])
    assert np.array_equal(one, X + 1) and np.array_equal(two, X * 2)


def test_save_writes_into_the_directory(tmp_path):
    written = tp.jit(lambda x: x + 1).lower(X).compile().save(tmp_path / "out", "plus")
    assert {path.name for path in written} == {"plus.c", "plus.h", "plus.so"}
    assert set(written) == set((tmp_path / "out").iterdir())


def test_stages_are_made_once(traced):
    assert traced.lower() is traced.lower()
    lowered = traced.lower()
    assert lowered.compile() is lowered.compile() is lowered.compile({})
    fast = lowered.compile({"opt_level": 1})
    assert fast is not lowered.compile() and fast is lowered.compile({"opt_level": 1})


def test_threads_compile_once():
    lowered = tp.jit(lambda x: np.cos(x) + 3).lower(X)
    barrier, found = threading.Barrier(6), []

    def work():
        barrier.wait()
        found.append(lowered.compile())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(map(id, found))) == 1


def test_compiler_options():
    lowered = tp.jit(lambda x: x + 1, compiler_options={"opt_level": 2}).lower(X)
    compiled = lowered.compile(compiler_options={"openmp": False})
    assert compiled.runtime_executable().lowering.options.opt_level == 2
    assert compiled.runtime_executable().lowering.options.openmp is False
    with pytest.raises(
        ValueError, match=r"unknown compiler option 'speed'; the known ones are: .*cc"
    ):
        lowered.compile({"speed": 11})
    with pytest.raises(ValueError, match="'openmp' takes True or False, not 'yes'"):
        lowered.compile({"openmp": "yes"})


# ---------------------------------------------------------------------------------------- unused


def test_unused_arguments_stay_in_the_trees_and_leave_the_program():
    def uses_one(x, y, z):
        _ = y * 2  # computed, but never part of the result
        return x + 1

    lowered = tp.jit(uses_one).lower(X, Y, 2.0)
    assert [v.name for v in lowered.compiler_ir("graph").inputs] == ["x"]
    compiled = lowered.compile()
    assert np.array_equal(compiled(X, Y, 5.0), X + 1)
    with pytest.raises(
        TypeError, match=r"'y' compiled with float32\[4\] and called with float32\[5\]"
    ):
        compiled(X, np.zeros(5, "f4"), 5.0)
    kept = tp.jit(uses_one, keep_unused=True).lower(X, Y, 2.0)
    assert [v.name for v in kept.compiler_ir("graph").inputs] == ["x", "y", "z"]
    assert np.array_equal(kept.compile()(X, Y, 5.0), X + 1)


def test_donated_places_follow_the_kept_inputs():
    lowered = tp.jit(lambda a, b, c: b + c, donate_argnums=(0, 2)).lower(X, X, X)
    assert lowered.donate_argnums == (0, 2)
    assert lowered.compile().runtime_executable().lowering.donated == (1,)
    assert np.array_equal(lowered.compile()(X, X, X.copy()), X + X)
    by_name = tp.jit(lambda a, p: a + p["k"], donate_argnames="p").lower(X, p={"k": X, "l": Y})
    assert by_name.donate_argnums == (1, 2)


# ---------------------------------------------------------------------------------------- calling


def test_compiled_is_called_without_static_arguments():
    compiled = jitted().lower(X, P, n=3).compile()
    result = compiled(X, P)
    assert np.allclose(result["z"], np.sin(X)) and result["s"] == (Y * 3).sum()
    assert compiled.call(X, P)["s"] == result["s"]
    traced_scale = jitted().lower(X, P, 3, scale=1.0).compile()
    assert np.allclose(traced_scale(X, P, scale=3.0)["z"], np.sin(X) * 3)


def test_compiled_accepts_layouts_weak_types_and_byte_orders():
    compiled = tp.jit(lambda x, s: x * s).lower(X, 2.0).compile()
    for x in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(">f8")):
        for s in (2.0, np.float64(2), np.array(2.0)):
            assert np.array_equal(compiled(x, s), X * 2)


def test_compiled_with_wrong_types_lists_every_mismatch():
    compiled = tp.jit(lambda x, p, n: x + p["w"] * n).lower(X, {"w": X}, 2).compile()
    with pytest.raises(TypeError) as caught:
        compiled(X.astype("f4"), {"w": X[0]}, 2.0)
    assert str(caught.value) == (
        "Argument types differ from the types for which this computation was compiled. "
        "The mismatches are:\n"
        "Argument 'x' compiled with float64[3,4] and called with float32[3,4]\n"
        "Argument 'p['w']' compiled with float64[3,4] and called with float64[4]\n"
        "Argument 'n' compiled with int64[] and called with float64[]"
    )


def test_compiled_with_wrong_structure_says_where():
    compiled = tp.jit(lambda x, p: x + p["w"]).lower(X, {"w": X}).compile()
    with pytest.raises(TypeError) as caught:
        compiled([X], {"v": X})
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "Function compiled with input pytree does not match the input pytree it was called with. "
        "There are 2 mismatches, including:"
    )
    assert lines[1] == "    * at args[0]: expected *, got [*]"
    assert lines[2].startswith("    * at args[1]: expected {'w': *}, got {'v': *}")
    for args, kwargs in (((X,), {}), ((X, {"w": X}, X), {}), ((X,), {"p": {"w": X}})):
        with pytest.raises(TypeError, match="does not match the input pytree it was called with"):
            compiled(*args, **kwargs)


def test_compiled_with_things_that_are_no_arrays():
    compiled = tp.jit(lambda x: x).lower(X).compile()
    with pytest.raises(
        TypeError, match=r"argument 'x' of <lambda> \(test_stages.py:\d+\) is a str"
    ):
        compiled("text")
    with pytest.raises(TypeError, match="no values"):
        compiled(tp.ShapeDtypeStruct((3, 4), "f8"))


def test_compiled_refuses_tracers():
    compiled = tp.jit(lambda x: x + 1).lower(X).compile()
    with pytest.raises(TypeError) as caught:
        tp.jit(lambda x: compiled(x))(X)
    assert str(caught.value).startswith(
        "Cannot apply transpile transformations to a function lowered and compiled for a "
        "particular signature."
    )


def test_results_are_fresh_arrays():
    compiled = tp.jit(lambda x: (x, x + 0)).lower(X).compile()
    first, second = compiled(X), compiled(X)
    for a, b in zip(first, second, strict=True):
        assert a.flags.owndata or a.base is not X
        a[:] = -1
        assert np.array_equal(b, X)
    assert X[2, 3] == 11.0


# ------------------------------------------------------------------------------------------ text


def test_text_dialects():
    lowered = tp.jit(lambda x: np.sin(x) + 1).lower(X)
    compiled = lowered.compile()
    for stage in (lowered, compiled):
        assert "(" in stage.as_text() and stage.as_text() == stage.as_text("c")
        assert "sin" in stage.as_text("graph") and stage.as_text("graph").startswith("{ lambda")
        assert stage.as_text("dot").startswith("digraph")
    assert isinstance(compiled.as_text("asm"), str)
    assert isinstance(lowered.as_text("c", debug_info=True), str)
    assert lowered.compiler_ir() == lowered.as_text()
    assert isinstance(lowered.compiler_ir("graph"), graphs.Graph)


@pytest.mark.parametrize("name", ["nonsense", "C", "asm "])
def test_unknown_dialect(name):
    lowered = tp.jit(lambda x: x + 1).lower(X)
    for text in (lowered.as_text, lowered.compiler_ir, lowered.compile().as_text):
        known = "c, graph, loops, python, control_flow, dot, hlo"
        with pytest.raises(ValueError, match=f"unknown dialect: {name}; there are: {known}"):
            text(name)
    with pytest.raises(ValueError, match="unknown dialect: asm"):
        lowered.as_text("asm")
    with pytest.raises(ValueError, match="stablehlo, cuda, asm"):
        lowered.compile().as_text("nonsense")


def test_dot_is_valid_graphviz(tmp_path):
    table = np.arange(4.0)

    def drawn(x, y):
        wave = np.sin(x) * 2.0
        return wave + table, wave * y, 3.0

    text = tp.jit(drawn).lower(X, X).as_text("dot")
    defined = re.findall(r"^    (\w+) \[label=", text, re.M)
    edges = re.findall(r"^    (\w+) -> (\w+);$", text, re.M)
    assert len(defined) == len(set(defined)) and edges
    assert {name for edge in edges for name in edge} <= set(defined)
    assert text.count("{") == text.count("}") == 1 and text.endswith("}\n")
    assert "wave = multiply" in text and "test_stages.py" in text
    targets = [target for _, target in edges if target.startswith("result_")]
    assert targets == ["result_0", "result_1", "result_2"]
    if shutil.which("dot"):
        subprocess.run(
            ["dot", "-Tsvg", "-o", tmp_path / "x.svg"], input=text, text=True, check=True
        )


# -------------------------------------------------------------------------------------- pickling

WEIGHTS = np.arange(4.0)


def pickled_program(p, n):
    return Point(np.sin(p.x) * n + WEIGHTS, [p.y.sum(), None])


def test_compiled_survives_a_new_process(tmp_path):
    jitted_program = tp.jit(pickled_program, static_argnums=1)
    compiled = jitted_program.lower(Point(X, Y), 3).compile({"opt_level": 1})
    expected = compiled(Point(X, Y))
    file = tmp_path / "compiled.pickle"
    file.write_bytes(pickle.dumps((compiled, expected)))
    code = (
        "import pickle, sys, numpy as np\n"
        "compiled, expected = pickle.load(open(sys.argv[1], 'rb'))\n"
        "from test_stages import Point, X, Y\n"
        "got = compiled(Point(X, Y))\n"
        "assert type(got) is Point and got.y[1] is None\n"
        "assert np.array_equal(got.x, expected.x) and got.y[0] == expected.y[0]\n"
        "assert compiled.runtime_executable().lowering.options.opt_level == 1\n"
        "print(compiled.args_info, compiled.out_info)\n"
        "try: compiled(X)\n"
        "except TypeError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**importing(__file__), "PYTHONHASHSEED": "7"},
    )
    assert done.returncode == 0, done.stderr
    assert f"{compiled.args_info} {compiled.out_info}" in done.stdout
    assert "does not match the input pytree" in done.stdout


def test_pickled_twice_gives_equal_results():
    compiled = tp.djit(lambda x, n: x * n).lower(X, 3).compile()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(compiled))))
    assert np.array_equal(again(X, 3), X * 3)
    with pytest.raises(TypeError, match="compiled with 3 and called with 4"):
        again(X, 4)
    assert again.in_tree == compiled.in_tree and again.out_avals == compiled.out_avals


def test_what_can_be_called_has_a_signature():
    wrapped = tp.jit(lambda x, y=2: x * y)
    assert str(inspect.signature(wrapped)) == "(x, y=2)"
    compiled = wrapped.lower(np.ones(3)).compile()
    assert str(inspect.signature(compiled)) == "(*args, **kwargs)"
