"""Call a program on a GPU by its entry for Python, `int NAME_call(const void *pointers)`.

The array has the addresses of the inputs, the outputs and the workspace, then the stream and the
runtime sizes. A call launches kernels and does not wait for them. What is not on the device is
copied there; numbers, which are often the same, are kept there. A program with callbacks takes
their trampoline and its context, too, and waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, NoReturn

import numpy as np

from transpile.errors import LaunchError
from transpile.ir.graph import Site
from transpile.ir.indices.lengths import refused
from transpile.ir.source_info import user_source
from transpile.pytree.device_arrays import DeviceArray, DeviceKind, kind_of
from transpile.runtime.callbacks import Callbacks
from transpile.runtime.loader import Library
from transpile.runtime.mutated_arguments import aliasing, check_target, donated_positions
from transpile.runtime.program_call import ArrayKind, Rooms, Shaping, as_input
from transpile.targets.cuda.effects.lengths import FIRST_REFUSED
from transpile.targets.cuda.runtime import transfers
from transpile.targets.cuda.runtime.array import ALIGNMENT, Array
from transpile.targets.cuda.runtime.device import CudaDevice
from transpile.targets.cuda.runtime.streams import Block, Free, Stream, size_class
from transpile.trace.call_signature import Signature

Run = Callable[[Sequence[Any]], list[Any]]
# Numbers that a stream keeps on its device.
_MOST_NUMBERS = 256
_NO_MEMORY = -2  # the code of a program without memory for copies of what a callback takes


class DeviceCall:
    """A loaded program and what a call of it needs. Safe to use from several threads at once.

    inputs     (dtype, shape) of each input; `outputs` of each output
    workspace  its size in bytes
    launches   for each launch its kernel, and the lines of Python that it computes
    required   the errors of lengths that depend on values
    shaping    of results with such lengths; the call waits for these
    rooms      the memory for lengths without a bound; `grown` is the call with more, or less, of it
    """

    tiers_up = False
    shaping = None

    def __init__(
        self,
        library: Library,
        name: str,
        device: CudaDevice,
        inputs: Sequence[ArrayKind],
        outputs: Sequence[ArrayKind],
        sizes: Sequence[int],
        launches: Sequence[Sequence[str]],
        required: Sequence[str] = (),
        sites: Sequence[Site] = (),
        shaping: Shaping | None = None,
        rooms: Rooms | None = None,
    ) -> None:
        self.device = device
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.launches = launches
        self.aliases = (-1,) * len(outputs)
        values = Struct(f"{len(sizes)}q").pack(*sizes) if sizes else library.ffi.NULL
        self.workspace = int(library.function(f"{name}_call_workspace")(values))
        self._name = name
        self._function = library.function(f"{name}_call")
        self.callbacks = Callbacks(library.ffi, name, sites) if sites else None
        count = len(inputs) + len(outputs) + (4 if sites else 2)
        self._pack = Struct(f"{count}Q{len(sizes)}q").pack
        self._sizes = tuple(sizes)
        self._required = required
        self._shaping = shaping
        self._results = len(outputs) - (shaping.lengths if shaping else 0)
        self.rooms = rooms
        self.grown: DeviceCall | None = None
        self._current = device.current
        self._prepared = self._prepare(device.default_stream)

    def _prepare(self, stream: Stream) -> tuple[Stream, list[tuple[DeviceKind, Free]], Free | None]:
        """What a call in a stream needs: for each output its kind and the free blocks of its size,
        and those for the workspace."""
        made = []
        for dtype, shape in self.outputs:
            size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            made.append((kind_of(self.device, shape, dtype), stream.blocks(size_class(size))))
        scratch = stream.blocks(size_class(self.workspace)) if self.workspace else None
        return stream, made, scratch

    def run(self, leaves: Sequence[Any]) -> list[Array]:
        """Launch the program on its inputs; the outputs are new arrays, which are complete where
        the stream has got there."""
        grown = self.grown
        if grown is not None and grown.rooms is not None:
            outputs = grown.run(leaves)
            self.grown = grown.grown or grown.rooms.smaller() or grown
            return outputs
        stream = self._current.stream
        pointers: list[int] = []
        kept: list[Array] = []  # copies, until the kernels are in the stream
        for x in leaves:
            if type(x) is not Array or x.ready is not stream:
                x = self._on_device(x, len(pointers), stream)
                kept.append(x)
            pointers.append(x.pointer)
        known, made, free = self._prepared
        if known is not stream:
            known, made, free = self._prepared = self._prepare(stream)
        results: list[Array] = []
        for kind, home in made:
            pointer = home.take()
            pointers.append(pointer)
            results.append(Array(kind, pointer, Block(pointer, home), stream, stream))
        scratch = None if free is None else Block(free.take(), free)
        pointers.append(0 if scratch is None else scratch.pointer)
        pointers.append(stream.handle)
        stream.last = self._name
        running = None
        if self.callbacks is not None:
            running = self.callbacks.begin()
            pointers += (self.callbacks.number, running.address)
        if self.device.is_alone:
            code = self._function(self._pack(*pointers, *self._sizes))
        else:
            with self.device.active():
                code = self._function(self._pack(*pointers, *self._sizes))
        if running is not None:
            running.finish()
        if code <= FIRST_REFUSED:
            return self._run_larger(self._required[FIRST_REFUSED - code], results, leaves)
        if code:
            self._fail(code, stream)
        if stream.held:
            stream.let_go()
        return results if self._shaping is None else self._shaped(results, self._shaping)

    def _run_larger(self, error: str, outputs: list[Array], leaves: Sequence[Any]) -> list[Array]:
        """Run the program with memory for the lengths that this call has found; raise the error
        where it has failed for another reason."""
        larger: DeviceCall | None = None
        if self.rooms is not None:
            larger = self.rooms.larger(error, _numbers(outputs[self._results :]))
        if larger is None:
            raise refused(error, f"{user_source()}: {self._name}: ")
        del outputs[:]
        results = larger.run(leaves)
        self.grown = larger.grown or larger
        return results

    def _shaped(self, outputs: list[Array], shaping: Shaping) -> list[Array]:
        """The results, those whose lengths depend on values as long as they are. One that fills
        less than half of its memory gets other memory."""
        lengths = _numbers(outputs[self._results :])
        if self.rooms is not None:
            self.rooms.note(lengths)
        results = outputs[: self._results]
        for position, shape in shaping.shapes(lengths):
            whole = results[position]
            kind = kind_of(self.device, shape, whole.dtype)
            result = Array(kind, whole.pointer, whole.owner, whole.stream, whole.ready)
            is_small = 2 * size_class(result.nbytes) <= size_class(whole.nbytes)
            results[position] = transfers.copied(result, whole.stream) if is_small else result
        return results

    def _fail(self, code: int, stream: Stream) -> NoReturn:
        """Raise the error of a launch."""
        if code == _NO_MEMORY:
            raise MemoryError(f"{self._name} has no memory for the values of a callback")
        cuda = self.device.cuda
        error = cuda.functions.cudaGetLastError()
        reason = cuda.message(error) if error else "the library that it calls has refused it"
        kernel, lines = self.launches[code - 1]
        where = f"{user_source()}: " if user_source().line else ""
        raise LaunchError(
            f"{where}{self._name}: {kernel} was not launched in {stream!r}: {reason}\n{lines}"
        )

    def _on_device(self, leaf: Any, number: int, stream: Stream) -> Array:
        """An argument as an array that the program can read in a stream."""
        dtype, shape = self.inputs[number]
        if isinstance(leaf, Array):
            if leaf.alive().device is not self.device:
                raise ValueError(
                    f"{user_source()}: {self._name} runs on {self.device}, and its argument "
                    f"{number} is on {leaf.device}: move it there with device_put"
                )
            if leaf.pointer % ALIGNMENT or leaf.stream is not stream:
                return _in_stream(leaf, stream)
            return leaf
        if isinstance(leaf, DeviceArray):
            leaf = np.asarray(leaf)
        values = as_input(leaf, dtype, shape, self._name)
        if shape or isinstance(leaf, np.ndarray):
            return transfers.from_host(values, stream)
        return _number(values, stream)

    def in_place(self, known: Signature, kept: tuple[int, ...]) -> None:
        """None: C makes no calls of programs of a device."""

    def around(
        self, known: Signature, kept: tuple[int, ...], where: str
    ) -> Callable[[Run], Run] | None:
        """The wrapper of the program that makes the leaves of the result of its outputs, and does
        to the arguments what the function does; None where there is nothing to do. Donated arrays
        are deleted: what comes later in the stream has their memory."""
        is_direct = not known.written and known.positions == tuple(range(len(known.positions)))
        donated = donated_positions(known, kept)
        if is_direct and not donated:
            return None
        targets = [kept.index(leaf) if leaf in kept else -1 for leaf in known.written]
        paths = [known.paths[leaf] for leaf in kept]
        ordered = {(kept.index(a), kept.index(b)) for a, b in known.ordered if {a, b} <= {*kept}}

        def around(run: Run) -> Run:
            def execute(leaves: Sequence[Any]) -> list[Any]:
                for position in targets:
                    _check(leaves, position, ordered, paths, where)
                outputs = run(leaves)
                first = len(outputs) - len(targets)
                for number, position in enumerate(targets, first):
                    if position >= 0:
                        outputs[number] = _written(leaves[position], outputs[number])
                for position in donated:
                    if isinstance(leaves[position], Array):
                        leaves[position].delete()
                return [outputs[p] for p in known.positions]

            return execute

        return around


def _numbers(arrays: Sequence[Array]) -> list[int]:
    """The values of numbers on the device, when they are there."""
    return [int(transfers.to_host(x)[()]) for x in arrays]


def _in_stream(array: Array, stream: Stream) -> Array:
    """An array that may be read in a stream, where programs can read it."""
    if array.pointer % ALIGNMENT:
        return transfers.copied(array, stream)
    stream.wait_for(array.stream)
    array.owner.used_in(stream)
    return array


def _number(value: np.ndarray[Any, Any], stream: Stream) -> Array:
    """A number on the device, in memory that nobody writes to."""
    key = value.dtype, value.tobytes()
    known = stream.numbers.get(key)
    if known is None:
        if len(stream.numbers) >= _MOST_NUMBERS:
            stream.numbers.clear()
        known = stream.numbers[key] = transfers.from_host(value, stream)
    return known


def _check(
    leaves: Sequence[Any],
    position: int,
    ordered: set[tuple[int, int]],
    paths: Sequence[str],
    where: str,
) -> None:
    """Raise ValueError for an argument that cannot be assigned to, or whose new values another one
    would have to see."""
    target = leaves[position] if position >= 0 else None
    if isinstance(target, np.ndarray):
        check_target(target, f"argument {paths[position]!r} of {where}")
    if isinstance(target, Array) and target.alive().owner.is_read_only:
        raise ValueError(
            f"assignment destination is read-only: argument {paths[position]!r} of {where}"
        )
    for other, value in enumerate(leaves):
        if (position, other) in ordered and _share(target, value):
            raise ValueError(aliasing(paths[position], paths[other], where))


def _share(x: Any, y: Any) -> bool:
    """True if two arguments share memory."""
    if isinstance(x, Array) and isinstance(y, Array):
        return x.pointer < y.pointer + y.nbytes and y.pointer < x.pointer + x.nbytes
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    return arrays and np.may_share_memory(x, y)


def _written(target: Any, value: Array) -> Any:
    """An argument with its new value in it."""
    if isinstance(target, np.ndarray):
        np.copyto(target, np.asarray(value))
        return target
    if isinstance(target, Array):
        transfers.copy_into(target.pointer, value, value.stream)
        target.stream, target.host = value.stream, None
        target.ready = value.stream if target.pointer % ALIGNMENT == 0 else None
        return target
    return value
