"""The page: one file of HTML, without anything from the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from transpile.analysis.source_lines import complete_sources
from transpile.errors import UnsupportedError
from transpile.explore.costs import KernelCost, for_sizes, kernel_costs, lifetimes
from transpile.explore.measure import Measured, measured
from transpile.explore.panes import assembly_pane, c_pane, graph_pane, loops_pane, python_pane
from transpile.explore.pictures import graph_svg, memory_svg
from transpile.explore.places import Places
from transpile.explore.roofline import Speed, roofline_svg, roofs
from transpile.explore.templates import file_text, filled_in
from transpile.ir.dims import Index
from transpile.ir.loop_ir import to_text
from transpile.runtime.executable import Lowering
from transpile.util.atomic_files import replace_files
from transpile.util.frozen_records import replace


def write(
    path: Path,
    title: str,
    lowering: Lowering,
    *,
    measure: bool,
    given: Sequence[Any] | None = None,
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write the page of a program, which is compiled for its assembly; the path is returned. It is
    run, too, to `measure` its kernels, with these flat arguments or with drawn ones of these
    runtime sizes."""
    if lowering.dialect != "c":
        raise UnsupportedError("a page shows a program for the CPU: lower it without device='cuda'")
    times = measured(lowering, given, sizes) if measure else None
    text = page(title, lowering.changed(replace(lowering.options, debug=True)), times)
    replace_files(path.parent, {path.name: text.encode()})
    return path


def page(title: str, lowering: Lowering, times: Measured | None = None) -> str:
    """The page of a program with lines of Python, and with the times of its kernels."""
    graph = lowering.optimised()
    program = complete_sources(lowering.program())
    places = Places(graph, program)
    counted = for_sizes(program, times.sizes) if times else program
    costs = kernel_costs(counted, places)
    executable = lowering.build()
    panes = [
        python_pane(places),
        loops_pane(to_text(replace(program, placements=()), sources=True), places),
        c_pane(lowering.c_text(), places),
        assembly_pane(executable.assembly(), places),
        graph_pane(graph, places),
    ]
    return filled_in(
        "page.html.j2",
        title=title,
        facts=_facts(lowering),
        commands=executable.build_info().commands,
        panes=panes,
        style=file_text("style.css"),
        script=file_text("script.js"),
        graph=graph_svg(graph, places),
        memory=memory_svg(lifetimes(counted), tuple(k.name for k in costs)),
        kernels=costs,
        sizes=times.sizes if times else {},
        has_sizes=bool(program.sizes),
        **_speed(lowering, costs, times),
        placements=program.placements,
        machine=lowering.options.machine,
    )


def _speed(
    lowering: Lowering, costs: Sequence[KernelCost], times: Measured | None
) -> dict[str, Any]:
    """What the page has of the times: of each kernel what stands in its row, and the drawing."""
    if times is None:
        return {"times": None, "speeds": [], "roofline": "", "roofs": []}
    types = {v.dtype.name for v in lowering.program().buffers().values()}
    is_single = "float32" in types and "float64" not in types
    every = roofs(lowering.options, is_single)
    speeds = [
        Speed.of(cost, seconds, every) for cost, seconds in zip(costs, times.kernels, strict=True)
    ]
    drawing = roofline_svg(every, costs, times.kernels)
    return {"times": times, "speeds": speeds, "roofline": drawing, "roofs": every}


def _facts(lowering: Lowering) -> list[str]:
    """What stands under the title."""
    program, counts = lowering.program(), lowering.cost_analysis()
    kernels, arrays = len(program.kernels), len(program.temporaries)
    return [
        f"{kernels} kernel{'s' * (kernels != 1)}",
        f"{arrays} temporar{'ies' if arrays != 1 else 'y'} in {_bytes(program.workspace)}",
        *(f"{value:,.0f} {name}" for name, value in counts.items()),
    ]


def _bytes(size: Index) -> str:
    return f"{size:,} bytes" if isinstance(size, int) else f"{size} bytes"
