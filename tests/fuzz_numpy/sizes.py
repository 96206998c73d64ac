"""Drawn programs over runtime sizes: one program for several sizes, each compared with NumPy.

Extents of the arguments that are equal are one runtime size, or stay fixed. What cannot be traced
for any size is refused, with a text that is counted; the other programs have to give NumPy's
results for each size that NumPy accepts, or refuse the size. `np.squeeze`, and what NumPy makes by
it, keep runtime sizes that turn out to be 1: programs with these have sizes of 2 and more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import REFUSALS, draw, quiet
from fuzz_numpy.search import Finding, judged, problem
from fuzz_numpy.values import laid_out, numbers
from transpile import ShapeDtypeStruct, dims, jit
from transpile.errors import ConcretizationTypeError, UnsupportedError

SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 40)
SQUEEZED = re.compile(r"np\.(?:squeeze|cov|corrcoef)\(")
TRIES = 4  # sizes of a program, besides those with which it was drawn


@dataclass(frozen=True)
class Sized:
    """A program, and the shapes of its arguments as names of sizes and numbers."""

    program: object
    shapes: dict[str, tuple[str | int, ...]]

    @property
    def names(self):
        """The runtime sizes."""
        return sorted({n for shape in self.shapes.values() for n in shape if isinstance(n, str)})

    def types(self):
        """The types of the arguments."""
        bounds = (f"{name} >= {self.least}" for name in self.names)
        symbols = dict(zip(self.names, dims(", ".join(self.names), *bounds), strict=True))
        arguments = self.program.arguments
        return [
            ShapeDtypeStruct(tuple(symbols.get(n, n) for n in shape), arguments[name].dtype)
            for name, shape in self.shapes.items()
        ]

    @property
    def least(self):
        """The least size: an extent that is 0 has no elements to be wrong about."""
        return 2 if SQUEEZED.search(self.program.source()) else 1

    def for_sizes(self, random, sizes):
        """The program with arguments of these sizes."""
        arguments = {}
        for name, shape in self.shapes.items():
            there = tuple(sizes.get(n, n) for n in shape)
            values = np.asarray(numbers(random, self.program.arguments[name].dtype, there))
            arguments[name] = laid_out(random, values)
        return self.program.without(arguments=arguments)


def sized(seed):
    """The program of a seed, some of whose extents are runtime sizes; None where none may be."""
    program, random = draw(seed), np.random.default_rng(seed)
    extents = sorted({n for x in program.arguments.values() for n in x.shape if n > 1})
    chosen = [n for n in extents if random.random() < 0.8]
    names = {extent: f"n{k}" for k, extent in enumerate(chosen)}
    shapes = {k: tuple(names.get(n, n) for n in x.shape) for k, x in program.arguments.items()}
    return Sized(program, shapes) if chosen else None


def search_sizes(seeds, options, keep=None):
    """(findings, how many programs ran, why the others were refused, in a few words)."""
    findings, ran, refused = [], 0, []
    for seed in seeds:
        one = sized(seed)
        if one is None:
            continue
        compiled = _compiled(one, options)
        if isinstance(compiled, str):
            refused.append(compiled)
            continue
        ran += 1
        finding = _tried(seed, one, compiled, options)
        if finding is not None:
            findings.append(finding)
            if keep is not None:
                keep(finding)
    return findings, ran, refused


def _compiled(one, options):
    """The program for all sizes; a text where it is refused."""
    try:
        with quiet():
            traced = jit(one.program.function(), compiler_options=options).lower(*one.types())
            return traced.compile()
    except (ConcretizationTypeError, UnsupportedError) as error:
        return type(error).__name__
    except REFUSALS as error:
        return f"{type(error).__name__}: {str(error).partition(': ')[2][:40]}"


def _tried(seed, one, compiled, options):
    """What is wrong with the first size for which something is."""
    random = np.random.default_rng(seed)
    drawn_with = {
        name: extent
        for argument, shape in one.shapes.items()
        for name, extent in zip(shape, one.program.arguments[argument].shape, strict=True)
        if isinstance(name, str)
    }
    chosen = [n for n in SIZES if n >= one.least]
    trials = [{name: int(random.choice(chosen)) for name in one.names} for _ in range(TRIES)]
    for sizes in (drawn_with, *trials):
        trial = one.for_sizes(random, sizes)
        try:
            oracle = Oracle(trial)
        except REFUSALS:
            continue  # NumPy has no result for this size, such as an element behind the end
        try:
            with quiet():
                results = compiled(*trial.arguments.values())
        except REFUSALS:
            continue  # such as a part of an array that has one element for this size alone
        kind, said = judged(oracle, trial, results)
        # What a program of fixed sizes does, too, `search` finds.
        if kind and not problem(trial, options)[0]:
            return Finding(seed, kind, f"{sizes} of {one.shapes}: {said}", trial)
    return None
