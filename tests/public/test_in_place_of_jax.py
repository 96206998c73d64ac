"""compat: transpile in JAX's place for a process. Each test runs in a process of its own."""

import subprocess
import sys
import textwrap

import pytest


def run(text):
    """Run a program, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_install_and_uninstall():
    run(
        """
        import sys
        import transpile
        from transpile import compat

        compat.uninstall()  # nothing to do
        before = len(sys.meta_path)
        compat.install()
        compat.install()
        assert compat.is_installed() and len(sys.meta_path) == before + 1
        import jax
        import jax.numpy as jnp
        import jax.scipy.special
        from jax import lax, tree_util
        from jax.nn.initializers import he_normal
        from jax._src.flatten_util import ravel_pytree

        assert jax.numpy is jnp and jax.__version__ == "0.10.2" and "scan" in dir(lax)
        assert jax.tree_util is tree_util and jax.scipy.special.erf(0.0) == 0
        assert tree_util.tree_leaves is transpile.tree_util.tree_leaves
        for name, words in (("jaxlib", "in whose place"), ("jax.ffi", "has no counterpart")):
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                assert words in str(error) and error.name == name
            else:
                raise AssertionError(name)
        compat.uninstall()
        assert not compat.is_installed() and "jax" not in sys.modules
        """
    )


@pytest.mark.parametrize("name", ["jax", "jaxlib"])
def test_install_comes_too_late(name):
    run(
        f"""
        import sys, types
        sys.modules[{name!r}] = types.ModuleType({name!r})
        from transpile import compat
        try:
            compat.install()
        except ImportError as error:
            assert "comes too late: {name} is imported already" in str(error)
        else:
            raise AssertionError
        assert not compat.is_installed()
        """
    )


def test_names_that_are_only_imported():
    run(
        """
        from transpile import compat, errors
        compat.install()
        from jax._src import compiler
        try:
            compiler.backend_compile(1)
        except errors.UnsupportedError as error:
            assert "jax._src.compiler.backend_compile has no counterpart" in str(error)
        else:
            raise AssertionError
        """
    )


def test_arrays_are_those_of_jax():
    run(
        """
        from transpile import compat
        compat.install()
        import jax, jax.numpy as jnp, numpy as np

        x = jnp.zeros(3)
        y = x
        y += 1
        assert x.sum() == 0 and y.sum() == 3 and x.at[1].set(2.0).at[0].add(1.0).sum() == 3
        assert isinstance(x, jax.Array) and isinstance(x, np.ndarray) and x.sum().ndim == 0
        assert y.sum(where=None) == 3 and y.max(axis=0, where=None, initial=None) == 1
        assert (x == None) is False and (x != None) is True and None not in jnp.ones((2, 2))
        for one in (x.sum(), x[0], jnp.sin(np.ones(2)), jax.jit(lambda x: x * 2)(x), np.mean(x),
                    jax.vmap(jnp.sin)(x), jax.grad(lambda x: (x**2).sum())(x), jnp.add(x, 1)):
            assert one.block_until_ready() is one and one.at[...].set(1).devices() == {one.device}
        f = jax.jit(lambda x, i: {"a": x.at[i].set(5.0), "b": y[i]})
        found = f(x, 1)
        assert found["a"].at[0].get() == 0 and found["b"].weak_type is False
        assert "double" in f.lower(x, 1).as_text()
        carry, steps = jax.lax.scan(lambda c, x: (c + x, c), 0.0, y)
        assert carry.at[()].get() == 3 and steps.tolist() == [0, 1, 2]
        assert jax.random.normal(jax.random.key(0), (2,)).at[0].set(1.0)[0] == 1
        shapes = []
        jax.jit(lambda x: jax.jit(lambda n: shapes.append(n.dtype) or n)(2) * x)(x)
        assert shapes == [np.dtype("int64")]

        mixed = lambda b, n: [(1 - b) * n, b * 1.0 * n.astype("f4"), jnp.subtract(1, b) + n, 1 - b]
        kinds = [r.dtype.name for r in jax.jit(mixed)(x > 0, jnp.zeros(3, "int8"))]
        assert kinds == ["int8", "float32", "int8", "int64"]
        of_bools = jax.eval_shape(lambda b: (b & True, b < 1, b + True), x > 0)
        assert {r.dtype.name for r in of_bools} == {"bool"}

        import dataclasses
        D = dataclasses.make_dataclass("D", ["a"])
        assert len(jax.tree.leaves([D(1), D(2)])) == 2 and type(jax.tree.leaves(D(1))[0]) is D
        """
    )


def test_arrays_of_bfloat16_stay_so():
    pytest.importorskip("ml_dtypes")
    run(
        """
        from transpile import compat
        compat.install()
        import jax.numpy as jnp
        assert (jnp.ones(2, jnp.bfloat16) * 0.5 + 1).dtype == jnp.bfloat16
        """
    )


def test_axes_may_be_a_list():
    run(
        """
        import numpy as np, transpile, transpile.numpy as jnp
        x = np.ones((2, 3, 4))
        assert jnp.max(x, axis=[0, 2]).shape == (3,)
        assert transpile.jit(lambda x: jnp.sum(x, axis=[0, 2]))(x).tolist() == [8, 8, 8]
        """
    )
