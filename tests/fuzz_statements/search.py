"""Comparison of drawn functions with what Python makes of them."""

from __future__ import annotations

import importlib.util
import traceback
from collections import Counter
from dataclasses import dataclass

import numpy as np

import transpile
from fuzz_statements.programs import draw
from transpile.transforms.interpret import interpret

# What is said where nobody can tell which array a variable is, and of a bound backwards beyond a
# length that the program finds (docs/runtime_sizes.md), and of a change of what has to be static.
REFUSED = (
    "64[u",
    "may share memory",
    "is assigned to by some of its iterations",
    "the slice bound",
    "static in this call",
)


@dataclass(frozen=True)
class Finding:
    """A program whose results are not Python's: of which kind, and what was said."""

    seed: int
    kind: str
    said: str
    program: str

    def text(self):
        """A file that says it."""
        said = "".join(f"# {line}\n" for line in [f"seed {self.seed}", *self.said.splitlines()])
        return said + self.program


def function_of(program, folder):
    """The function, from a file, as its source is read."""
    path = folder / f"drawn_{program.seed}.py"
    path.write_text(program.text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def by_python(function, program):
    """The results and the arguments behind the call; None where Python raises, or a number is not
    finite."""
    arguments = program.arguments()
    try:
        with np.errstate(all="ignore"):
            results = function(*arguments)
    except (NameError, ValueError):
        return None
    leaves = [*results, *arguments]
    return leaves if all(np.all(np.abs(x) < 1e12) for x in leaves) else None


def difference(found, wanted):
    """What is not the same: integers exactly, floats up to what sums of them round; None."""
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        is_whole = one.dtype.kind == other.dtype.kind == "i"
        tolerance = 0 if is_whole else 1e-3 if other.dtype == np.float32 else 1e-9
        if one.shape != other.shape or not np.allclose(one, other, tolerance, tolerance):
            return f"leaf {number} is {one} and not {other}"
    return None


def compiled(function, arguments, options):
    """The results of the program in C, which changes the arguments."""
    return transpile.jit(function, compiler_options=options)(*arguments)


def interpreted(function, arguments, _):
    """The results of its graph as NumPy computes them, which changes the arguments: what tracing
    and conversion have made, without the time of lowering and of a compiler."""
    traced = transpile.jit(function).trace(*arguments)
    outputs = interpret(traced.jaxpr, arguments)
    known = traced._signature
    for leaf, value in zip(
        known.written, outputs[len(outputs) - len(known.written) :], strict=True
    ):
        arguments[leaf][...] = value
    return transpile.tree.unflatten(traced.out_tree, [outputs[p] for p in known.positions])


def finding_of(seed, folder, options, run=compiled):
    """What is wrong with the program of a seed: a finding, None, or False where Python has no
    result.

    run  (function, arguments, options) -> results: `compiled` or `interpreted`
    """
    program = draw(seed)
    function = function_of(program, folder)
    wanted = by_python(function, program)
    if wanted is None:
        return False
    arguments = program.arguments()
    try:
        results = run(function, arguments, options)
    except Exception as error:  # whatever it is, it is not what Python does
        if any(text in str(error) for text in REFUSED):
            return False
        said = "".join(traceback.format_exception_only(error))
        where = traceback.extract_tb(error.__traceback__)[-1]
        said += f"{where.filename}:{where.lineno}"
        return Finding(seed, type(error).__name__, said, program.text)
    said = difference([*results, *arguments], wanted)
    return Finding(seed, "difference", said, program.text) if said else None


def search(seeds, folder, options, keep=lambda finding: None, in_c=1):
    """The findings of the programs of seeds, and how many programs Python could run. Every
    `in_c`th program is compiled, the others are interpreted."""
    findings, ran = [], 0
    for seed in seeds:
        run = compiled if seed % in_c == 0 else interpreted
        finding = finding_of(seed, folder, options, run)
        ran += finding is not False
        if finding:
            findings.append(finding)
            keep(finding)
    return findings, ran


def tally(findings):
    """How many there are of each kind."""
    return Counter(finding.kind for finding in findings)
