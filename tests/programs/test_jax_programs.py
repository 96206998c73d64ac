"""Programs written for JAX run with their imports changed, and give what JAX gives.

What JAX gives is written down in tests/jax_programs/figures.json, by the script of that name; where
JAX is installed, it runs them too.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
from thorough import one_in

FOLDER = Path(__file__).parents[1] / "jax_programs"
FIGURES = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
GOLDEN = (1 + math.sqrt(5)) / 2

# Relative to the norm. Errors of rounding grow where a program is a long way of many steps.
TOLERANCE = 1e-10
# Many steps of training, and a fixed point; and results of single precision.
FURTHER = {"everyday_training": 1e-6, "everyday_models": 1e-8}
SINGLE = 1e-6


def tolerance(name, dtype):
    return SINGLE if dtype == np.float32 else FURTHER.get(name, TOLERANCE)


def loading():
    spec = importlib.util.spec_from_file_location("loading", FOLDER / "loading.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOADING = loading()
# The everyday ones say in other words what the others say.
NAMES = [
    pytest.param(name, marks=pytest.mark.thorough) if name.startswith("everyday") else name
    for name in LOADING.NAMES
]


@pytest.fixture(scope="module")
def ported():
    """What a program gives over transpile, computed once."""
    found = {}

    def results(name):
        if name not in found:
            found[name] = LOADING.load(name).main()
        return found[name]

    return results


@pytest.mark.parametrize("name", NAMES)
@one_in(4)
def test_a_program_gives_the_figures_that_jax_gives(name, ported):
    found = ported(name)
    assert sorted(found) == sorted(FIGURES[name])
    for key, (kind, shape, norm, *products) in FIGURES[name].items():
        array = np.asarray(found[key])
        assert (array.dtype.kind, list(array.shape)) == (kind, shape), key
        numbers = array.astype(float).ravel()
        places = np.arange(1, numbers.size + 1)
        ours = [numbers @ np.cos(k * GOLDEN * places) for k in range(1, 4)]
        allowed = tolerance(name, array.dtype) * (norm + 1e-9)
        np.testing.assert_allclose(np.linalg.norm(numbers), norm, rtol=0, atol=allowed, err_msg=key)
        scale = math.sqrt(max(numbers.size / 2, 1))  # the length of a vector of cosines
        np.testing.assert_allclose(ours, products, rtol=0, atol=allowed * scale, err_msg=key)


@pytest.mark.parametrize("name", LOADING.NAMES)
def test_a_program_gives_what_the_installed_jax_gives(name, ported):
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        expected = {k: np.asarray(v) for k, v in LOADING.load(name, "jax").main().items()}
    finally:
        jax.config.update("jax_enable_x64", before)
    for key, want in expected.items():
        got = np.asarray(ported(name)[key])
        assert (got.dtype.kind, got.shape) == (want.dtype.kind, want.shape)
        if got.dtype.kind == "f":
            error = np.linalg.norm(got - want)
            assert error <= tolerance(name, got.dtype) * (np.linalg.norm(want) + 1e-9), key
        else:
            np.testing.assert_array_equal(got, want, err_msg=key)


@pytest.mark.parametrize("name", LOADING.NAMES)
def test_a_program_is_written_for_jax_and_only_its_imports_change(name):
    text = LOADING.source(name)
    assert "transpile" not in text
    assert 50 <= len(text.splitlines()) <= 300
    changed = [
        (before, after)
        for before, after in zip(text.splitlines(), LOADING.ported(text).splitlines(), strict=True)
        if before != after
    ]
    assert changed
    for before, after in changed:
        assert isinstance(ast.parse(before).body[0], ast.Import | ast.ImportFrom)
        assert "transpile" in after
    left = [node for node in ast.walk(ast.parse(LOADING.ported(text))) if names_jax(node)]
    assert left == []


def names_jax(node):
    """Tell whether a statement imports JAX."""
    if isinstance(node, ast.ImportFrom):
        return node.module.split(".")[0] == "jax"
    return isinstance(node, ast.Import) and any(a.name.split(".")[0] == "jax" for a in node.names)


def test_the_programs_use_what_programs_for_jax_use():
    text = "\n".join(map(LOADING.source, LOADING.NAMES))
    called = {ast.unparse(n.func) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)}
    control = "cond switch while_loop fori_loop scan map associative_scan"
    assert {f"lax.{name}" for name in control.split()} <= called
    assert {"jax.grad", "jax.vmap", "jax.value_and_grad", "jax.jacfwd", "jax.tree.map"} <= called
    assert sum(name.startswith("random.") for name in called) >= 15
    assert sum(name.startswith("nn.") for name in called) >= 10
    assert sum(name.startswith("jnp.") for name in called) >= 60
    assert ".at[" in text
    assert "NamedTuple" in text


def test_results_that_differ_are_noticed(ported):
    """The figures tell an array from one whose elements are in another order, or a bit off."""
    array = np.asarray(ported("solar_system")["position"]).ravel()
    places = np.arange(1, array.size + 1)

    def products(numbers):
        return np.array([numbers @ np.cos(k * GOLDEN * places) for k in (1, 2, 3)])

    for other in (array[::-1], array + 1e-6 * (places == 5), -array):
        assert np.abs(products(array) - products(other)).max() > 1e-8
