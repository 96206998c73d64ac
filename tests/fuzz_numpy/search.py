"""Compiles drawn programs, many in one, compares their results, and makes failing ones small."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from fuzz_numpy.oracle import Oracle
from fuzz_numpy.programs import REFUSALS, draw, quiet
from transpile import jit
from transpile.errors import TranspileError, UnsupportedError

OPTIONS = {"opt_level": 0, "openmp": False}
MOST_ROUNDS = 4


@dataclass(frozen=True)
class Finding:
    """A program that does not do what NumPy does: `kind` is unsupported, error, dtype, shape,
    value or sign."""

    seed: int
    kind: str
    said: str
    program: object

    def text(self):
        """As a file."""
        return f"# seed {self.seed}\n# {self.kind}: {self.said}\n{self.program.text()}"


def compiled(programs, options):
    """The results of each program, all compiled as one."""
    functions = [p.function() for p in programs]
    counts = [len(p.arguments) for p in programs]

    def together(*values):
        left = list(values)
        parts = []
        for function, count in zip(functions, counts, strict=True):
            parts.append(function(*left[:count]))
            del left[:count]
        return parts

    values = [x for p in programs for x in p.arguments.values()]
    with quiet():
        return jit(together, compiler_options=options)(*values)


def problem(program, options, oracle=None):
    """("", "") or (kind, what is wrong) of a program that is compiled by itself."""
    try:
        (results,) = compiled([program], options)
    except (UnsupportedError, NotImplementedError) as error:
        return "unsupported", f"{type(error).__name__}: {error}"
    except (TranspileError, *REFUSALS, LookupError, AttributeError, AssertionError) as error:
        return "error", f"{type(error).__name__}: {error}"
    return judged(oracle or Oracle(program), program, results)


def judged(oracle, program, results):
    """What is wrong with the results of a program."""
    for name, got in zip(program.results, results, strict=True):
        said = oracle.difference(name, got)
        if said:
            kind = said.split()[0]
            kind = kind if kind in ("dtype", "shape", "sign") else "value"
            return kind, f"{name}: {said}"
    return "", ""


def search(seeds, options=OPTIONS, together=25, keep=None):
    """Every finding among the programs of some seeds, small; `keep` is called with each."""
    findings = []
    seeds = list(seeds)
    for first in range(0, len(seeds), together):
        chosen = seeds[first : first + together]
        for seed, program in _suspects(chosen, options):
            kind, said = problem(program, options)
            if not kind:
                kind, said = "value", "other results together with other programs"
            else:
                program, said = smallest(program, options, kind, said)
            findings.append(Finding(seed, kind, said, program))
            if keep is not None:
                keep(findings[-1])
    return findings


def _suspects(seeds, options):
    """The programs of some seeds that fail: if they cannot be compiled as one, halves of them."""
    programs = [draw(seed) for seed in seeds]
    try:
        every = compiled(programs, options)
    except (
        TranspileError,
        *REFUSALS,
        LookupError,
        AttributeError,
        AssertionError,
        NotImplementedError,
    ):
        if len(seeds) == 1:
            return [(seeds[0], programs[0])]
        middle = len(seeds) // 2
        return _suspects(seeds[:middle], options) + _suspects(seeds[middle:], options)
    return [
        (seed, program)
        for seed, program, results in zip(seeds, programs, every, strict=True)
        if judged(Oracle(program), program, results)[0]
    ]


def smallest(program, options, kind, said):
    """A smaller program that fails in the same way: fewer results, statements and arguments, values
    in the place of what computes them, and arrays in the usual layout."""

    def fails(trial):
        nonlocal said
        try:
            found, words = problem(trial, options)
        except REFUSALS:
            return False
        if found == kind:
            said = words
        return found == kind

    for count, (name, *_) in enumerate(program.statements, 1):
        trial = program.without(statements=program.statements[:count], results=(name,))
        trial = _without_unused(trial) or trial
        if fails(trial):
            program = trial
            break
    for _ in range(MOST_ROUNDS):
        before = program
        for trial in _smaller(program):
            if trial(program) is not None and fails(trial(program)):
                program = trial(program)
        if program is before:
            break
    return program, said


def _smaller(program):
    """Ways to make a program smaller, each a function of what it is by then."""
    yield _without_unused
    for name, *_ in reversed(program.statements):
        yield lambda p, name=name: _given(p, name)
    yield _without_unused
    for name in program.arguments:
        yield lambda p, name=name: _in_order(p, name)


def _without_unused(program):
    needed, statements = set(program.results), []
    for name, text, rounds in reversed(program.statements):
        if name in needed:
            needed |= {*program.arguments, *_names(program)}.intersection(re.findall(r"\w+", text))
            statements.append((name, text, rounds))
    arguments = {k: v for k, v in program.arguments.items() if k in needed}
    smaller = program.without(statements=tuple(reversed(statements)), arguments=arguments)
    same = (
        len(statements) == len(program.statements) and arguments.keys() == program.arguments.keys()
    )
    return None if same or not arguments else smaller


def _names(program):
    return [name for name, *_ in program.statements]


def _given(program, name):
    """The program with the value of a statement as an argument."""
    if name in program.results or name not in _names(program):
        return None
    with quiet():
        value = np.array(program.values()[name])
    rest = tuple(s for s in program.statements if s[0] != name)
    return program.without(arguments={**program.arguments, name: value}, statements=rest)


def _in_order(program, name):
    x = program.arguments.get(name)
    if x is None or (x.flags.c_contiguous and x.flags.aligned and x.flags.writeable):
        return None
    return program.without(arguments={**program.arguments, name: np.array(x, order="C")})


def tally(findings):
    """How many findings there are of each kind."""
    return Counter(f.kind for f in findings)
