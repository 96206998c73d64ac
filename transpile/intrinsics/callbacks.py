"""Callbacks into Python, which are passed the addresses of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.ir.calls import Call, Strided
from transpile.ir.dims import Index
from transpile.ir.graph import Site
from transpile.ir.loop_ir import Load
from transpile.util.frozen_records import changed, dataclass, same

Arrays = tuple[Strided | None, ...]


@dataclass(frozen=True)
class Callback(Call):
    """A call of the callback of a site with arrays of the site's types, which writes `given`, those
    of its results; None is an array without elements, which has no address. The C function is the
    program's own, and `codegen` prints it, with what ends the program when the callback fails."""

    site: Site
    values: Arrays
    given: Arrays = ()

    name = "call_back"

    @property
    def fails(self) -> bool:
        """True if the program ends here, with an error."""
        return bool(self.site.callback.failure)

    @property
    def operands(self) -> dict[str, Any]:
        named = {f"value{k}": value for k, value in enumerate(self.values)}
        return {**named, **{f"result{k}": value for k, value in enumerate(self.given)}}

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(array.buffer for array in self.results))

    @property
    def results(self) -> tuple[Strided, ...]:
        return tuple(array for array in self.given if array is not None)

    @property
    def scratch(self) -> frozenset[str]:
        return frozenset()

    def mapped(self, on_load: Callable[[Load], Load], on_index: Callable[[Index], Index]) -> Call:
        def rebuilt(arrays: Arrays) -> Arrays:
            mapped = (value and changed(value, first=on_load(value.first)) for value in arrays)
            return same(arrays, tuple(mapped))

        return changed(self, values=rebuilt(self.values), given=rebuilt(self.given))
