"""Names that CUDA C++ has for itself beside those of C: a program that is called like one of its
functions or types begins with `x_`."""

from __future__ import annotations

import re
from dataclasses import replace

from transpile.ir.graph import Graph
from transpile.symbols.identifiers import program_name

# Namespaces, and functions of CUDA's headers for the device, each for floats with an `f` behind it,
# too.
_FUNCTIONS = frozenset(
    word
    for line in (
        "std nvcuda erfcinv erfcx erfinv fdivide llmax llmin max min norm norm3d norm4d normcdf",
        "normcdfinv",
        "powi rcbrt rhypot rnorm rnorm3d rnorm4d rsqrt sincospi ullmax ullmin umax umin",
    )
    for word in line.split()
)
_TYPES = re.compile(
    r"(make_)?(u?(char|short|int|long|longlong)|float|double)[1-4](_16a|_32a)?|dim3|cuda\w*"
)


def renamed(graph: Graph) -> Graph:
    """The graph, with another name where a program of its name could not be compiled."""
    name = program_name(graph.name)
    taken = name in _FUNCTIONS or name.removesuffix("f") in _FUNCTIONS or _TYPES.fullmatch(name)
    return replace(graph, name=f"x_{name}") if taken else graph
