"""Calls of library routines in the loop language: operands by their names.

A routine is an intrinsic of `transpile.intrinsics`, as an operation of the graph is a primitive: a
subclass of `Call` whose fields are its operands and whose methods are the columns of a table. A
pass asks for `call.a` and `call.m` and rebuilds a call with `replace(call, b=...)`. Liveness,
dependences and the interpreter of the tests ask the intrinsic which arrays it reads and writes;
printing asks it for its function in the words of a target. Only the intrinsic knows the order of
the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Shape
from transpile.ir.operand_signature import parse
from transpile.util.frozen_records import cached_property, changed, dataclass, same

if TYPE_CHECKING:  # an address is that of an element
    from transpile.ir.loop_ir import Load


@dataclass(frozen=True)
class Strided:
    """An array of a call: its first element, and how many elements lie between those that follow
    each other along each axis. Without strides it lies in row-major order."""

    first: Load
    strides: Shape = ()

    @property
    def buffer(self) -> str:
        """The buffer that it lies in."""
        return self.first.buffer

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""
        return self.first.dtype

    @property
    def by_elements(self) -> tuple[Index | Load, ...]:
        """As arguments: the address, and the stride of each axis."""
        return (self.first, *self.strides)

    @property
    def by_rows(self) -> tuple[Index | Load, ...]:
        """As arguments where the last axis has the stride 1, which goes without saying."""
        return (self.first, *self.strides[:-1])


@dataclass(frozen=True)
class Invocation:
    """A call in the words of a target: a function of its own, the arguments of that, and which
    routines of a library the function calls, as (name, short name of a dtype)."""

    function: str
    arguments: tuple[Index | Load, ...]
    routines: tuple[tuple[str, str], ...] = ()


class Call:
    """A call of a routine. Each routine is a subclass, an intrinsic of `transpile.intrinsics`.

    The fields are the operands by their names: arrays (`Strided`), numbers (`Index`), and what is
    no operand but known when the program is made. `signature` says which arrays it reads and which
    it writes; the others are scratch memory. The methods say what it means (`numpy`), what it costs
    (`flops`, `scratch_bytes`) and how targets call it, each by a method called `in_` and the name
    of the target: `in_c` is a function of `runtime_c/` with its arguments; `in_blas` and
    `in_lapack` are those of programs that are linked with such a library.
    """

    name: ClassVar[str]
    signature: ClassVar[str] = ""
    is_local: ClassVar[bool] = False  # it only fills a local array: loops around it may be parallel

    @property
    def flops(self) -> Index:
        """About how many operations it is."""
        return 0

    @property
    def scratch_bytes(self) -> int:
        """How much scratch memory it needs."""
        return 0

    def numpy(self, *arrays: Any) -> Any:
        """What it writes, in the order of the signature, from what it reads, for known sizes."""
        raise InternalError(f"{self.name} has no meaning here")

    def has(self, target: str) -> bool:
        """True if a target has words for it."""
        return hasattr(self, f"in_{target}")

    def spelled(self, *targets: str) -> Invocation:
        """In the words of the first of these targets that has some."""
        target = next((t for t in targets if self.has(t)), None)
        if target is None:
            raise InternalError(f"{self.name} cannot be called in {', '.join(targets)}")
        invocation: Invocation = getattr(self, f"in_{target}")()
        return invocation

    @property
    def operands(self) -> dict[str, Any]:
        """The fields by name."""
        fields: Any = type(self)
        return {name: self.__dict__[name] for name in fields.__dataclass_fields__}

    @cached_property
    def arrays(self) -> Mapping[str, Strided]:
        """The arrays by name."""
        return {name: x for name, x in self.operands.items() if isinstance(x, Strided)}

    @cached_property
    def numbers(self) -> tuple[Index, ...]:
        """The numbers, strides among them."""
        sizes = (x for x in self.operands.values() if isinstance(x, int | Dim))
        return (*sizes, *(s for array in self.arrays.values() for s in array.strides))

    @cached_property
    def scratch(self) -> frozenset[str]:
        """The buffers that hold nothing before the call, nor after it."""
        kept = parse(self.signature)
        inside = (n for n in self.arrays if n not in kept.reads and n not in kept.writes)
        return frozenset(self.arrays[name].buffer for name in inside)

    @cached_property
    def results(self) -> tuple[Strided, ...]:
        """The arrays that it writes, but for scratch memory."""
        return tuple(self.arrays[name] for name in parse(self.signature).writes)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The buffers that it writes, scratch memory among them."""
        changed = {array.buffer for array in self.results} | self.scratch
        buffers = (array.buffer for array in self.arrays.values())
        return tuple(dict.fromkeys(name for name in buffers if name in changed))

    def shape(self, array: str) -> tuple[int, ...]:
        """The shape of an array that it reads or writes, for known sizes."""
        signature = parse(self.signature)
        sizes = signature.reads.get(array) or signature.writes.get(array) or ()
        extents = (getattr(self, size) for size in sizes)
        return tuple(n for e in extents for n in (e if isinstance(e, tuple) else (e,)))

    def mapped(self, on_load: Callable[[Load], Load], on_index: Callable[[Index], Index]) -> Call:
        """The call with every address and every number rebuilt; itself where that changes
        nothing."""

        def rebuilt(value: Any) -> Any:
            if isinstance(value, Strided):
                strides = same(value.strides, tuple(map(on_index, value.strides)))
                return changed(value, first=on_load(value.first), strides=strides)
            return on_index(value) if isinstance(value, int | Dim) else value

        return changed(self, **{name: rebuilt(x) for name, x in self.operands.items()})
