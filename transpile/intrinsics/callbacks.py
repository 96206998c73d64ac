"""Callbacks into Python, which are passed the addresses of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index
from transpile.ir.graph import Site
from transpile.ir.loop_ir import Load
from transpile.util.frozen_records import changed, dataclass, same


@dataclass(frozen=True)
class Callback(Call):
    """A call of the callback of a site with arrays of the site's types; None is an array without
    elements, which has no address. The C function is the program's own, and `codegen` prints it."""

    site: Site
    values: tuple[Strided | None, ...]

    name = "call_back"

    @property
    def operands(self) -> dict[str, Any]:
        return {f"value{k}": value for k, value in enumerate(self.values)}

    @property
    def written(self) -> tuple[str, ...]:
        return ()

    @property
    def results(self) -> tuple[Strided, ...]:
        return ()

    @property
    def scratch(self) -> frozenset[str]:
        return frozenset()

    def mapped(self, on_load: Callable[[Load], Load], on_index: Callable[[Index], Index]) -> Call:
        values = (value and changed(value, first=on_load(value.first)) for value in self.values)
        return changed(self, values=same(self.values, tuple(values)))
