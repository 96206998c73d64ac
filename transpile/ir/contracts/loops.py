"""Properties of loop programs: what C requires of one, and what passes require of each other.

Most of those that passes provide for each other say that a pass has done its work on the whole
program.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from transpile.ir.contracts import Property, Settled
from transpile.ir.dims import bounds
from transpile.ir.loop_ir import Alloc, Declare, For, Kernel, Program, Statement
from transpile.ir.loop_rewrite import children, names_read, used_buffers, walk
from transpile.options import Options


def _loops(program: Program) -> Iterator[For]:
    return (s for k in program.kernels for s in walk(k.body) if isinstance(s, For))


def _no_dead_scalars(program: Program, _: Options) -> bool:
    for kernel in program.kernels:
        read = frozenset[str]().union(*map(names_read, kernel.body))
        constants = (s for s in walk(kernel.body) if isinstance(s, Declare) and s.constant)
        if any(s.name not in read for s in constants):
            return False
    return True


def _stack_bounded(program: Program, options: Options) -> bool:
    most = options.machine.stack_array_bytes
    return all(_bytes_on_stack(kernel) <= most for kernel in program.kernels)


_UNKNOWN = 1 << 62  # bytes of an array that may be of any size


def _bytes_on_stack(kernel: Kernel) -> int:
    """The bytes of the arrays of a kernel that have no slot, without those of vector lanes."""
    loops = (s for s in walk(kernel.body) if isinstance(s, For) and s.simd)
    of_lanes = {s.buffer.name for f in loops for s in walk(f.body) if isinstance(s, Alloc)}
    arrays = (s for s in walk(kernel.body) if isinstance(s, Alloc) and s.slot is None)
    sizes = (bounds(s.buffer.size_in_bytes)[1] for s in arrays if s.buffer.name not in of_lanes)
    return sum(_UNKNOWN if size is None else size for size in sizes)


def _workspace_planned(program: Program, _: Options) -> bool:
    """Tell whether each temporary that is used has bytes of its own while it is."""
    lives: dict[str, list[int]] = {}
    for position, kernel in enumerate(program.kernels):
        for name in used_buffers(kernel)[0]:
            lives.setdefault(name, []).append(position)
    if len(program.offsets) != len(program.temporaries):
        return False
    placed = []
    for buffer, start in zip(program.temporaries, program.offsets, strict=True):
        end = start + (bounds(buffer.size_in_bytes)[1] or 0)
        if end > program.workspace or buffer.name not in lives:
            return False
        placed.append((start, end, lives[buffer.name][0], lives[buffer.name][-1]))
    return not any(
        a[0] < b[1] and b[0] < a[1] and a[2] <= b[3] and b[2] <= a[3]
        for a, b in combinations(placed, 2)
    )


def _marks(program: Program) -> list[bool]:
    """Of each loop that stands in no other one in lanes, whether it is in lanes."""
    return [loop.simd for kernel in program.kernels for loop in _outside_lanes(kernel.body)]


def _outside_lanes(body: tuple[Statement, ...]) -> Iterator[For]:
    for statement in body:
        if isinstance(statement, For):
            yield statement
        if not (isinstance(statement, For) and statement.simd):
            yield from _outside_lanes(children(statement))


OWN_SHAPES = Property(
    "kernels access all buffers in their own shapes",
    lambda program, _: not any(kernel.shapes for kernel in program.kernels),
)
NO_ALIASES = Property("no result has the memory of an argument", lambda p, _: not p.aliases)
NO_LANES = Property("no loop is in lanes", lambda p, _: not any(s.simd for s in _loops(p)))
INNERMOST_LANES = Property(
    "no loop in lanes has a loop inside",
    lambda p, _: not any(isinstance(s, For) for f in _loops(p) if f.simd for s in walk(f.body)),
)
ONE_VERSION = Property(
    "no loop has a version for ordinary angles", lambda p, _: not any(s.near for s in _loops(p))
)
NO_DEAD_SCALARS = Property("each constant scalar is read", _no_dead_scalars)
STACK_BOUNDED = Property(
    "the stack has no more bytes of local arrays than the machine allows", _stack_bounded
)
WORKSPACE_PLANNED = Property(
    "temporaries have bytes of the workspace, apart while both are used", _workspace_planned
)

BOUNDS_RESOLVED = Settled("no loop is left to split where a condition on its index changes")
DIAGONALS_RESOLVED = Settled("no loop is left to split at a diagonal")
LINEAR_SUBSCRIPTS = Settled("no buffer is left that is simpler with one subscript")
COALESCED = Settled("no nest is left that may be one loop")
SCALARS_REPLACED = Settled("no temporary is left that may be a variable")
PROMOTED = Settled("no temporary is left that may be a local array")
SUBEXPRESSIONS_SHARED = Settled("no expression is certainly evaluated twice")
THREADS_BOUND = Settled("no loop is left that is worth threads")
LANES_BOUND = Settled("each loop that may run in lanes does, or stands in one", _marks)

# What need not be true of new loops, and of new temporaries.
OF_LOOPS = (COALESCED, THREADS_BOUND, LANES_BOUND)
OF_TEMPORARIES = (SCALARS_REPLACED, PROMOTED, WORKSPACE_PLANNED)
