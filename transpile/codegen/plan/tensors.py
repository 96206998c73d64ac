"""What the entry for tensors of DLPack checks, and the sizes that follow from shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from transpile.errors import UnsupportedError
from transpile.ir.dims import Dim, Index, Symbol, symbols_of, terms_of
from transpile.ir.loop_ir import DType, Program
from transpile.ir.types import BOOL, is_bfloat16

# The codes of errors begin below this one, six for each array.
_CODES = -1000
_FAULTS = (
    "is no tensor of {dtype}",
    "is not in the memory of the CPU",
    "has not {rank} axes",
    "is not aligned to {alignment} bytes",
    "has no data",
)


def dtype_code(dtype: DType) -> int:
    """DLPack's code of a kind of dtypes."""
    if is_bfloat16(dtype):
        return 4
    return 6 if dtype == BOOL else {"i": 0, "u": 1, "f": 2, "c": 5}[dtype.kind]


def first_code(number: int) -> int:
    """The code above those of an array, by its number among arguments and results."""
    return _CODES - (len(_FAULTS) + 1) * number


def tensor_faults(program: Program) -> list[tuple[int, str]]:
    """(code, text) of what may be wrong with tensors."""
    faults = []
    for number, buffer in enumerate((*program.inputs, *program.outputs)):
        shape = f"has not the shape ({', '.join(map(str, buffer.shape))})"
        for position, text in enumerate((*_FAULTS, shape), 1):
            dtype, rank = buffer.dtype, len(buffer.shape)
            said = text.format(dtype=dtype.name, rank=rank, alignment=dtype.alignment)
            faults.append((first_code(number) - position, f"{buffer.name} {said}"))
    return faults


def solved_sizes(
    name: str,
    sizes: Sequence[Symbol],
    extents: Iterable[tuple[str, Index]],
    printed: Callable[[Index], str],
    divided: str,
) -> Iterator[tuple[str, str]]:
    """How each size of a function follows from texts of extents, in an order in which each needs
    earlier ones only. UnsupportedError for one that does not."""
    known: set[Symbol] = set()
    given = list(extents)
    while missing := [size for size in sizes if size not in known]:
        found = [
            (size, solution)
            for size in missing
            for text, extent in given
            if (solution := _solved(size, extent, text, known, printed, divided))
        ]
        if not found:
            raise UnsupportedError(
                f"the shapes of the arguments of {name} do not determine {missing[0]}"
            )
        size, solution = found[0]
        known.add(size)
        yield size.name, solution


def _solved(
    size: Symbol,
    extent: Index,
    given: str,
    known: set[Symbol],
    printed: Callable[[Index], str],
    divided: str,
) -> str:
    """The expression of a size for which `extent` is what `given` says; "" where it is not linear
    in that size, or has another unknown one."""
    symbols = symbols_of(extent)
    if size not in symbols or not symbols - {size} <= known:
        return ""
    slope = dict(terms_of(extent)).get((size,), 0)
    rest = extent - Dim.of(size) * slope
    if not slope or size in symbols_of(rest):
        return ""
    shifted = f"({given} - ({printed(rest)}))" if rest != 0 else given
    common = math.gcd(size.unit, slope)
    times = f" * {size.unit // common}" if size.unit != common else ""
    if slope != common:
        return f"{shifted}{times} {divided} {slope // common}"
    return f"{shifted}{times}"
