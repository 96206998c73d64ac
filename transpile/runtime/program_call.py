"""Call a program by its entry for Python, `int NAME_call(void *const *pointers)`.

All programs have this signature. The array has the addresses of the inputs, the outputs and the
workspace, in this order, then in a program with callbacks those of the trampoline and its context,
and in one with runtime sizes that of an array of them.
The call is implemented twice: here in Python, for first calls, and in `runtime_c/python/call.c`.
Both read a `ProgramCall`.

Only programs built for Python have the entry (`templates/python_entry.c.j2`). Saved libraries have
the function of their header, with a typed parameter for each pointer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, evaluate
from transpile.ir.graph import Atom, Graph, Site
from transpile.ir.graph_rewrite import returned_lengths, rooms_of
from transpile.ir.indices.lengths import (
    LIST_IS_LONGER,
    Length,
    lengths_in,
    most_of,
    refused,
    too_little_room,
)
from transpile.ir.indices.size_solver import evaluated
from transpile.ir.source_info import shown, user_source
from transpile.runtime.callbacks import Callbacks
from transpile.runtime.library_threads import limited
from transpile.runtime.loader import Library
from transpile.runtime.memory import pool
from transpile.runtime.memory.overlap import unshared
from transpile.runtime.mutated_arguments import Run, around_program, outputs_in_place
from transpile.trace.call_signature import Signature
from transpile.util.frozen_records import dataclass

Array = np.ndarray[Any, Any]
Maker = Callable[[], Array]
ArrayKind = tuple[np.dtype[Any], tuple[int, ...]]

ndarray: Final = np.ndarray
EXCHANGE_FAILED: Final = -2  # the code of a program that an exchange with other devices has ended
# C-contiguous and aligned, in numpy.ndarray.flags.num.
_IN_PLACE: Final = 0x0001 | 0x0100
_BYTE = np.dtype(np.uint8)


@dataclass(frozen=True)
class Shaping:
    """The shapes of results whose lengths depend on values: from the values of these lengths, which
    are the last outputs of the program, pairs of the position of a result and its shape.

    rows      of results with such a length along their first axis, by their positions, which of
              these values it is, and their further axes; None where other results have such lengths
    """

    lengths: int
    shapes: Callable[[Sequence[int]], Sequence[tuple[int, tuple[int, ...]]]]
    rows: dict[int, tuple[int, tuple[int, ...]]] | None = None


def check_sizes(given: Collection[str], wanted: Collection[str]) -> None:
    """Raise TypeError for runtime sizes of a memory analysis that are not the program's."""
    if set(given) != set(wanted):
        known, found = (", ".join(names) or "(none)" for names in (wanted, given))
        raise TypeError(f"memory_analysis takes the runtime sizes {known}, not {found}")


def bytes_of(arrays: Iterable[ArrayKind]) -> int:
    """The bytes of arrays of these dtypes and shapes."""
    return sum(int(np.prod(s, dtype=np.int64)) * d.itemsize for d, s in arrays)


def output_kind(atom: Atom, sizes: dict[str, int]) -> ArrayKind:
    """The array into which the program writes a result: of one whose length depends on values, as
    many elements as there may be."""
    kind, shape = atom.type.dtype, atom.type.shape
    if not lengths_in([shape]):
        # Of sizes that the program refuses, an extent may be less than 0.
        return kind, tuple(max(extent, 0) for extent in evaluated(shape, sizes))
    return kind, (evaluate(most_of(atom.type.size), sizes),)


def shaping(graph: Graph, lengths: Sequence[Length], sizes: dict[str, int]) -> Shaping:
    """The function from the values of lengths to the shapes of those results that have them."""
    shapes = [(p, a.type.shape) for p, a in enumerate(graph.outputs) if lengths_in([a.type.shape])]

    def shapes_for(values: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
        if are_rows:
            return [(position, (values[number], *row)) for position, (number, row) in rows.items()]
        known = {**sizes, **{s.name: v for s, v in zip(lengths, values, strict=True)}}
        return [(position, evaluated(shape, known)) for position, shape in shapes]

    first: dict[Index, int] = {Dim.of(s): number for number, s in enumerate(lengths)}
    are_rows = all(shape[0] in first and not lengths_in([shape[1:]]) for _, shape in shapes)
    rows = {p: (first[s[0]], evaluated(s[1:], sizes)) for p, s in shapes} if are_rows else {}
    return Shaping(len(lengths), shapes_for, rows if are_rows else None)


# After so many calls that filled less than a part of the room it is made as large as they needed,
# where it is more elements than that is worth.
_CALLS, _PART, _WORTH = 16, 4, 4096
# The room for a list, where there was none.
_FIRST = 64


@dataclass(frozen=True)
class Room:
    """The memory for a length without a bound: its size, by name and value, the position of the
    length among those that a call gives, and the error where it is too little."""

    name: str
    size: int
    position: int
    error: str


class Rooms:
    """The memory for lengths without a bound, and how much of it calls have used.

    calling   the call with other sizes of memory, by name
    """

    def __init__(self, rooms: Sequence[Room], calling: Callable[[dict[str, int]], Any]) -> None:
        self.rooms = rooms
        self._calling = calling
        self._calls = 0
        self._longest: list[int] = []

    def larger(self, error: str, lengths: Sequence[int]) -> Any:
        """The call with memory for these lengths, where there was too little; None for another
        error."""
        missing = [room for room in self.rooms if room.error == error]
        if error != LIST_IS_LONGER:
            return self._fitting(missing, lengths) if missing else None
        # Nobody knows how long the list would have become.
        full = [room for room in self.rooms if lengths[room.position] == room.size]
        return self._calling({room.name: max(2 * room.size, _FIRST) for room in full})

    def note(self, lengths: Sequence[int]) -> None:
        """Count a call that has found these lengths."""
        self._calls += 1
        self._longest = [*map(max, lengths, self._longest or lengths)]

    def smaller(self) -> Any:
        """The call with less memory, where the last ones needed little of it."""
        if self._calls < _CALLS:
            return None
        longest, self._calls, self._longest = self._longest, 0, []
        if all(r.size <= max(_WORTH, _PART * longest[r.position]) for r in self.rooms):
            return None
        call = self._fitting(self.rooms, longest)
        call.grown = None
        return call

    def _fitting(self, rooms: Sequence[Room], lengths: Sequence[int]) -> Any:
        """With an eighth more: the next call may need a little more."""
        needed = {room.name: lengths[room.position] for room in rooms}
        return self._calling({name: n + n // 8 for name, n in needed.items()})


def rooms_of_call(
    graph: Graph, sizes: dict[str, int], calling: Callable[[dict[str, int]], Any]
) -> Rooms:
    """The memory of a call for the lengths without a bound; `calling` gives the call for sizes."""
    lengths = returned_lengths(graph)
    rooms = [
        Room(room.name, sizes[room.name], lengths.index(length), too_little_room(length))
        for length, room in rooms_of(graph).items()
    ]
    return Rooms(rooms, lambda others: calling({**sizes, **others}))


class ProgramCall:
    """A loaded program and what a call of it needs. Safe to use from several threads at once.

    address    of the entry
    inputs     (dtype, shape) of each input; `outputs` of each output
    aliases    for each output the donated input whose memory it takes if that is writable, or -1
    workspace  its size in bytes; `room` is that of the arrays that serve as one
    makers     for each output the constructor of its array, if that is large enough for the memory
               pool; else None. Then that of the workspace
    spare      free arrays for a workspace, shared by programs of like sizes. A call takes one and
               returns it; list methods are atomic. None where none is kept
    tiers_up   True: it may be called from C
    communicates  True if a call is given a communicator, which only `run_into` does
    is_brief   True if the program takes a few microseconds, on one thread
    callbacks  the program's, or None
    sizes      the runtime sizes with which it is called, or None
    shaping    of results whose lengths depend on values; None where there are none
    rooms      the memory for lengths without a bound; None where they have one. Such calls are
               made in Python only
    grown      the call with more memory, which is made in its place
    is_limited True if a call lowers the number of threads of a library first (`limit_threads`),
               which only calls in Python do
    """

    tiers_up = True

    def __init__(
        self,
        library: Library,
        name: str,
        inputs: Sequence[ArrayKind],
        outputs: Sequence[ArrayKind],
        aliases: Sequence[int],
        workspace: int,
        is_brief: bool,
        sites: Sequence[Site],
        communicates: bool = False,
        sizes: Sequence[int] = (),
        shaping: Shaping | None = None,
        rooms: Rooms | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.aliases = tuple(aliases)
        self.workspace = workspace
        self.is_brief = is_brief
        self.is_limited = False
        self.communicates = communicates
        self.room = pool.workspace_room(workspace)
        self.makers = (
            *(None if shaping else pool.maker(shape, dtype) for dtype, shape in outputs),
            pool.workspace_maker(self.room),
        )
        self.spare = pool.MEMORY_POOL.spare(workspace)
        self.callbacks = Callbacks(library.ffi, name, sites) if sites else None
        self.shaping = shaping
        self.rooms = rooms
        self.grown: ProgramCall | None = None
        self._results = len(outputs) - (shaping.lengths if shaping else 0)
        self.sizes = np.array(sizes, np.int64) if sizes else None
        self._sizes = () if self.sizes is None else (library.ffi.from_buffer(self.sizes),)
        self._error = library.function(f"{name}_error")
        self._function = library.function(f"{name}_call")
        self._text = library.ffi.string
        self._null = library.ffi.NULL
        self._pointer = partial(library.ffi.cast, library.ffi.typeof(library.ffi.NULL))
        self._from_buffer = library.ffi.from_buffer
        self.address = int(library.ffi.cast("intptr_t", self._function))
        kinds = (*outputs, (_BYTE, (self.room,)))
        new: list[Maker] = [
            partial(np.empty, shape, dtype)
            if maker is None
            else partial(_made, maker, dtype, shape)
            for maker, (dtype, shape) in zip(self.makers, kinds, strict=True)
        ]
        *self._new_outputs, self._new_workspace = new
        self._dtypes = tuple(dtype for dtype, _ in inputs)
        self._donated = tuple(alias for alias in aliases if alias >= 0)
        self._count = len(inputs)
        self._name = name

    def around(
        self, known: Signature, kept: tuple[int, ...], where: str
    ) -> Callable[[Run], Run] | None:
        """The wrapper of the program of a function, see `around_program`."""
        return around_program(known, kept, where)

    def in_place(self, known: Signature, kept: tuple[int, ...]) -> tuple[int, ...] | None:
        """The outputs that are the leaves of the result where C may make the call of a function
        that assigns to its arguments, see `outputs_in_place`; None where Python has to."""
        has_lengths = self.axes_of_lengths is not None
        return None if has_lengths else outputs_in_place(known, kept, self.aliases)

    def run(self, leaves: Sequence[Any]) -> list[Array]:
        """Run the program on its inputs, without the GIL; the outputs are new arrays.

        Inputs that are not C-contiguous, aligned and in native byte order are copied first. An
        output that takes the memory of a donated input is that array, or the copy that was made of
        it. It takes no memory that is read-only or aliases another input.
        """
        if self.communicates:
            raise TypeError(
                f"{user_source()}: {self._name} runs on several devices: call what `pmap` gave"
            )
        grown = self.grown
        if grown is not None and grown.rooms is not None:
            results = grown.run(leaves)
            self.grown = grown.grown or grown.rooms.smaller() or grown
            return results
        if len(leaves) != self._count:
            raise InternalError(f"{self._name} takes {self._count} arrays, not {len(leaves)}")
        from_buffer, dtypes, donated = self._from_buffer, self._dtypes, self._donated
        pointers: list[Any] = []  # they hold their arrays
        inputs: list[Array] = []
        outputs: list[Array] = []
        number = 0  # `zip` and `enumerate` take longer than all else in these loops
        try:
            for x in leaves:
                if (
                    type(x) is not ndarray
                    or x.dtype is not dtypes[number]
                    or x.flags.num & _IN_PLACE != _IN_PLACE
                ):
                    x = self.converted(x, number)
                pointers.append(from_buffer(x))
                if donated:
                    inputs.append(x)
                number += 1
            for new in self._output_makers(inputs) if donated else self._new_outputs:
                x = new()
                outputs.append(x)
                pointers.append(from_buffer(x))
            scratch = self._scratch() if self.workspace else None
            pointers.append(self._null if scratch is None else from_buffer(scratch))
        except MemoryError:  # once more, without the free blocks of the memory pool
            if not pool.MEMORY_POOL.release_all():
                raise
            del pointers[:], inputs[:], outputs[:]
            return self.run(leaves)
        callbacks = self.callbacks
        if callbacks is not None:
            running = callbacks.begin()
            pointers += (callbacks.address, running.context)
        pointers += self._sizes
        code = self._function(pointers)
        if scratch is not None and self.spare is not None:
            self.spare.append(scratch)
        if callbacks is not None:
            running.finish()
        if code:
            return self._run_larger(code, outputs, leaves)
        return self.shaped(outputs)

    def _run_larger(self, code: int, outputs: list[Array], leaves: Sequence[Any]) -> list[Array]:
        """Run the program with memory for the lengths that this call has found, as later calls do
        from then on; raise its error where it has failed for another reason."""
        larger = self._larger(code, [int(x) for x in outputs[self._results :]])
        del outputs[:]
        results = larger.run(leaves)
        self.grown = larger.grown or larger
        return results

    def _larger(self, code: int, lengths: Sequence[int]) -> ProgramCall:
        """The call with memory for the lengths that one with this code has found; raises the error
        of the code where another reason is behind it."""
        larger: ProgramCall | None = None
        if self.rooms is not None:
            larger = self.rooms.larger(self._text(self._error(code)).decode(), lengths)
        if larger is None:
            self.fail(code)
        return larger

    def resized(self, code: int, lengths: Sequence[int]) -> ProgramCall | None:
        """After a call with this code that has found these lengths, the call with other memory for
        them that later ones are to use: with more after an error, and otherwise with less, where
        some needed little."""
        if code or self.rooms is None:
            return self._larger(code, lengths)
        self.rooms.note(lengths)
        smaller: ProgramCall | None = self.rooms.smaller()
        return smaller

    @property
    def axes_of_lengths(self) -> tuple[tuple[int, ...], ...] | None:
        """For each result whose first axis has a length that depends on values, the output that is
        it, and the further axes; () for others. None where there are no lengths, or other axes have
        them."""
        if self.shaping is None or self.shaping.rows is None:
            return None
        rows, first = self.shaping.rows, self._results
        numbers = {n: (first + number, *row) for n, (number, row) in rows.items()}
        return tuple(numbers.get(n, ()) for n in range(first))

    @property
    def is_shaped_in_python(self) -> bool:
        """True if results have lengths that depend on values, and the C call path does not give
        them these."""
        return self.shaping is not None and self.shaping.rows is None

    def shaped(self, outputs: list[Array]) -> list[Array]:
        """The results, those whose lengths depend on values as long as they are: what is left of
        the memory in which the program wrote them is given back."""
        if self.shaping is None:
            return outputs
        results = outputs[: self._results]
        lengths = [int(x) for x in outputs[self._results :]]
        if self.rooms is not None:
            self.rooms.note(lengths)
        for position, shape in self.shaping.shapes(lengths):
            results[position].resize(shape, refcheck=False)
        return results

    def run_into(self, leaves: Sequence[Any], outputs: Sequence[Array], communicator: int) -> int:
        """Run the program of a device on its inputs, without the GIL; the results are written to
        `outputs`, arrays of their types in row-major order. Gives the program's code.

        communicator   its address, for a program that exchanges values with other devices
        """
        inputs = [self.converted(x, number) for number, x in enumerate(leaves)]
        pointers = [self._from_buffer(x) for x in (*inputs, *outputs)]
        scratch = self._scratch() if self.workspace else None
        pointers.append(self._null if scratch is None else self._from_buffer(scratch))
        running = None if self.callbacks is None else self.callbacks.begin()
        if self.callbacks is not None and running is not None:
            pointers += (self.callbacks.address, running.context)
        if self.communicates:
            pointers.append(self._pointer(communicator))
        pointers += self._sizes
        code = int(self._function(pointers))
        if scratch is not None and self.spare is not None:
            self.spare.append(scratch)
        if running is not None:
            running.finish()
        return code

    def limit_threads(self, libraries: Sequence[str], threads: int) -> None:
        """Have the libraries that the program calls run on at most so many threads in each call."""
        entry = limited(self._function, libraries, threads)
        if entry is not None:
            self._function, self.is_limited = entry, True

    def _scratch(self) -> Array:
        """A workspace: one of `spare`, or a new one."""
        if self.spare is not None:
            with contextlib.suppress(IndexError):
                return self.spare.pop()
        return self._new_workspace()

    def _output_makers(self, inputs: Sequence[Array]) -> list[Maker]:
        """For each output a function that returns its array: a donated input, or a new one."""
        donated = iter(unshared(inputs, self._donated))
        makers = []
        for alias, new in zip(self.aliases, self._new_outputs, strict=True):
            array = next(donated) if alias >= 0 else None
            makers.append(new if array is None else partial(_itself, array))
        return makers

    def converted(self, leaf: Any, position: int) -> Array:
        """An argument as an array of the dtype, order and alignment that the program reads."""
        return as_input(leaf, *self.inputs[position], self._name)

    def fail(self, code: int) -> NoReturn:
        """Raise an error with the program's text for a code: ValueError for a runtime size that it
        refuses, IndexError where it is too short for an index."""
        message = self._text(self._error(code)).decode()
        if code < EXCHANGE_FAILED:
            raise refused(message, f"{user_source()}: {self._name}: ")
        raise InternalError(f"{self._name} failed with code {code}: {message}")


def as_input(leaf: Any, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Array:
    """An argument of the program `name` as an array in row-major order, aligned, of a dtype.

    Raises OverflowError for a Python int that does not fit.
    """
    try:
        array = np.asarray(np.require(leaf, dtype, ["C", "ALIGNED"]))
    except OverflowError:
        raise OverflowError(
            f"{user_source()}: {shown(leaf)} does not fit {dtype}, as which {name} takes "
            "this Python int; pass a float, or an array of a dtype that holds it"
        ) from None
    if array.shape != shape:
        raise InternalError(f"the program takes an array of shape {shape}, not {array.shape}")
    return array


def _made(maker: Maker, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """A maker's array, checked as in `runtime_c/python/call_compute.h`: programs write to it."""
    array = maker()
    if (
        type(array) is not ndarray
        or not array.flags.carray
        or array.dtype != dtype
        or array.shape != shape
    ):
        raise TypeError(
            "the maker of an array makes something else than a writable array in row-major order, "
            "aligned, of its dtype and shape"
        )
    return array


def _itself(array: Array) -> Array:
    return array
