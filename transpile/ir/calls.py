"""Calls of library routines in the loop IR, with named operands.

An intrinsic (`transpile.intrinsics`) is to the loop IR what a primitive is to the graph: a subclass
of `Call` whose fields are the operands and whose methods say what it reads, writes, means and
costs, and how each target calls it. A pass reads `call.a` and `call.m`, and rebuilds a call with
`replace(call, b=...)`. Only the intrinsic knows the order of the target function's arguments.

Signatures are in the notation of NumPy's generalized ufuncs: `a(m,k), b(k,n) -> c(m,n)` reads `a`
and `b` and writes `c`; `m`, `n` and `k` are sizes. An array on both sides is updated in place.
`plan(*)` has an opaque layout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.graph import UNKNOWN_SOURCE, Source
from transpile.util.frozen_records import cached_property, changed, dataclass, field_names, same

if TYPE_CHECKING:
    from transpile.ir.loop_ir import Load


# The names of an array's extents, one for each axis; None for an opaque layout.
Sizes = tuple[str, ...] | None
_ARRAY = re.compile(r"(\w+)\(([\w,*]*)\)")


@dataclass(frozen=True)
class Signature:
    """The arrays that a routine reads and writes, by name."""

    reads: Mapping[str, Sizes]
    writes: Mapping[str, Sizes]


@cache
def parsed_signature(text: str) -> Signature:
    """The signature of a text, as `a(m,k), b(k,n) -> c(m,n)`."""
    reads, _, writes = text.partition("->")
    return Signature(_arrays(reads), _arrays(writes))


def _arrays(text: str) -> dict[str, Sizes]:
    return {
        name: None if sizes == "*" else tuple(filter(None, sizes.split(",")))
        for name, sizes in _ARRAY.findall(text)
    }


@dataclass(frozen=True)
class Strided:
    """An array operand: its first element, whose address is passed, and the stride of each axis in
    elements. Without strides it is contiguous in row-major order."""

    first: Load
    strides: Shape = ()

    @property
    def buffer(self) -> str:
        """The name of its buffer."""
        return self.first.buffer

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""
        return self.first.dtype

    @property
    def with_strides(self) -> tuple[Index | Load, ...]:
        """The arguments of an array with any strides: address and strides."""
        return (self.first, *self.strides)

    @property
    def with_row_strides(self) -> tuple[Index | Load, ...]:
        """The arguments of an array whose last stride is 1: address and the other strides."""
        return (self.first, *self.strides[:-1])


@dataclass(frozen=True)
class Invocation:
    """A call of a target's function: its name and arguments, of which texts are the target's, and
    the external library routines that the function calls, each as (name, short name of a dtype). A
    list of integers is an array of them, which lives as long as the call."""

    function: str
    arguments: tuple[Index | Load | str | tuple[Index, ...], ...]
    routines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Call:
    """A call of a routine; each routine is a subclass, an intrinsic of `transpile.intrinsics`.

    Fields are operands: arrays (`Strided`), integers (`Index`), lists of them, and compile-time
    data. `signature` names the arrays that are read and those that are written; other arrays are
    workspace. `numpy` is the reference semantics, `flops` and `scratch_bytes` the costs. A method
    `in_` + target gives the function to call: `in_c` one of `runtime_c/`, `in_blas` and `in_lapack`
    those of programs that are linked with such a library. `source` is its line of Python.
    """

    source: Source = field(default=UNKNOWN_SOURCE, compare=False, repr=False, kw_only=True)

    name: ClassVar[str]
    signature: ClassVar[str] = ""
    is_local: ClassVar[bool] = False  # writes only local arrays: loops around it may be parallel
    magnitude: ClassVar[float] = math.inf  # an upper bound of what it writes
    is_steady: ClassVar[bool] = False  # takes as long as its flops, and waits for nobody
    communicates: ClassVar[bool] = False  # the function is given the communicator, and may fail

    @property
    def flops(self) -> Index:
        """The number of floating-point operations, roughly."""
        return 0

    @property
    def scratch_bytes(self) -> Index:
        """The bytes of workspace that it needs."""
        return 0

    @property
    def limits(self) -> tuple[tuple[Index, int], ...]:
        """Sizes, and the largest number that each may be."""
        return ()

    @property
    def is_in_place(self) -> bool:
        """True if what it writes may be the memory of its first operand."""
        return False

    @property
    def is_specialised(self) -> bool:
        """True if the function is to be inlined, since knowing the sizes makes it faster."""
        return False

    def numpy(self, *arrays: Any) -> Any:
        """The arrays that it writes, in the order of the signature, from those that it reads."""
        raise InternalError(f"{self.name} has no reference semantics")

    @classmethod
    def has(cls, target: str) -> bool:
        """True if a target has a function for it."""
        return hasattr(cls, f"in_{target}")

    def invocation(self, *targets: str) -> Invocation:
        """The call of the first of these targets that has a function for it."""
        target = next((t for t in targets if self.has(t)), None)
        if target is None:
            raise InternalError(f"none of {', '.join(targets)} has a function for {self.name}")
        invocation: Invocation = getattr(self, f"in_{target}")()
        return invocation

    @property
    def operands(self) -> dict[str, Any]:
        """The operands by name."""
        cls: Any = type(self)
        return {name: self.__dict__[name] for name in field_names(cls) if name != "source"}

    @cached_property
    def arrays(self) -> Mapping[str, Strided]:
        """The arrays by name."""
        return {name: x for name, x in self.operands.items() if isinstance(x, Strided)}

    @cached_property
    def numbers(self) -> tuple[Index, ...]:
        """The integer operands, including strides."""
        sizes = (x for x in self.operands.values() if isinstance(x, int | Dim))
        lists = (n for x in self.operands.values() if _is_integers(x) for n in x)
        return (*sizes, *lists, *(s for array in self.arrays.values() for s in array.strides))

    @cached_property
    def scratch(self) -> frozenset[str]:
        """The buffers of workspace: undefined before the call and dead after it."""
        kept = parsed_signature(self.signature)
        inside = (n for n in self.arrays if n not in kept.reads and n not in kept.writes)
        return frozenset(self.arrays[name].buffer for name in inside)

    @cached_property
    def results(self) -> tuple[Strided, ...]:
        """The arrays that it writes, without workspace."""
        return tuple(self.arrays[name] for name in parsed_signature(self.signature).writes)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The buffers that it writes, including workspace."""
        changed = {array.buffer for array in self.results} | self.scratch
        buffers = (array.buffer for array in self.arrays.values())
        return tuple(dict.fromkeys(name for name in buffers if name in changed))

    def shape(self, array: str) -> tuple[int, ...]:
        """The shape of an array of the signature, when all sizes are ints."""
        signature = parsed_signature(self.signature)
        sizes = signature.reads.get(array) or signature.writes.get(array) or ()
        extents = (getattr(self, size) for size in sizes)
        return tuple(n for e in extents for n in (e if isinstance(e, tuple) else (e,)))

    def mapped(self, on_load: Callable[[Load], Load], on_index: Callable[[Index], Index]) -> Call:
        """The call with every address and integer rewritten; itself if nothing changes."""

        def rebuilt(value: Any) -> Any:
            if isinstance(value, Strided):
                strides = same(value.strides, tuple(map(on_index, value.strides)))
                return changed(value, first=on_load(value.first), strides=strides)
            if _is_integers(value):
                return same(value, tuple(map(on_index, value)))
            return on_index(value) if isinstance(value, int | Dim) else value

        return changed(self, **{name: rebuilt(x) for name, x in self.operands.items()})


def _is_integers(value: Any) -> TypeGuard[tuple[Index, ...]]:
    """True for a list of integers, of which some are of runtime sizes."""
    return isinstance(value, tuple) and any(isinstance(x, Dim) for x in value)
