"""Where a program ends with an error: the number of the first one is a word in the memory of the
device, which the host reads when all kernels are through.

An error is found by one block, as whatever ends a program comes in the order of the program. The
block stores the number, and the values of the message, and leaves the rest of its kernel out. So do
the kernels behind, which are in the stream already: they begin with a look at the word. Nothing is
computed that the error should have kept from happening, and the host waits once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from transpile.codegen.callback_messages import code_of
from transpile.intrinsics.callbacks import Callback
from transpile.ir.loop_ir import (
    Apply,
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
from transpile.ir.loop_rewrite import parts, walk, with_bodies
from transpile.ir.types import BOOL
from transpile.symbols.identifiers import Names
from transpile.targets.cuda.device_ir import (
    DeviceKernel,
    EndIf,
    Failure,
    HostCall,
    HostIf,
    HostWhile,
    Step,
    steps_inside,
    with_steps,
)
from transpile.targets.cuda.effects.host_calls import as_while, copy_of
from transpile.util.frozen_records import replace

INT32 = np.dtype("int32")
_LINE = 64  # bytes by which arrays in the workspace are aligned
_Body = tuple[Statement, ...]
# Steps in which the host reads what the device has computed.
_WAITING = HostCall | HostIf | HostWhile
_FIRST = (), (0,)  # subscripts of a first element
_TRUE, _FALSE = Literal(True, BOOL), Literal(False, BOOL)


def ends(statement: Statement) -> bool:
    """True if the program may end with an error inside a statement."""
    return any(isinstance(s, Callback) and s.fails for s in walk((statement,)))


class Failures:
    """Makes ends of a program of its failures.

    word        the number of the first error from 1 on, or 0
    found       the errors, in the order of their numbers
    records     the memory for the values of their messages
    guarded     the kernels that do nothing behind an error
    """

    def __init__(
        self,
        program: Program,
        temporaries: Sequence[Buffer],
        names: Names,
        requirements: Mapping[str, int],
    ) -> None:
        self.program = program
        self._requirements = requirements
        swapped = {n for k in program.kernels for s in walk(k.body) for n in _swapped(s)}
        kept = (*program.inputs, *program.outputs, *temporaries)
        self._kept = {b.name for b in kept} - swapped
        self.names = names
        self.word = Buffer(names.new("failure"), (), INT32)
        self.found: list[Failure] = []
        self.records: list[Buffer] = []
        self.guarded: set[str] = set()

    def whole(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """The steps of the program, which end at the first error."""
        made = self.steps(steps)
        if not self.found:
            return made
        name = self.names.new(f"{self.program.name}_begin")
        store = Store(self.word.name, (), Literal(0, INT32))
        begin = Kernel(name, (store,), comment=("The program has not failed.",))
        return (begin, *made)

    def steps(self, steps: Sequence[Step], *, behind: bool = False) -> tuple[Step, ...]:
        """The steps that end at the first error; `behind` others, which may have found one."""
        made: list[Step] = []
        for step in steps:
            if isinstance(step, Kernel):
                made.append(self._kernel(step, behind))
            else:
                inner = behind or self._ends_inside(step)
                made.append(self._of_host(step, inner))
            behind = behind or self._ends_inside(step)
        return tuple(made)

    def _of_host(self, step: Step, behind: bool) -> Step:
        """A step of the host, which looks at the word where it waits for the device."""
        inner = with_steps(step, lambda steps: self.steps(steps, behind=behind))
        return replace(inner, checks=behind) if isinstance(inner, _WAITING) else inner

    def _ends_inside(self, step: Step) -> bool:
        """True if an error may be found in a step."""
        if isinstance(step, Kernel):
            return step.name in self._requirements or any(map(ends, step.body))
        return any(map(self._ends_inside, steps_inside(step)))

    def guard(self, kernel: DeviceKernel) -> DeviceKernel:
        """A mapped kernel, which does nothing where the program has failed before."""
        if kernel.kernel.name not in self.guarded:
            return kernel
        return replace(kernel, body=(EndIf(self.word.name), *kernel.body))

    def with_word(self, program: Program) -> Program:
        """The program with the word in its workspace, behind all else."""
        if not self.found:
            return program
        return replace(
            program,
            temporaries=(*program.temporaries, self.word),
            offsets=(*program.offsets, program.workspace),
            workspace=program.workspace + _LINE,
        )

    def _kernel(self, kernel: Kernel, behind: bool) -> Kernel:
        if not self._ends_inside(kernel):
            if behind:
                self.guarded.add(kernel.name)
            return kernel
        failed = Ref(self.names.new("failed"), BOOL)
        body = self._body(kernel.body, failed)
        if kernel.name in self._requirements:
            fail = self.fail(self._requirements[kernel.name])
            body = tuple(replace(s, body=(fail,)) if isinstance(s, If) else s for s in body)
        if any(part == failed for s in walk(body) for part in parts(s)):
            body = (Declare(failed.name, _FALSE, constant=False), *body)
        else:
            body = _without(body, failed.name)
        if behind:
            word = Load(self.word.name, (), INT32)
            body = (If(Apply("equal", (word, Literal(0, INT32)), BOOL), body),)
        return replace(kernel, body=body)

    def _body(self, body: _Body, failed: Ref) -> _Body:
        """Statements up to the one that fails, the others if it has not."""
        for number, statement in enumerate(body):
            if ends(statement):
                first = (*body[:number], *self._ended(statement, failed))
                rest = self._body(body[number + 1 :], failed)
                if not rest:
                    return first
                return (*first, If(Apply("logical_not", (failed,), BOOL), rest))
        return body

    def _ended(self, statement: Statement, failed: Ref) -> Iterator[Statement]:
        match statement:
            case Callback():
                yield from self._failure(statement)
                yield Update(failed, "set", _TRUE)
            case If():
                body, orelse = (self._body(b, failed) for b in (statement.body, statement.orelse))
                yield If(statement.condition, body, orelse)
            case For():
                yield from self._loop(statement, failed)
            case While():
                yield from self._repeated(statement, failed)
            case _:
                yield statement

    def _failure(self, call: Callback) -> Iterator[Statement]:
        """What is kept of an error: nothing writes to arrays in memory behind it, but what the
        kernel has for itself is gone, and pointers that are exchanged have changed by then."""
        values: list[str] = []
        for value, kind in zip(call.values, call.site.types, strict=True):
            name = "" if value is None else value.buffer
            if value is not None and (name not in self._kept or value.first.index not in _FIRST):
                record = Buffer(self.names.new(f"{name}_then"), (kind.size,), kind.dtype)
                self.records.append(record)
                yield from copy_of(record, value.first)
                name = record.name
            values.append(name)
        site = self.program.sites.index(call.site)
        yield self.fail(code_of(self.program, call), site, tuple(values))

    def fail(self, code: int, site: int | None = None, values: tuple[str, ...] = ()) -> Store:
        """The statement that says that the program has failed."""
        failure = Failure(code, site, values)
        if failure not in self.found:
            self.found.append(failure)
        number = self.found.index(failure) + 1
        return Store(self.word.name, (), Literal(number, INT32))

    def _loop(self, loop: For, failed: Ref) -> Iterator[Statement]:
        """A loop that an error ends."""
        counter, repeated = as_while(loop, self.names)
        yield counter
        yield from self._repeated(repeated, failed)

    def _repeated(self, loop: While, failed: Ref) -> Iterator[Statement]:
        if not loop.test:
            goes_on = Apply("select", (failed, _FALSE, loop.condition), BOOL)
            yield While(goes_on, self._body(loop.body, failed))
            return
        done = Ref(self.names.new("done"), BOOL)
        yield Declare(done.name, _FALSE, constant=False)
        branch = If(loop.condition, loop.body, (Update(done, "set", _TRUE),))
        stops = Apply("bitwise_or", (failed, done), BOOL)
        yield While(Apply("logical_not", (stops,), BOOL), self._body((*loop.test, branch), failed))


def _swapped(statement: Statement) -> tuple[str, ...]:
    """The arrays whose memory a statement exchanges."""
    return (statement.first, statement.second) if isinstance(statement, Swap) else ()


def _without(body: _Body, name: str) -> _Body:
    """Statements without the updates of a scalar that nothing reads."""
    return tuple(
        with_bodies(s, lambda inner: _without(inner, name))
        for s in body
        if not (isinstance(s, Update) and isinstance(s.target, Ref) and s.target.name == name)
    )
