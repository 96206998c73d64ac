"""What the reference says beyond its pages, sentence by sentence: of `jit`, `djit`, their keys and
caches, and of the stages. Errors of calls and of traced values have files of their own.
"""

import copy
import functools
import inspect
import logging
import types

import numpy as np
import pytest

import transpile
from transpile import djit, jit, lax, xpr
from transpile.dispatch import trace_cache
from transpile.errors import TracerBoolConversionError, TracerError

X, Y = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)


class Counted:
    """A function that counts how often its Python has run while it was traced."""

    def __init__(self, function):
        self.runs = 0
        self.function = function

    def jitted(self, **settings):
        @functools.wraps(self.function)
        def f(*args, **kwargs):
            self.runs += 1
            return self.function(*args, **kwargs)

        return jit(f, **settings)


# ----------------------------------------------------------------------------- what can be wrapped


def test_functions_methods_partials_and_callables_keep_their_metadata():
    def scaled(x, *, by: float = 2.0):
        """Scale x."""
        return x * by

    class Model:
        def __init__(self, w):
            self.w = w

        @jit
        def __call__(self, x):
            """Apply."""
            return x * self.w

        @jit
        def method(self, x):
            return x + self.w

    wrapped = jit(scaled)
    assert (wrapped.__name__, wrapped.__doc__) == ("scaled", "Scale x.")
    assert wrapped.__wrapped__ is scaled
    assert inspect.signature(wrapped) == inspect.signature(scaled)
    model = Model(3.0)
    assert model(2.0) == 6 and model.method(2.0) == 5 and Model.method(model, 1.0) == 4
    assert jit(functools.partial(scaled, by=5.0))(2.0) == 10
    assert jit(Model(4.0).__call__)(2.0) == 8


# ------------------------------------------------------------------------------- static signatures


def test_one_trace_for_a_signature_whatever_values_strides_and_orders():
    """Structure, shapes, dtypes, weak types and static values make it."""
    f = Counted(lambda p, n, *, a=1, b=2: p["x"] * n + p["y"] * a - b)
    g = f.jitted()
    tree = {"x": X, "y": X + 1}
    g(tree, 2, a=1, b=2)
    g({"y": X[::-1], "x": np.asfortranarray(X)}, 3, b=7, a=9)
    g({"x": np.zeros((6, 8))[::2, ::2], "y": X}, -4, a=0, b=0)
    assert f.runs == 1 and g._cache_size() == 1
    for further in ((tree, 2.0), (tree, np.int64(2)), ({"x": X[:2], "y": X[:2]}, 2)):
        before = f.runs
        g(*further), g(*further)
        assert f.runs == before + 1
    g.clear_cache()
    g(tree, 2, a=1, b=2)
    assert f.runs == 5
    transpile.clear_caches()
    g(tree, 2, a=1, b=2)
    assert f.runs == 6 and g._cache_size() == 1


def test_every_stage_shares_one_trace_and_one_build():
    f = Counted(lambda x: np.sin(x) + 1)
    g = f.jitted()
    traced = g.trace(X)
    lowered, compiled = g.lower(X), g.lower(X).compile()
    assert traced.lower() is lowered and lowered.compile() is compiled
    assert g.eval_shape(X).shape == (3, 4) and transpile.make_jaxpr(g)(X) is traced.jaxpr
    assert g(X).tolist() == compiled(X).tolist() and f.runs == 1


def test_static_arguments_differ_by_hash_equality_and_type_and_leave_every_tree():
    f = Counted(lambda x, n, flag=True: x * n if flag else x)
    g = f.jitted(static_argnums=1, static_argnames="flag")
    for n in (2, 2.0, True, np.float32(2)):
        g(X, n), g(X, n)
    assert f.runs == 4
    lowered = g.lower(X, 2, flag=False)
    assert lowered.in_tree.num_leaves == 1 and len(lowered.args_info[0]) == 1
    assert lowered.compile()(X).tolist() == X.tolist()
    with pytest.raises(ValueError, match="hash"):
        g(X, [1, 2])
    for settings in (
        {"static_argnums": 7},
        {"static_argnames": "nobody"},
        {"static_argnums": 0, "donate_argnums": 0},
    ):
        with pytest.raises(ValueError, match=r"static|nobody"):
            f.jitted(**settings)(X, 2)


def test_defaults_are_constants_and_unused_arguments_stay_in_the_trees():
    g = jit(lambda x, unused, n=3: x * n)
    lowered = g.lower(X, Y)
    assert lowered.in_tree.num_leaves == 2
    assert lowered.compile().memory_analysis().argument_size_in_bytes == X.nbytes
    with pytest.raises(TypeError, match=r"float64\[4,5\] and called with float64\[2\]"):
        lowered.compile()(X, np.ones(2))
    kept = jit(lambda x, unused: x, keep_unused=True).lower(X, Y).compile()
    assert kept.memory_analysis().argument_size_in_bytes == X.nbytes + Y.nbytes


def test_donated_memory_becomes_the_results():
    compiled = jit(lambda x, y: (x + 1, y.sum()), donate_argnums=0).lower(X, Y).compile()
    assert compiled.memory_analysis().alias_size_in_bytes == X.nbytes
    given = X.copy()
    out, _ = compiled(given, Y)
    assert out.tolist() == (X + 1).tolist()
    with pytest.raises(TypeError):
        given + 1
    assert transpile.tree.leaves(compiled.args_info)[0].donated
    assert compiled.donate_argnums == (0,)


def test_a_captured_value_that_changed_is_noticed_and_the_log_says_what_differs(caplog):
    captured = np.ones(3)
    g = jit(lambda x: x + captured)
    assert g(np.zeros(3)).tolist() == [1, 1, 1]
    captured[1] = 5
    assert g(np.zeros(3)).tolist() == [1, 5, 1]
    with caplog.at_level(logging.WARNING), transpile.explain_cache_misses():
        g(np.zeros((2, 3)))
    assert "x" in caplog.text and "float64[2,3]" in caplog.text


# ----------------------------------------------------------------------------------------- dynamic


def test_dynamic_code_follows_values_and_finds_graphs_again():
    @djit
    def f(x, n):
        if x.sum() > 0:
            for _ in range(n):
                x = x + int(x[0])
        return x

    assert f(np.ones(2), 2).tolist() == [4, 4] and f(-np.ones(2), 2).tolist() == [-1, -1]
    assert f(np.ones(2), 2).tolist() == [4, 4] and f._cache_size() == 2


def test_the_key_of_a_dynamic_function_covers_edges_and_constants():
    which = []
    f = djit(lambda a, b: a * b + (a if which[-1] == 0 else b) + which[-1] // 2)
    a, b = np.array(3.0), np.array(5.0)
    for kind, value in ((0, 18), (1, 20), (2, 21), (0, 18)):
        which.append(kind)
        assert f(a, b) == value
    assert f._cache_size() == 3


def test_the_table_of_a_dynamic_function_is_bounded(monkeypatch):
    assert f"the last {trace_cache.MOST_GRAPHS} of each function" in djit.__doc__
    monkeypatch.setattr(trace_cache, "MOST_GRAPHS", 2)
    f = djit(lambda x, n: x + n)
    assert [f(1.0, n) for n in (0, 1, 2, 0)] == [1, 2, 3, 1]
    assert f._cache_size() == 2


# ----------------------------------------------------------------- further functions of the package


def test_disable_jit_runs_the_python_with_numpy():
    seen = []
    f = jit(lambda x: seen.append(type(x)) or x + 1)
    with transpile.disable_jit():
        f(X), f(X)
    assert seen == [np.ndarray] * 2


@pytest.mark.parametrize(
    "example",
    [
        transpile.ShapeDtypeStruct((3, 4), np.float64),
        types.SimpleNamespace(shape=(3, 4), dtype=np.dtype("f8")),
        X,
    ],
)
def test_whatever_has_a_shape_and_a_dtype_serves_where_only_types_are_needed(example):
    f = lambda x: x.sum(0)
    assert transpile.eval_shape(f, example).shape == (4,)
    assert transpile.make_jaxpr(f)(example).outputs[0].type.shape == (4,)
    assert xpr(f, example) == xpr(f, X) == str(transpile.make_jaxpr(f)(example))
    assert jit(f).lower(example).compile()(X).shape == (4,)
    assert transpile.xla_computation(f)(example).program_shape().parameters[0].shape == (3, 4)


def test_what_tracing_needs_the_value_of_is_an_error_that_says_what_to_write():
    def sign(x, *, y=1.0):
        return x if y > 0 else -x

    with pytest.raises(TracerBoolConversionError) as raised:
        jit(sign, python_control_flow=False)(2.0, y=3.0)
    said = str(raised.value)
    for part in ("sign", "test_reference_interface.py", "y", "lax.cond", "static_argnames"):
        assert part in said
    assert isinstance(raised.value, TypeError)
    for wants in (
        int,
        float,
        complex,
        lambda n: [*range(n)],
        lambda x: [1, 2][x],
        lambda x: [1, 2][:x],
    ):
        with pytest.raises(TracerError, match=r"test_reference_interface\.py"):
            jit(wants, python_control_flow=False)(2)
    assert issubclass(TracerError, TypeError)


# ------------------------------------------------------------------------------------------ stages


def model(x, p, n=2):
    return {"y": np.tanh(x @ p["w"]) + n}


def test_the_members_of_every_stage():
    wrapped = jit(model, donate_argnums=0)
    traced = wrapped.trace(X, {"w": Y})
    lowered = traced.lower()
    compiled = lowered.compile()
    of_wrapped = "__call__ trace lower eval_shape clear_cache"
    shared = "args_info in_tree in_avals out_info out_tree donate_argnums"
    program = f"{shared} as_text cost_analysis"
    for stage, names in (
        (wrapped, of_wrapped),
        (traced, f"{shared} jaxpr fun_name out_avals lower"),
        (lowered, f"{program} compiler_ir compile"),
        (
            compiled,
            f"{program} __call__ call memory_analysis runtime_executable input_shardings "
            "output_shardings save __reduce__",
        ),
    ):
        assert not [name for name in names.split() if not hasattr(stage, name)]
    assert traced.fun_name == "model" and str(traced.jaxpr) == xpr(model, X, {"w": Y})
    args, kwargs = compiled.args_info
    assert args[1]["w"].shape == (4, 5) and args[0].donated and kwargs == {}
    assert lowered.out_info == {"y": transpile.ShapeDtypeStruct((3, 5), np.dtype("f8"))}
    assert copy.deepcopy(lowered) is lowered


def test_the_dialects_and_the_error_that_lists_them():
    lowered = jit(model).lower(X, {"w": Y})
    compiled = lowered.compile()
    begins = {
        "graph": "{ lambda ;", "hlo": "HloModule", "stablehlo": "module @", "dot": "digraph",
    }  # fmt: skip
    for dialect, beginning in begins.items():
        assert lowered.as_text(dialect).startswith(beginning)
        assert compiled.as_text(dialect) == lowered.as_text(dialect)
    assert lowered.as_text("c") == lowered.as_text() and "for i" in lowered.as_text("loops")
    assert "#line" in lowered.as_text(debug_info=True) and "ret" in compiled.as_text("asm")
    for stage, further in ((lowered, ""), (compiled, "asm")):
        with pytest.raises(ValueError, match="unknown dialect: mlir") as raised:
            stage.as_text("mlir")
        assert all(name in str(raised.value) for name in ("c", "loops", *begins, further))


def test_costs_are_counted_by_the_rules():
    """An elementwise operation an element, n - 1 for a sum, 2 m n k for a product; loops as often
    as they run; sines and their like are transcendental."""
    cost = lambda f, *args: jit(f).lower(*args).cost_analysis()
    assert cost(lambda x: x + 1, X)["flops"] == 12
    assert cost(lambda x: x.sum(), X)["flops"] == 11
    assert cost(lambda x, y: x @ y, X, Y)["flops"] == 2 * 3 * 5 * 4
    assert cost(np.sin, X) | {"bytes accessed": 0} == {
        "flops": 0, "transcendentals": 12, "bytes accessed": 0,
    }  # fmt: skip
    assert cost(np.sin, X)["bytes accessed"] == 2 * X.nbytes
    repeated = lambda x: lax.fori_loop(0, 10, lambda i, x: np.exp(x * 2), x)
    found = cost(repeated, X)
    assert (found["flops"], found["transcendentals"]) == (120, 120)


def test_options_of_the_compiler_have_names_and_values():
    lowered = jit(lambda x: x + 1).lower(X)
    named = {
        "opt_level": 1, "march": "native", "openmp": False, "num_threads": 1, "fast_math": False,
        "precise_math": True, "sanitize": False, "debug": True, "cc": "", "extra_cflags": (),
    }  # fmt: skip
    fields = {f.name for f in transpile.Options.__dataclass_fields__.values()}
    assert set(named) <= fields
    assert lowered.compile({"opt_level": 1, "debug": True})(X).tolist() == (X + 1).tolist()
    for bad in ({"speed": 11}, {"opt_level": "high"}, {"opt_level": 9}):
        with pytest.raises(ValueError, match="|".join(bad)) as raised:
            lowered.compile(bad)
        assert "opt_level" in str(raised.value)


def test_a_compiled_function_that_is_called_wrongly():
    compiled = jit(lambda x, p: x * p["w"]).lower(X, {"w": 2.0}).compile()
    with pytest.raises(TypeError) as raised:
        compiled(X.astype("f4"), {"w": np.ones(3)})
    said = str(raised.value).splitlines()
    assert said[0] == (
        "Argument types differ from the types for which this computation was compiled. "
        "The mismatches are:"
    )
    assert "Argument 'x' compiled with float64[3,4] and called with float32[3,4]" in said
    assert "Argument 'p['w']' compiled with float64[] and called with float64[3]" in said
    with pytest.raises(TypeError, match="Function compiled with input pytree does not match") as e:
        compiled(X, {"v": 2.0})
    assert "mismatches, including:" in str(e.value) or "mismatch" in str(e.value)
    with pytest.raises(TypeError, match="Cannot apply transpile transformations to a function"):
        jit(lambda x: compiled(x, {"w": 2.0}))(X)
    strict = compiled(np.asfortranarray(X), {"w": np.float64(3)})
    assert strict.tolist() == (X * 3).tolist()
