"""Move large local arrays off the stack, into a slice of the workspace for each thread.

A thread may have little stack: 128 KiB with musl, 512 KiB on macOS, a few KiB in firmware. A
program takes at most `STACK` bytes of it: `stack_array_bytes` of the machine for the local arrays
of a kernel, `HELPERS` for the functions of `runtime_c/` that it calls, the rest for what compilers
keep there. A kernel with more moves its largest arrays, as slots, which arrays share whose live
ranges do not overlap. The arrays of vector lanes stay: they live in registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.ir.contracts import contract
from transpile.ir.contracts.loops import LANES_BOUND, PROMOTED, STACK_BOUNDED, WORKSPACE_PLANNED
from transpile.ir.dims import Dim, Index, bounds
from transpile.ir.indices.estimates import estimate
from transpile.ir.loop_ir import Alloc, Buffer, For, If, Kernel, Program, Slot, Statement, While
from transpile.ir.loop_rewrite import names_in, walk, with_bodies
from transpile.ir.types import UINT8
from transpile.machine import Machine
from transpile.options import Options
from transpile.schedule.cleanup.scalar_replacement import accessed_buffers
from transpile.schedule.memory_plan import Space, aligned
from transpile.symbols.identifiers import Names
from transpile.util.frozen_records import changed, replace

# In bytes, for one thread; tests compare them with what gcc counts.
STACK = 64 << 10
HELPERS = 28 << 10

Body = tuple[Statement, ...]


# The arrays of lanes live in registers.
@contract(
    requires=(LANES_BOUND,),
    provides=(STACK_BOUNDED,),
    destroys=(WORKSPACE_PLANNED, PROMOTED),
)
def move_arrays_off_stack(program: Program, options: Options) -> Program:
    """The program whose kernels have at most `stack_array_bytes` of local arrays on the stack."""
    machine = options.machine
    names: Names | None = None
    kernels: list[Kernel] = []
    slices: list[Buffer] = []
    for kernel in program.kernels:
        moved = _moved(kernel, machine)
        if moved:
            names = names or Names(names_in(program))
            kernel, buffer = _Mover(moved, names.new("slices"), options).kernel(kernel)
            slices.append(buffer)
        kernels.append(kernel)
    if not slices:
        return program
    temporaries = (*program.temporaries, *slices)
    return replace(program, kernels=tuple(kernels), temporaries=temporaries)


def _moved(kernel: Kernel, machine: Machine) -> frozenset[str]:
    """The arrays of a kernel to move, the largest first, until the others fit."""
    arrays = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    fixed = _of_lanes(kernel.body)
    moved = {b.name for b in arrays if b.name not in fixed and isinstance(_size(b), Dim)}
    total = 0
    sizes: dict[str, int] = {}  # branches and copies of a loop may each have one of this name
    for buffer in arrays:
        size = _size(buffer)
        if isinstance(size, int):
            sizes[buffer.name] = sizes.get(buffer.name, 0) + size
            total += size
    for name in sorted(sizes.keys() - fixed, key=lambda n: (-sizes[n], n)):
        if total <= machine.stack_array_bytes:
            break
        moved.add(name)
        total -= sizes[name]
    return frozenset(moved)


def _of_lanes(body: Body) -> set[str]:
    """The arrays that each vector lane has one of: a few numbers, in registers."""
    loops = (s for s in walk(body) if isinstance(s, For) and s.simd)
    return {s.buffer.name for loop in loops for s in walk(loop.body) if isinstance(s, Alloc)}


def _size(buffer: Buffer) -> Index:
    """The bytes of an array: at most so many, or an index of runtime sizes without a bound."""
    size = buffer.size_in_bytes
    return aligned(estimate(size) if bounds(size)[1] is not None else size)


class _Mover:
    """Assigns the arrays `moved` of one kernel slots in the buffer `home`."""

    def __init__(self, moved: frozenset[str], home: str, options: Options) -> None:
        self.moved = moved
        self.home = home
        self.options = options
        self.threads = 1

    def kernel(self, kernel: Kernel) -> tuple[Kernel, Buffer]:
        """The kernel with slots, and their buffer, a slice for each thread."""
        size = self._need(kernel.body)
        machine = self.options.machine
        slices = min(machine.most_slices, machine.slices_bytes // estimate(size))
        self.most = max(machine.fewest_slices, slices)
        if self.options.num_threads:
            self.most = min(self.most, self.options.num_threads)
        body = self._placed(kernel.body, 0, shared_out=False)
        buffer = Buffer(self.home, (self.threads, size), UINT8)
        return replace(kernel, body=body), buffer

    def _slots(self, body: Body) -> tuple[dict[int, Index], Index]:
        """The offset of each array that a sequence allocates, by the position of its `Alloc`, and
        their total size. Live ranges are intervals of positions. Arrays of unknown size lie behind
        the others, and share no memory."""
        declared = {
            s.buffer.name: k
            for k, s in enumerate(body)
            if isinstance(s, Alloc) and s.buffer.name in self.moved
        }
        lives: dict[str, list[int]] = {}
        for position, statement in enumerate(body):
            for name in declared.keys() & accessed_buffers((statement,)):
                lives.setdefault(name, []).append(position)
        space = Space()
        offsets: dict[int, Index] = {}
        unknown: list[tuple[int, Index]] = []
        alive: list[tuple[int, int, int]] = []  # last use, first byte, end
        for name in sorted(lives, key=lambda n: (lives[n][0], n)):
            first, last = lives[name][0], lives[name][-1]
            for ended in [a for a in alive if a[0] < first]:
                alive.remove(ended)
                space.free(*ended[1:])
            alloc = body[declared[name]]
            assert isinstance(alloc, Alloc)
            size = _size(alloc.buffer)
            if not isinstance(size, int):
                unknown.append((declared[name], size))
                continue
            start = offsets[declared[name]] = space.take(size)
            alive.append((last, start, start + size))
        end: Index = space.size
        for position, extent in unknown:
            offsets[position] = end
            end = end + extent
        return {**dict.fromkeys(declared.values(), 0), **offsets}, end

    def _need(self, body: Body) -> Index:
        """The bytes for the arrays of a sequence and of those nested in it, of which the largest
        counts, and each one that is not known to be smaller."""
        nested: list[Index] = []
        for need in (self._need(b) for b in _bodies(body)):
            if not any(_is_at_most(need, other) for other in nested):
                nested = [other for other in nested if not _is_at_most(other, need)]
                nested.append(need)
        total = self._slots(body)[1]
        for need in nested:
            total = total + need
        return total

    def _placed(self, body: Body, base: Index, *, shared_out: bool) -> Body:
        """The statements with slots for their arrays from `base` on; `shared_out`: a team of
        threads runs them."""
        offsets, size = self._slots(body)

        def inside(inner: Body) -> Body:
            return self._placed(inner, base + size, shared_out=shared_out)

        def placed(position: int, statement: Statement) -> Statement:
            if position in offsets and isinstance(statement, Alloc):
                return Alloc(
                    statement.buffer, Slot(self.home, base + offsets[position], shared_out)
                )
            if isinstance(statement, For) and statement.parallel:
                own = self._placed(statement.body, base + size, shared_out=True)
                if own == statement.body:
                    return statement
                threads = min(self.most, _trip_count(statement))
                self.threads = max(self.threads, threads)
                return changed(statement, body=own, threads=threads)
            if isinstance(statement, While):
                *test, rest = inside(_as_one(statement))
                assert isinstance(rest, If)
                return changed(statement, test=tuple(test), body=rest.body)
            return with_bodies(statement, inside)

        return tuple(placed(k, s) for k, s in enumerate(body))


def _is_at_most(size: Index, other: Index) -> bool:
    slack = bounds(other - size)[0]
    return slack is not None and slack >= 0


def _trip_count(loop: For) -> int:
    """An upper bound of a parallel loop's trip count, times that of a loop collapsed with it."""
    iterations = max(1, estimate(loop.extent))
    inner = loop.body[0]
    if loop.collapse > 1 and isinstance(inner, For):
        iterations *= max(1, estimate(inner.extent))
    return iterations


def _bodies(body: Body) -> Iterator[Body]:
    """The statement sequences nested in these statements."""
    for statement in body:
        match statement:
            case For():
                yield statement.body
            case If():
                yield from (statement.body, statement.orelse)
            case While():
                yield _as_one(statement)


def _as_one(loop: While) -> Body:
    """The test and body of a loop as one scope: the body may use what the test declares."""
    return (*loop.test, If(loop.condition, loop.body))
