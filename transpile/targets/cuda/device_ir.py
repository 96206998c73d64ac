"""The device program: kernels of threads, blocks and warps, and the launches of them.

    DeviceProgram   = program: Program, steps: Step*
    Step            = DeviceKernel | LibraryCall | HostLoop | HostWhile | HostIf | HostSwaps
                    | HostCall | Swap
    DeviceKernel    = body: DeviceStatement*, the grid that it is launched on
    DeviceStatement = Statement | Spread | Section | Together | Single | Combine | FromFirst
                    | Barrier | Shared | Slice | Registers | Pack | Unrolled | TeamCall | EndIf
                    | AtomicUpdate

A *team* is the threads that run statements together: those of a block, of a warp, or of an equal
part of a warp. They have
equal values of all scalars that are declared outside of a `Spread`. A plain statement is run by
each thread. Immutable, like the loop IR that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from transpile.ir.calls import Call
from transpile.ir.dims import Index, Shape, Symbol, symbols_of
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import indices_in, loads, loads_of, symbols_read, walk, written
from transpile.targets.cuda.products.finish import Finish, Gather
from transpile.util.frozen_records import dataclass, replace


@dataclass(frozen=True)
class AtomicUpdate(Update):
    """An update of an element that other threads update at the same time: one access."""


class Team(Enum):
    """Who runs the statements of a body together."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


class Over(Enum):
    """Whom iterations are dealt to."""

    GRID_THREADS = "threads of the grid"
    GRID_WARPS = "warps of the grid"
    GRID_BLOCKS = "blocks of the grid"
    BLOCK_THREADS = "threads of a block"
    WARP_LANES = "lanes of a warp"


@dataclass(frozen=True)
class Spread:
    """The iterations of a rectangular nest of loops, dealt out in turn. With several loops, `item`
    is the name of the number of an iteration.

    turns   a member has at most so many iterations, in an unrolled loop; 0 where it strides to the
            end
    turn    the index of that loop: which of its iterations it is, for what a member keeps of each
    whole   each member has one in each turn
    fills   each member has one in each turn but the last
    """

    loops: tuple[For, ...]
    over: Over
    body: Body
    item: str = ""
    turns: int = 0
    turn: Symbol | None = None
    whole: bool = False
    fills: bool = False


@dataclass(frozen=True)
class Section:
    """What some blocks of the grid run: `blocks` from the block `first` on; `block` is the name of
    the number that one has among them."""

    first: int
    blocks: int
    body: Body
    block: str


@dataclass(frozen=True)
class Together:
    """A loop or branch that all threads of a team run: of a `For` the body, of an `If` both, of a
    `While` what prepares its condition, and the body."""

    head: For | While | If
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class Single:
    """Statements that the first thread of a team runs."""

    body: tuple[Statement, ...]
    team: Team


@dataclass(frozen=True)
class Combine:
    """`target = op(target, the parts of all threads)`; without a part of its own, the target has
    each thread's part."""

    target: Ref
    op: str
    part: Ref
    team: Team


@dataclass(frozen=True)
class FromFirst:
    """All threads take the first one's value of a scalar."""

    target: Ref
    team: Team


@dataclass(frozen=True)
class Barrier:
    """What the threads of a team have written is read by others behind it."""

    team: Team


@dataclass(frozen=True)
class Shared:
    """An array in shared memory: the block's, or one for each warp."""

    buffer: Buffer
    team: Team
    warps: int


@dataclass(frozen=True)
class Slice:
    """An array in a slice of a buffer in global memory, which has one for each block."""

    buffer: Buffer
    home: str


@dataclass(frozen=True)
class Registers:
    """An array of which each thread has elements of its own: those of its turns."""

    buffer: Buffer


@dataclass(frozen=True)
class Pack:
    """Neighbouring elements of an array, which a thread loads into a local one, or stores from
    there, in one access where the array is aligned; `row` of the local one where it has several."""

    local: Buffer
    buffer: str
    index: Shape
    is_stored: bool
    row: Shape = ()


@dataclass(frozen=True)
class Unrolled:
    """A loop of which no trace is left, whose own body is empty: local arrays with its index are
    registers."""

    loop: For
    body: Body


@dataclass(frozen=True)
class TeamCall:
    """A routine that a block runs; `is_shared_out` among the blocks of the grid.

    routine    its name
    suffix     that of the dtype for which it is made
    reads      the buffers that it reads
    writes     those that it writes
    finish     what becomes of each result of a product
    gather     the left operand of a product, where that is computed as it is read
    """

    routine: str
    suffix: str
    arguments: tuple[Index | Load | str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    is_shared_out: bool = False
    finish: Finish | None = None
    gather: Gather | None = None


@dataclass(frozen=True)
class EndIf:
    """The kernel ends here where this number in memory is not 0."""

    flag: str


DeviceStatement = (
    Statement
    | Spread
    | Section
    | Together
    | Single
    | Combine
    | FromFirst
    | Barrier
    | Shared
    | Slice
    | Registers
    | Pack
    | Unrolled
    | TeamCall
    | EndIf
)
Body = tuple[DeviceStatement, ...]


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel, and the grid that it is launched on.

    kernel       its statements as loops, by which its parameters are known
    items        what is dealt to blocks, `per_block` to each
    threads      of a block
    lanes        threads of a team that is a warp, or part of one
    most_blocks  the largest grid
    mapping      what threads, warps and blocks have, in words
    """

    kernel: Kernel
    body: Body
    items: Index
    per_block: int
    threads: int
    lanes: int
    most_blocks: int
    mapping: str

    def walk(self) -> Iterator[DeviceStatement]:
        """All statements, nested ones too, in preorder."""
        return walk_device(self.body)


@dataclass(frozen=True)
class LibraryCall:
    """A routine of a library, which the host calls and which launches kernels of its own: the one
    statement of a kernel, by which its buffers are known."""

    kernel: Kernel

    @property
    def call(self) -> Call:
        """The call."""
        (call,) = self.kernel.body
        assert isinstance(call, Call)
        return call


def walk_device(body: Body) -> Iterator[DeviceStatement]:
    """All statements of a body, nested ones too, in preorder."""
    for statement in body:
        match statement:
            case (
                Spread(body=inner) | Section(body=inner) | Single(body=inner) | Unrolled(body=inner)
            ):
                yield statement
                yield from walk_device(inner)
            case Together(bodies=bodies):
                yield statement
                for inner in bodies:
                    yield from walk_device(inner)
            case For() | If() | While():
                yield from walk((statement,))
            case TeamCall(finish=finish, gather=gather):
                yield statement
                for part in (gather, finish):
                    yield from () if part is None else walk_device(part.body)
            case _:
                yield statement


def used_by(kernel: DeviceKernel) -> tuple[tuple[str, ...], frozenset[str]]:
    """The buffers that a kernel reads or writes, in order of use, and those that it writes; without
    the workspace that routines of C have."""
    used: dict[str, None] = {}
    writes: set[str] = set()
    own: set[str] = set()
    for statement in kernel.walk():
        match statement:
            case TeamCall(reads=reads, writes=written_):
                used.update(dict.fromkeys((*reads, *written_)))
                writes.update(written_)
            case Pack(buffer=name, is_stored=is_stored):
                used.setdefault(name)
                if is_stored:
                    writes.add(name)
            case EndIf(flag=flag):
                used.setdefault(flag)
            case Shared(buffer=buffer) | Registers(buffer=buffer):
                own.add(buffer.name)
            case Slice(buffer=buffer, home=home):
                own.add(buffer.name)
                used.setdefault(home)
                writes.add(home)
            case Together(head=If(condition=condition) | While(condition=condition)):
                used.update(dict.fromkeys(load.buffer for load in loads_of(condition)))
            case For() | If() | While() | Declare() | Update() | Store() | Alloc() | Swap():
                used.update(dict.fromkeys(load.buffer for load in loads(statement)))
                used.update(dict.fromkeys(written(statement)))
                writes.update(written(statement))
                if isinstance(statement, Alloc):
                    own.add(statement.buffer.name)
            case _:
                pass
    return tuple(name for name in used if name not in own), frozenset(writes - own)


def read_by(statement: DeviceStatement) -> frozenset[Symbol]:
    """The symbols in the indices of a statement itself, and inside it where it is a plain one."""
    match statement:
        case Pack(index=index):
            return frozenset().union(*map(symbols_of, index))
        case Spread(loops=loops):
            ends = [end for f in loops for end in (f.start, f.stop, f.limit) if end is not None]
            return frozenset().union(*map(symbols_of, ends))
        case Together(head=For() as head):
            ends = [end for end in (head.start, head.stop, head.limit) if end is not None]
            return frozenset().union(*map(symbols_of, ends))
        case Together(head=If(condition=condition) | While(condition=condition)):
            return frozenset(s for index in indices_in(condition) for s in symbols_of(index))
        case TeamCall(arguments=arguments):
            every = [i for a in arguments for i in (a.index if isinstance(a, Load) else (a,))]
            return frozenset(s for i in every if not isinstance(i, str) for s in symbols_of(i))
        case For() | If() | While() | Declare() | Update() | Store():
            return symbols_read(statement)
        case Shared(buffer=buffer) | Slice(buffer=buffer) | Alloc(buffer=buffer):
            return frozenset().union(*map(symbols_of, buffer.shape))
        case _:
            return frozenset()


def symbols_of_kernel(kernel: DeviceKernel) -> frozenset[Symbol]:
    """The symbols in the subscripts and bounds of a kernel."""
    read = set[Symbol]().union(*map(symbols_read, kernel.kernel.body))
    for statement in kernel.walk():
        if isinstance(statement, Shared | Slice | Alloc):
            read.update(*map(symbols_of, statement.buffer.shape))
    return frozenset(read)


@dataclass(frozen=True)
class HostLoop:
    """A loop that the host runs around launches."""

    loop: For
    steps: tuple[Any, ...]


@dataclass(frozen=True)
class HostWhile:
    """A loop of the host around launches: `test` are steps, the last of which makes the truth
    `flag` in the memory of the device, which the host reads. It `checks` then if the program has
    failed."""

    flag: str
    test: tuple[Any, ...]
    steps: tuple[Any, ...]
    checks: bool = False


@dataclass(frozen=True)
class HostIf:
    """Steps by a truth in the memory of the device, which the host reads. It `checks` then if the
    program has failed."""

    flag: str
    steps: tuple[Any, ...]
    orelse: tuple[Any, ...]
    checks: bool = False


@dataclass(frozen=True)
class HostCall:
    """A callback: the host waits for the arrays that its function reads, calls it, and copies what
    it has written to the device. The kernel has nothing but the callback. The host `checks` before
    if the program has failed."""

    kernel: Kernel
    checks: bool = False

    @property
    def call(self) -> Any:
        """The callback."""
        return self.kernel.body[0]


@dataclass(frozen=True)
class HostSwaps:
    """Steps that exchange these pointers, which are as before behind them."""

    names: tuple[str, ...]
    steps: tuple[Any, ...]


# What the host does: a launch, which is a kernel before it is mapped, a call of a library, loops
# and branches of launches, exchanges of pointers between them, and callbacks.
Step = (
    Kernel
    | DeviceKernel
    | LibraryCall
    | HostLoop
    | HostWhile
    | HostIf
    | HostSwaps
    | HostCall
    | Swap
)


def with_steps(step: Step, function: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Step:
    """A step with a function applied to the steps inside it."""
    match step:
        case HostLoop() | HostSwaps():
            return replace(step, steps=function(step.steps))
        case HostWhile():
            return replace(step, test=function(step.test), steps=function(step.steps))
        case HostIf():
            return replace(step, steps=function(step.steps), orelse=function(step.orelse))
        case _:
            return step


def steps_inside(step: Step) -> tuple[Any, ...]:
    """The steps inside a step, in their order."""
    match step:
        case HostLoop() | HostSwaps():
            return step.steps
        case HostWhile():
            return (*step.test, *step.steps)
        case HostIf():
            return (*step.steps, *step.orelse)
        case _:
            return ()


def used_in(step: Step) -> frozenset[str]:
    """The buffers that a step uses."""
    inner = frozenset[str]().union(*map(used_in, steps_inside(step)))
    match step:
        case DeviceKernel():
            return inner | frozenset(used_by(step)[0])
        case HostCall() | LibraryCall():
            return inner | frozenset(array.buffer for array in step.call.arrays.values())
        case _:
            return inner


@dataclass(frozen=True)
class Failure:
    """An error with which a program ends: its code, the number of the site whose function raises
    it, or None, and the arrays that the function is given, "" for those without elements."""

    code: int
    site: int | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceProgram:
    """A program, and what the host does for it, in order. Its kernels are those of the steps, one
    for each, by which memory is planned. With `failures`, the number of the first one from 1 on is
    in `word` when all steps are through."""

    program: Program
    steps: tuple[Step, ...]
    failures: tuple[Failure, ...] = ()
    word: str = ""
