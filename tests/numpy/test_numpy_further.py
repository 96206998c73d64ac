"""The modules of NumPy's functions that are imported when one of their functions is used."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import numpy as jnp


def run(code):
    """Run code in a new process, in which nothing but the usual modules is imported."""
    start = """
        import sys
        import numpy as np
        import transpile
        from transpile import numpy as jnp
        from transpile.transforms.interpret import interpret

        def has(*modules):
            return ["transpile.numpy." + m in sys.modules for m in modules]

        X = np.array([[3.0, 1.0], [2.0, 5.0]])
    """
    text = textwrap.dedent(start) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_usual_functions_need_no_further_module():
    run("""
        def f(x):
            e = jnp.exp(x - x.max(axis=1, keepdims=True)) @ x.T
            return jnp.stack([e, jnp.where(e > 0, e, np.zeros_like(e))])[0, 1:].reshape(-1).sum()

        transpile.make_jaxpr(f)(X)
        assert not any(has("order", "linalg", "fft", "mapping", "inspection", "core.ranges"))
    """)


def test_names_are_found_while_a_function_is_traced():
    run("""
        def f(x):
            assert jnp.array([x, x]).shape == (2, 2, 2) and jnp.full((2,), 3).shape == (2,)
            return jnp.vectorize(lambda y: y + 1)(x) + jnp.r_[x, x][:2]

        transpile.make_jaxpr(f)(X)
        assert jnp.vectorize.__module__ != "numpy" and jnp.array([1]).dtype == int
        assert type(jnp.r_[1:3]) is np.ndarray and np.r_ is not jnp.r_
    """)


# Each is the first thing that its process asks of a module that is not imported: of NumPy, of an
# array, of our namespace; in a trace and outside.
FIRST = {
    "a function of NumPy": "found = traced(lambda x: np.sort(x))(X); wanted = np.sort(X)",
    "a method": "found = traced(lambda x: x.cumsum())(X); wanted = X.cumsum()",
    "a property": "found = traced(lambda x: x.at[0].set(1))(X); wanted = np.array([[1, 1], X[1]])",
    "a method of a ufunc": "found = traced(lambda x: np.add.reduce(x))(X); wanted = X.sum(0)",
    "ufunc.at": "found = traced(at)(X); wanted = at(X.copy())",
    "a class": "found = traced(lambda x: np.vectorize(lambda y: y + 1)(x))(X); wanted = X + 1",
    "an index maker": "found = traced(lambda x: np.r_[x, x])(X); wanted = np.r_[X, X]",
    "a pair": "found = traced(lambda x: np.array([b for _, b in np.ndenumerate(x)]))(X);"
    " wanted = X.ravel()",
    "linear algebra": "found = traced(lambda x: np.linalg.inv(x))(X); wanted = np.linalg.inv(X)",
    "a Fourier transform": "found = traced(lambda x: np.fft.fft(x))(X); wanted = np.fft.fft(X)",
    "a generalized ufunc": "found = traced(lambda x: np.vecdot(x, x))(X); wanted = np.vecdot(X, X)",
    "the namespace": "found = jnp.sort(X); wanted = np.sort(X)",
    "its packages": "found = jnp.linalg.inv(X) + jnp.fft.fft(X);"
    " wanted = np.linalg.inv(X) + np.fft.fft(X)",
    "a name imported from it": "from transpile.numpy import median, r_;"
    " found = traced(median)(X); wanted = np.median(X)",
    "the standard's namespace": "found = traced(lambda x: x.__array_namespace__().sort(x))(X);"
    " wanted = np.sort(X)",
    "everything": "from transpile.numpy import *; found = sort(X); wanted = np.sort(X)",
}


@pytest.mark.parametrize("code", FIRST.values(), ids=FIRST)
@one_in(3)
def test_further_modules_are_imported_when_they_are_used(code):
    run(f"""
def traced(f):
    def results(*args):
        graph = transpile.make_jaxpr(f)(*args)
        return interpret(graph, args)[0]
    return results

def at(x):
    np.add.at(x, [0, 0], 1)
    return x * 1

{code}
np.testing.assert_allclose(found, wanted)
assert np.vectorize.__module__ == "numpy"
assert type(np.r_).__module__ != "transpile.numpy.core.ranges"
    """)


def test_no_module_is_forgotten():
    run("""
        import pkgutil
        from importlib import import_module
        from transpile import primitives
        from transpile.ir.primitive import TABLE
        from transpile.trace.tracer import FUNCTIONS, UFUNC_METHODS, Tracer

        before = len(TABLE), len(FUNCTIONS), len(UFUNC_METHODS), len(vars(Tracer))
        for package in (jnp, primitives):
            for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                import_module(module.name)
        after = len(TABLE), len(FUNCTIONS), len(UFUNC_METHODS), len(vars(Tracer))
        assert before == after, "list it in the __init__.py of its package"
    """)


def test_names_are_there_before_they_are_imported():
    run("""
        names = dir(jnp)
        assert {"sort", "sin", "float32", "r_", "newaxis", "zeros"} <= set(names)
        assert jnp.newaxis is None and jnp.at(X)[0, 0].set(1)[0, 0] == 1
    """)


def test_names_that_are_not_there():
    with pytest.raises(
        AttributeError, match=r"module 'transpile\.numpy' has no attribute 'nothing'"
    ):
        _ = jnp.nothing
    with pytest.raises(AttributeError, match="no 'savetxt' yet, though numpy has"):
        _ = jnp.savetxt

    def f(x):
        assert not hasattr(x, "nothing") and not hasattr(x, "_private")
        with pytest.raises(AttributeError, match="'Tracer' object has no attribute 'nothing'"):
            _ = x.nothing
        return x

    transpile.make_jaxpr(f)(np.ones(3))


def test_usual_functions_take_jaxs_keywords_without_further_modules():
    run("""
        def f(x):
            counts = x[0].astype(int)
            return jnp.repeat(x[0], counts, total_repeat_length=3), jnp.where(x > 2, size=3)

        repeated, (rows, columns) = transpile.jit(f)(X)
        assert repeated.tolist() == [3, 3, 3] and columns.tolist() == [0, 1, 0]
        assert jnp.repeat(X[0], [2, 1], total_repeat_length=2).tolist() == [3, 3]
        assert jnp.where(X > 2, size=1)[1].tolist() == [0]
    """)
