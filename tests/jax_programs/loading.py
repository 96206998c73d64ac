"""Loads a program of this folder as it stands, or with transpile in the place of JAX."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = (
    "belief_propagation",
    "documentation_derivatives",
    "documentation_topics",
    "dynamic_programming",
    "everyday_derivatives",
    "everyday_models",
    "everyday_programs",
    "everyday_training",
    "everyday_trees",
    "k_means",
    "kalman_filter",
    "lstm",
    "mcmc",
    "ray_marcher",
    "reaction_diffusion",
    "solar_system",
    "transformer",
)


def source(name):
    """The text of a program."""
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def ported(text):
    """The text of a program with its imports changed, and nothing else."""
    text = re.sub(r"^import jax$", "import transpile as jax", text, flags=re.MULTILINE)
    return re.sub(r"^(import|from) jax\b", r"\1 transpile", text, flags=re.MULTILINE)


def load(name, library="transpile"):
    """The module of a program, fresh, over transpile or jax."""
    text = source(name) if library == "jax" else ported(source(name))
    module = types.ModuleType(f"{library}_{name}")
    sys.modules[module.__name__] = module  # where dataclasses look for names of annotations
    exec(compile(text, str(FOLDER / f"{name}.py"), "exec"), vars(module))
    if not hasattr(module, "main"):  # a collection of short ones
        module.main = lambda: leaves(module)
    return module


def leaves(module):
    """The leaves of the results of a collection, both parts of complex ones."""
    jax, found = module.jax, {}
    for program in module.PROGRAMS:
        for k, leaf in enumerate(jax.tree.leaves(program())):
            name = f"{program.__name__} {k}"
            if jax.numpy.iscomplexobj(leaf):
                found[f"{name} real"], found[f"{name} imag"] = leaf.real, leaf.imag
            else:
                found[name] = leaf
    return found
