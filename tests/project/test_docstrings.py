"""The docstrings of the public surfaces: each says what it computes, in words of one meaning."""

import builtins
import functools
import importlib
import inspect
import re
import types

import numpy as np
import pytest

import transpile
from transpile import dtypes, errors
from transpile.numpy import fft, jax_compat, linalg
from transpile.numpy.core.promotion import EXPORTS
from transpile.trace.tracer import Tracer

# fmt: off
MODULES = [
    "lax", "lax.linalg", "random", "nn", "nn.initializers", "scipy.special", "scipy.linalg",
    "scipy.fft", "scipy.ndimage", "scipy.interpolate", "scipy.integrate", "scipy.cluster.vq",
    "scipy.optimize", "scipy.sparse.linalg", "scipy.spatial.transform", "scipy.signal", "image",
    "stages", "ops", "debug", "tree", "tree_util", "dtypes", "test_util",
]
# fmt: on
LEAST_WORDS = 4
# Names of things in NumPy or Python that the rules below would take for words.
QUOTED = re.compile(r"`[^`]*`")
# Words that stand for another one in the glossary, where a simple rule can tell.
RULED_OUT = {
    r"\bhand(s|ed|ing)? (on|out|over|back)\b": "pass, return",
    r"(?<!\bin )(?<!\bdecimal )\bplaces?\b": "position, index, subscript, buffer",
    r"\bmeets?\b|\bmeeting\b": "alias, depend on, broadcast with",
    r"\btruths\b": "mask, predicate",
    r"\bturn(s|ed)? (round|inside out)\b": "interchange, transpose",
    r"\bin the way\b": "dependence",
    r"\btak(e|es|en) apart\b|\bput together\b": "split, flatten, rebuild",
}


def members(name, value):
    """A function or class of a surface with its own methods and properties, by their names."""
    if isinstance(value, types.ModuleType | np.ufunc) or not callable(value):
        return {}
    if not inspect.isclass(value):
        return {name: value}
    if not value.__module__.startswith("transpile"):
        return {}
    found = {name: value}
    for key, member in vars(value).items():
        function = getattr(member, "__func__", member)
        if not key.startswith("_") and (
            inspect.isfunction(function) or isinstance(function, property)
        ):
            found[f"{name}.{key}"] = function
    return found


def functions_of(module, names):
    found = {}
    for name in names:
        found |= members(name, getattr(module, name))
    return found


def defined_in(module):
    """The public names that a module without `__all__` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def surfaces():
    own = {f"transpile.{name}": importlib.import_module(f"transpile.{name}") for name in MODULES}
    found = {name: functions_of(module, module.__all__) for name, module in own.items()}
    found["transpile"] = functions_of(transpile, transpile.__all__)
    found["transpile.errors"] = functions_of(errors, defined_in(errors))
    stats = importlib.import_module("transpile.scipy.stats")
    found["transpile.scipy.stats"] = functions_of(stats, stats.__all__)
    for module in map(functools.partial(getattr, stats), stats.__all__):
        if isinstance(module, types.ModuleType):
            found[module.__name__] = functions_of(module, defined_in(module))
    found["transpile.numpy"] = {
        k: v for n in list(EXPORTS) for k, v in members(n, EXPORTS[n]).items()
    }
    found["transpile.numpy.fft"] = functions_of(fft, fft.__all__)
    found["transpile.numpy.linalg"] = functions_of(linalg, linalg.__all__)
    found["jax.numpy"] = functions_of(jax_compat, transpile.numpy._OF_JAX)
    found["traced arrays"] = {
        k: v for k, v in members("Tracer", Tracer).items() if k != "Tracer.variable"
    }
    return found


SURFACES = surfaces()
each_surface = pytest.mark.parametrize("surface", SURFACES)


def docstring(value):
    """Its own, not one that a class inherits."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return inspect.cleandoc(text or "")


@each_surface
def test_the_first_sentence_says_what_is_computed(surface):
    assert SURFACES[surface]
    wrong = {}
    for name, value in SURFACES[surface].items():
        first = docstring(value).split("\n\n")[0]
        words = re.findall(r"[\w.]+", first)
        if not first.endswith(".") or len(words) < LEAST_WORDS:
            wrong[name] = first
        if re.match(r"`(numpy|scipy|jax)\b[\w.]*`\W", first):  # a name is no explanation
            wrong[name] = first
    assert wrong == {}


@each_surface
def test_words_have_their_one_meaning(surface):
    wrong = {}
    for name, value in SURFACES[surface].items():
        text = QUOTED.sub("``", " ".join(docstring(value).split()))
        for pattern, better in RULED_OUT.items():
            if found := re.search(pattern, text):
                wrong[name] = f"{found.group()!r}: say {better}"
    assert wrong == {}


@each_surface
def test_the_classes_of_errors_exist(surface):
    places = (builtins, errors, dtypes, np.exceptions, np.linalg)
    wrong = {}
    for name, value in SURFACES[surface].items():
        for error in re.findall(r"\b[A-Z]\w*(?:Error|Warning)\b", docstring(value)):
            kinds = [getattr(place, error, None) for place in places]
            if not any(inspect.isclass(k) and issubclass(k, BaseException) for k in kinds):
                wrong[name] = error
    assert wrong == {}


def test_docstrings_are_not_numpys():
    """What differs in a traced function stands in ours alone."""
    functions = {**SURFACES["transpile.numpy"], **SURFACES["transpile.numpy.linalg"]}
    wrapped = {n: getattr(f, "__wrapped__", None) for n, f in functions.items()}
    assert sum(w is not None for w in wrapped.values()) > 200
    assert [
        n for n, w in wrapped.items() if w is not None and functions[n].__doc__ == w.__doc__
    ] == []
