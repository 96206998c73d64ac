"""Kernels that are alike: a long program has one function for all that differ in names only.

A loop in Python that a trace unrolls, such as that over the layers of a network, makes the same
kernels again and again, for other arrays. With one function for each kind of kernel, the text is a
fraction as long, and so is the time that a compiler takes for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transpile.codegen.compile_budget import Effort, effort_for

# Not the `x1` of `0x1p3`.
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(?=[\[,)])")
_TYPE = r"(?:(?:float|double)(?: complex)?|bool|u?int\d+_t)"
_DECLARED = re.compile(rf"^(?:const )?{_TYPE} (?:\(?\*)?([A-Za-z_]\w*)(?= =|;|\[|\))")
# A name that is one of these might be taken for one of OpenMP's words.
_OF_PRAGMAS = {"pragma", "omp", "parallel", "for", "simd", "reduction", "max", "min"}
_OF_PRAGMAS |= {"schedule", "guided", "safelen", "collapse", "num_threads", "GCC", "unroll"}


def functions_and_calls(
    kernels: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[str], Effort]:
    """The kernels of which a program has functions, the calls of all of them, in order, and what
    their length asks for, from kernels as the template gets them.

    In programs that are not long each has its own. The comment of a function has the lines of all
    kernels that it stands for.
    """
    if effort_for(kernels) == "usual":
        return kernels, [kernel["call"] for kernel in kernels], "usual"
    functions: dict[tuple[str, ...], dict[str, Any]] = {}
    calls = []
    for kernel in kernels:
        name, bracket, arguments = kernel["call"].partition("(")
        function = functions.setdefault(_form(kernel, name), {**kernel, "name": name})
        function["comment"] = list(dict.fromkeys([*function["comment"], *kernel["comment"]]))
        calls.append(function["name"] + bracket + arguments)
    found = list(functions.values())
    return found, calls, "huge" if effort_for(found) == "huge" else "long"


def _form(kernel: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The text of a kernel with the names of its parameters and variables in the order in which
    they appear: equal for kernels that are alike."""
    parameters = kernel["signature"].partition("(")[2]
    lines = list(_lines(kernel["body"]))
    own = {*_PARAMETER.findall(parameters), *_declared(kernel["body"])}
    if not own.isdisjoint(_OF_PRAGMAS) or kernel["line_directive"]:
        return (name,)
    places: dict[str, str] = {}

    def placed(found: re.Match[str]) -> str:
        word = found[0]
        return places.setdefault(word, f"@{len(places)}") if word in own else word

    return tuple(_WORD.sub(placed, line) for line in (" ".join(parameters.split()), *lines))


def _lines(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What statements say and how they stand in each other."""
    for node in nodes:
        yield from (str(value) for value in node.values() if not isinstance(value, list))
        for key in ("branches", "body"):
            if key in node:
                yield "{"
                yield from _lines(node[key])
                yield "}"


def _declared(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The indices of loops and the variables and arrays that statements declare."""
    for node in nodes:
        if "index" in node:
            yield node["index"]
        yield from _DECLARED.findall(node.get("text", ""))
        yield from _declared(node.get("branches", ()))
        yield from _declared(node.get("body", ()))
