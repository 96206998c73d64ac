"""How much stack a program takes, from what gcc says of each function and of who calls whom."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from transpile.build import toolchain

_NODE = re.compile(
    r'^node: \{ title: "([^"]*)" label: "[^"]*?\\n(\d+) bytes \(([^)]*)\)', re.MULTILINE
)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', re.MULTILINE)
_OUTLINED = re.compile(r"\._omp_fn\.\d+$")
_CLONE = re.compile(r"(?:\.(?:constprop|part|isra|cold|lto_priv)\.?\d*)+$")
# What a call pushes besides the frame that gcc counts: the address to return to.
_CALL = 8


Chain = list[tuple[str, int]]


def stack_of(lowered, directory: Path) -> tuple[int, Chain]:
    """The most bytes of stack that one thread needs for a program, and the calls that take them,
    each with its frame. `lowered` is what `jit(f).lower(*args)` gives.

    The body of a parallel region, a function of its own, counts as called by whoever has the
    region: the thread that comes to it runs a share. Frames of the C library are not known.
    """
    options = lowered._lowering.options
    text = lowered._lowering.rendered("program.h")
    compiler = toolchain.find_compiler(options)
    source = directory / "program.c"
    source.write_text(text.source, encoding="utf-8")
    (directory / "program.h").write_text(text.header, encoding="utf-8")
    (directory / "program.bin").write_bytes(text.constants)
    flags = [f for f in toolchain.flags(compiler, options, text.effort) if f != "-shared"]
    command = [
        *compiler.command,
        *flags,
        "-fcallgraph-info=su",
        "-c",
        source.name,
        "-o",
        "program.o",
    ]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return deepest((directory / "program.ci").read_text(encoding="utf-8"))


def deepest(graph: str) -> tuple[int, list[tuple[str, int]]]:
    """The chain of calls with the largest sum of frames, of a graph that -fcallgraph-info wrote."""
    frames = {}
    for name, size, kind in _NODE.findall(graph):
        assert kind == "static" or kind == "dynamic,bounded", f"{name}: {kind}"
        frames[name] = int(size) + _CALL
    calls: dict[str, set[str]] = {name: set() for name in frames}
    regions: set[str] = set()  # who has parallel regions
    for caller, called in _EDGE.findall(graph):
        if called in frames:
            calls[caller].add(called)
        elif called.startswith("GOMP_parallel"):
            regions.add(caller)
    for body in filter(_OUTLINED.search, frames):
        owner = _OUTLINED.sub("", body)
        owners = {n for n in regions if n == owner or _CLONE.sub("", n) == owner}
        for name in owners or regions:  # one that is inlined may be in any of them
            calls[name].add(body)

    def below(name: str, around: tuple[str, ...]) -> tuple[int, Chain]:
        inside = (below(n, (*around, name)) for n in calls[name] if n not in around and n != name)
        deep = max(inside, default=(0, []))
        return frames[name] + deep[0], [(name, frames[name]), *deep[1]]

    return max((below(name, ()) for name in frames), default=(0, []))
