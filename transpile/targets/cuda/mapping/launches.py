"""Cut the kernels of a program where the grid has to wait: into one kernel for each launch.

A kernel of C is a sequence of loop nests that one thread runs, or a team. On a GPU a wide nest, one
whose iterations are independent and have enough work, is spread over the grid, and what follows it
is another launch. What stands between wide nests is run by one block. Scalars that outlive a launch
are numbers in memory. Loops of users around wide nests, whose bounds the host knows, are its loops;
so are those that end by a predicate, and branches, where there is enough work inside: the host
reads a truth from the memory of the device then. It does the same where a callback is inside, which
is the host's. What may end the program with an error is the last statement of its kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from transpile.analysis.cost_model import work, work_for_sizes
from transpile.errors import UnsupportedError
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Call
from transpile.ir.dims import Symbol, symbols_of
from transpile.ir.indices.estimates import estimate
from transpile.ir.loop_ir import (
    Alloc,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
)
from transpile.ir.loop_rewrite import (
    accessed,
    children,
    indices,
    is_independent,
    loads,
    names_in,
    names_read,
    parts,
    used_buffers,
    walk,
)
from transpile.ir.types import BOOL
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    HostCall,
    HostIf,
    HostLoop,
    HostSwaps,
    HostWhile,
    Step,
)
from transpile.targets.cuda.effects.failures import ends
from transpile.targets.cuda.effects.host_calls import as_while, calls_host, with_own_arrays
from transpile.targets.cuda.gpu import Gpu
from transpile.targets.cuda.routines.functions import takes_one_block
from transpile.util.frozen_records import dataclass, replace

Body = tuple[Statement, ...]


def cut_at_wide_nests(program: Program, gpu: Gpu) -> tuple[tuple[Step, ...], tuple[Buffer, ...]]:
    """What the host does for a program, a kernel for each launch; and the temporaries that there
    are then."""
    names = Names(names_in(program))
    steps: list[Step] = []
    temporaries = list(program.temporaries)
    for kernel in program.kernels:
        cutter = _Cutter(gpu, names)
        items = cutter.items(kernel.body, frozenset(program.sizes))
        leaves = list(_leaves(items))
        if len(items) == 1 and leaves == items:
            steps.append(_as_step(kernel))
            continue
        temporaries += cutter.flags
        cut = _Cut(kernel, leaves, names)
        made = _as_steps(items, dict(zip(leaves, cut.kernels(), strict=True)))
        swapped = sorted({name for s in _swaps(items) for name in (s.first, s.second)})
        steps += [HostSwaps(tuple(swapped), made)] if swapped else made
        temporaries += cut.temporaries
    return tuple(steps), tuple(temporaries)


def _as_steps(items: Sequence[_Item], kernels: Mapping[_Leaf, Kernel | None]) -> tuple[Step, ...]:
    """The steps of the host for parts of a kernel; a part of which nothing is left has none."""
    steps: list[Step] = []
    for item in items:
        match item:
            case _Leaf():
                kernel = kernels[item]
                steps += [] if kernel is None else [_as_step(kernel)]
            case _Loop():
                steps.append(HostLoop(item.loop, _as_steps(item.items, kernels)))
            case _While():
                test, body = (_as_steps(part, kernels) for part in (item.test, item.items))
                steps.append(HostWhile(item.flag, test, body))
            case _If():
                body, orelse = (_as_steps(part, kernels) for part in (item.items, item.orelse))
                steps.append(HostIf(item.flag, body, orelse))
            case Swap():
                steps.append(item)
    return tuple(steps)


def _as_step(kernel: Kernel) -> Step:
    """A kernel as a launch; a callback is the host's."""
    first = kernel.body[0] if kernel.body else None
    return HostCall(kernel) if isinstance(first, Callback) and not first.fails else kernel


def is_wide(statement: Statement, gpu: Gpu) -> bool:
    """True for what the whole grid is to run: a call, or a loop with independent iterations and
    enough work, or with calls that would be a launch of one block each."""
    if isinstance(statement, Call):
        return not isinstance(statement, Callback)
    if not may_be_spread(statement):
        return False
    calls = [s for s in walk((statement,)) if isinstance(s, Call)]
    are_of_a_block = bool(calls) and all(takes_one_block(call, gpu) for call in calls)
    return are_of_a_block or work(statement) >= gpu.least_grid_work


def may_be_spread(statement: Statement) -> bool:
    """True if the iterations of a loop are independent, and need no pointers that are swapped."""
    return (
        isinstance(statement, For)
        and (statement.parallel or is_independent(statement))
        and not any(isinstance(s, Swap) for s in walk(statement.body))
    )


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Statements of one launch."""

    body: Body


@dataclass(frozen=True, eq=False)
class _Loop:
    """A loop that the host runs."""

    loop: For
    items: tuple[_Item, ...]


@dataclass(frozen=True, eq=False)
class _While:
    """A loop of the host that ends by a truth in memory."""

    flag: str
    test: tuple[_Item, ...]
    items: tuple[_Item, ...]


@dataclass(frozen=True, eq=False)
class _If:
    """A branch of the host by a truth in memory."""

    flag: str
    items: tuple[_Item, ...]
    orelse: tuple[_Item, ...]


_Item = _Leaf | _Loop | _While | _If | Swap


class _Cutter:
    """Cuts bodies; `flags` are the truths that the host reads."""

    def __init__(self, gpu: Gpu, names: Names) -> None:
        self.gpu = gpu
        self.names = names
        self.flags: list[Buffer] = []

    def items(self, body: Body, known: frozenset[Symbol]) -> list[_Item]:
        """The parts of a body; the host knows the values of some symbols.

        Pointers that are exchanged inside a launch are so to its end: what follows belongs to it.
        """
        items: list[_Item] = []
        group: list[Statement] = []

        def close(*behind: Statement) -> None:
            kept = [s for s in group if s not in behind]
            if kept:
                items.append(_Leaf(tuple(kept)))
            group[:] = behind

        for position, statement in enumerate(body):
            if isinstance(statement, Callback) and not statement.fails:
                before, call = with_own_arrays(statement, known, self.names)
                group += before
                close()
                items.append(_Leaf((call,)))
            elif is_wide(statement, self.gpu):
                close(*(s for s in group if _may_follow(s, (*group, statement))))
                items.append(_Leaf((statement,)))
            elif (of_host := self._of_host(statement, known)) is not None:
                group += of_host.before
                close()
                items.append(of_host.item)
            elif isinstance(statement, Swap) and items and not group:
                items.append(statement)
            elif any(isinstance(s, Swap) for s in walk((statement,))):
                group += body[position:]
                break
            else:
                group.append(statement)
                if ends(statement):
                    close()
        close()
        return items

    def _of_host(self, statement: Statement, known: frozenset[Symbol]) -> _OfHost | None:
        """A loop or branch as the host runs it, if it can and has wide nests to launch."""
        made: _OfHost | None = None
        is_called = calls_host(statement)
        match statement:
            case For() if statement.limit is None and _ends_of(statement) <= known:
                items = self.items(statement.body, known | {statement.symbol})
                made = _OfHost((), _Loop(statement, tuple(items)))
            case For() if is_called:
                counter, loop = as_while(statement, self.names)
                made = self._of_host(loop, known)
                assert made is not None
                made = replace(made, before=(counter, *made.before))
            case While() if is_called or self._is_worth_reading(statement):
                flag = self._flag("goes_on")
                test = self.items((*statement.test, Store(flag, (), statement.condition)), known)
                items = self.items(statement.body, known)
                made = _OfHost((), _While(flag, tuple(test), tuple(items)))
            case If() if is_called or self._is_worth_reading(statement):
                flag = self._flag("holds")
                bodies = (tuple(self.items(b, known)) for b in (statement.body, statement.orelse))
                made = _OfHost((Store(flag, (), statement.condition),), _If(flag, *bodies))
            case _:
                pass
        if made is None:
            return None
        leaves = list(_leaves((made.item,)))
        if not is_called and not any(is_wide(leaf.body[0], self.gpu) for leaf in leaves):
            return None
        if any(isinstance(s, Swap) for leaf in leaves for s in walk(leaf.body)):
            if is_called:
                raise UnsupportedError(
                    "a callback in a loop whose carries exchange their memory is not for a GPU yet"
                )
            return None
        return made

    def _is_worth_reading(self, statement: While | If) -> bool:
        """True if the work of an iteration, or of a branch, takes longer than to read a truth."""
        return sum(estimate(work_for_sizes(s, ())) for s in children(statement)) >= (
            self.gpu.least_work_of_host
        )

    def _flag(self, hint: str) -> str:
        self.flags.append(Buffer(self.names.new(hint), (), BOOL))
        return self.flags[-1].name


def _ends_of(loop: For) -> frozenset[Symbol]:
    """The symbols in the bounds of a loop."""
    return symbols_of(loop.start) | symbols_of(loop.stop)


@dataclass(frozen=True)
class _OfHost:
    """What the host runs, behind statements of the device."""

    before: Body
    item: _Item


def _leaves(items: Iterable[_Item]) -> Iterator[_Leaf]:
    for item in items:
        if isinstance(item, _Leaf):
            yield item
        yield from _leaves(_inside(item))


def _swaps(items: Iterable[_Item]) -> Iterator[Swap]:
    for item in items:
        if isinstance(item, Swap):
            yield item
        yield from _swaps(_inside(item))


def _inside(item: _Item) -> tuple[_Item, ...]:
    match item:
        case _Loop(items=items):
            return items
        case _While(test=test, items=items):
            return (*test, *items)
        case _If(items=items, orelse=orelse):
            return (*items, *orelse)
        case _:
            return ()


def _may_follow(statement: Statement, others: Sequence[Statement]) -> bool:
    """True for a scalar that begins as a number, and that none of these reads."""
    return (
        isinstance(statement, Declare)
        and isinstance(statement.value, Literal)
        and not any(statement.name in names_read(other) for other in others)
    )


@dataclass(frozen=True)
class _Scalar:
    """A scalar of a kernel, and the number in memory by which other launches know it."""

    declared: Declare
    place: Buffer


class _Cut:
    """One kernel in several. `temporaries` are the arrays and numbers that outlive a launch."""

    def __init__(self, kernel: Kernel, leaves: Sequence[_Leaf], names: Names) -> None:
        self.kernel = kernel
        self.names = names
        groups = [leaf.body for leaf in leaves]
        used, writes = used_buffers(kernel)
        self.copied = _copied(groups, frozenset(used) - writes)
        self.groups = [_without(group, self.copied) for group in groups]
        declared = [{s.name: s for s in g if isinstance(s, Declare)} for g in self.groups]
        read = [_names_used(group, self.copied) for group in self.groups]
        self.scalars: dict[str, _Scalar] = {}
        for number, own in enumerate(declared):
            elsewhere = set[str]().union(*(r for k, r in enumerate(read) if k != number))
            for name in own.keys() & elsewhere:
                place = Buffer(names.new(f"{name}_kept"), (), own[name].dtype)
                self.scalars[name] = _Scalar(own[name], place)
        self.arrays = self._arrays()
        self.temporaries = [*self.arrays, *(s.place for s in self.scalars.values())]

    def _arrays(self) -> list[Buffer]:
        """The local arrays of the kernel that several launches use."""
        users: dict[str, int] = {}
        for group in self.groups:
            for name in {n for s in walk(group) for n in accessed(s)}:
                users[name] = users.get(name, 0) + 1
        allocated = [s.buffer for g in self.groups for s in g if isinstance(s, Alloc)]
        return [b for b in allocated if users.get(b.name, 0) > 1]

    def kernels(self) -> list[Kernel | None]:
        """The kernel of each group, None of those that become empty."""
        moved = {b.name for b in self.arrays}
        found: list[Kernel | None] = []
        base, number = self.kernel.name.removesuffix("_kernel"), 0
        for group in self.groups:
            body = tuple(s for s in group if not (isinstance(s, Alloc) and s.buffer.name in moved))
            if not body:
                found.append(None)
                continue
            number += 1
            name = self.names.new(f"{base}_{number}")
            found.append(replace(self.kernel, name=name, body=self._with_scalars(body)))
        return found

    def _with_scalars(self, body: Body) -> Body:
        """The statements behind those that read scalars, and before those that keep them."""
        before: list[Statement] = []
        own = {s.name for s in body if isinstance(s, Declare)}
        used = _names_used(body, self.copied)
        updated = {
            s.target.name for s in walk(body) if isinstance(s, Update) and isinstance(s.target, Ref)
        }
        before += [s for name, s in self.copied.items() if name in used]
        for name in sorted(used & self.scalars.keys() - own):
            scalar = self.scalars[name]
            number = Load(scalar.place.name, (), scalar.place.dtype)
            before.append(replace(scalar.declared, value=number, constant=name not in updated))
        after = [
            Store(scalar.place.name, (), Ref(name, scalar.place.dtype))
            for name, scalar in self.scalars.items()
            if name in own | updated
        ]
        return (*before, *body, *after)


def _copied(groups: Iterable[Body], fixed: frozenset[str]) -> dict[str, Declare]:
    """The constants that every launch computes for itself: those before the first nest, of what
    is `fixed` while the kernel runs."""
    copied: dict[str, Declare] = {}
    for statement in next(iter(groups), ()):
        if not (isinstance(statement, Declare) and statement.constant):
            break
        if not fixed.issuperset(load.buffer for load in loads(statement)):
            break
        copied[statement.name] = statement
    return copied


def _without(body: Body, copied: dict[str, Declare]) -> Body:
    return tuple(s for s in body if not (isinstance(s, Declare) and s in copied.values()))


def _names_used(body: Body, copied: dict[str, Declare]) -> set[str]:
    """The scalars of a kernel that statements read or update, and those that these are computed
    from."""
    used = _free_names(body)
    for name in reversed(copied):
        if name in used:
            used |= _free_names((copied[name],))
    return used


def _free_names(body: Body) -> set[str]:
    """The scalars that statements read or update, and do not declare: names are declared anew in
    one nest after another."""
    free: set[str] = set()
    declared: set[str] = set()
    for statement in body:
        own = {part.name for part in parts(statement) if isinstance(part, Ref)}
        own.update(s.name for index in indices(statement) for s in symbols_of(index))
        match statement:
            case For():
                own |= _free_names(statement.body) - {statement.symbol.name}
            case If():
                own |= _free_names(statement.body) | _free_names(statement.orelse)
            case While():
                own -= {s.name for s in statement.test if isinstance(s, Declare)}
                own |= _free_names((*statement.test, *statement.body))
            case Update(target=Ref(name=name)):
                own.add(name)
            case _:
                pass
        free |= own - declared
        if isinstance(statement, Declare):
            declared.add(statement.name)
    return free
