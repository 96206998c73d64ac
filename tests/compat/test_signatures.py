"""The parameters of every public function that JAX has too: the same names and defaults, but for
those that docs/jax.md lists with the reason."""

import importlib
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

SPACES = (
    *("numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers"),
    *("random", "scipy.special", "scipy.linalg", "scipy.stats"),
)
LEFT_OUT = ("None", "False", repr(np._NoValue), "<no value>")


@pytest.fixture(scope="module")
def listed():
    path = Path(__file__).parents[2] / "docs" / "jax_support.py"
    spec = importlib.util.spec_from_file_location("jax_support", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return " ".join(module.ARGUMENTS.values()).split()


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin
        return {}


def differences(theirs, ours):
    """The names that ours lacks, and those of another default."""
    own = parameters(ours)
    found = []
    for name, p in parameters(theirs).items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) or name[0] == "_":
            continue
        if name not in own:
            found.append(name)
        elif repr(p.default) != repr(own[name].default):
            defaults = {repr(p.default), repr(own[name].default)}
            if not all(d in LEFT_OUT for d in defaults):
                found.append(f"{name}={own[name].default!r}, not {p.default!r}")
    return found


def functions(space):
    """The functions of a namespace that JAX has too, as pairs."""
    theirs = importlib.import_module(f"jax.{space}")
    ours = importlib.import_module(f"transpile.{space}")
    if space == "scipy.stats":  # a module for each distribution
        for name in [n for n in dir(ours) if inspect.ismodule(getattr(theirs, n, None))]:
            yield from functions(f"{space}.{name}")
    for name in dir(theirs):
        function = getattr(theirs, name)
        is_function = callable(function) and not inspect.isclass(function)
        if not name.startswith("_") and is_function and hasattr(ours, name):
            yield name, function, getattr(ours, name)


@pytest.mark.parametrize("space", SPACES)
def test_parameters_are_those_of_jax(space, listed):
    assert sum(1 for _ in functions(space)) > 2
    wrong = {}
    for name, theirs, ours in functions(space):
        found = differences(theirs, ours)
        if bool(found) != (f"{space}.{name}" in listed):
            wrong[name] = found
    assert wrong == {}
