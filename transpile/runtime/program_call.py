"""The call of a program: one entry, `int NAME_call(void *const *pointers)`, whatever its arguments.

The array holds the addresses of the inputs, of the outputs and of the workspace, in this order; in
a program with callbacks there follow the function that it calls and the context for that. So every
program is called in the same way. That way is written twice: here in Python, for the first calls,
and in `runtime_c/python/call.c` where that can be had. Both take what they need from a
`ProgramCall`.

The entry exists for Python alone (`templates/python_entry.c.j2`). Saved libraries have the function
of their header instead, which says what each pointer is, and which a C compiler checks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from transpile.errors import InternalError
from transpile.ir.graph import Site
from transpile.runtime import memory_pool
from transpile.runtime.callbacks import Calls
from transpile.runtime.loader import Library
from transpile.runtime.memory_overlap import unshared

Array = np.ndarray[Any, Any]
Maker = Callable[[], Array]
ArrayKind = tuple[np.dtype[Any], tuple[int, ...]]

ndarray: Final = np.ndarray
# C-contiguous and aligned, in numpy.ndarray.flags.num.
_IN_PLACE: Final = 0x0001 | 0x0100
_BYTE = np.dtype(np.uint8)


class ProgramCall:
    """What it takes to call a program. Safe to use from several threads at once.

    address    of the entry
    inputs     (dtype, shape) of each input, and `outputs` of each output
    aliases    for each output, the input whose memory it takes where that can be written to, or -1
    workspace  its size in bytes
    makers     for each output and the workspace what makes its array, where that is large; None for
               the others (`transpile.runtime.memory_pool`)
    spare      arrays for a workspace that is not large: a call takes one, if there is one, and
               gives it back; list methods are atomic
    is_brief   whether the program takes a few microseconds, on one thread
    callbacks  what the program calls, or None
    """

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
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.aliases = tuple(aliases)
        self.workspace = workspace
        self.is_brief = is_brief
        self.spare: list[Array] = []
        self.makers = (
            *(memory_pool.maker(shape, dtype) for dtype, shape in outputs),
            memory_pool.maker((workspace,), _BYTE),
        )
        self.callbacks = Calls(library.ffi, name, sites) if sites else None
        self._error = library.function(f"{name}_error")
        self._function = library.function(f"{name}_call")
        self._text = library.ffi.string
        self._null = library.ffi.NULL
        self._from_buffer = library.ffi.from_buffer
        self.address = int(library.ffi.cast("intptr_t", self._function))
        kinds = (*outputs, (_BYTE, (workspace,)))
        new: list[Maker] = [
            partial(_made, maker, dtype, shape) if maker else partial(np.empty, shape, dtype)
            for maker, (dtype, shape) in zip(self.makers, kinds, strict=True)
        ]
        *self._new_outputs, self._new_workspace = new
        self._dtypes = tuple(dtype for dtype, _ in inputs)
        self._donated = tuple(alias for alias in aliases if alias >= 0)
        self._count = len(inputs)
        # Whether `spare` holds its workspaces.
        self._keeps = bool(workspace) and self.makers[-1] is None
        self._name = name

    def run(self, leaves: Sequence[Any]) -> list[Array]:
        """Run the program on its inputs; the outputs are new arrays.

        Arrays in row-major order, aligned and in native byte order are read where they are, others
        are copied first. The GIL is released meanwhile. An output that takes the memory of a
        donated input is that input, or the copy that was made of it; it takes none that is
        read-only, or in which another input lies.
        """
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
            for new in self._lent(inputs) if donated else self._new_outputs:
                x = new()
                outputs.append(x)
                pointers.append(from_buffer(x))
            scratch = self._scratch() if self.workspace else None
            pointers.append(self._null if scratch is None else from_buffer(scratch))
        except MemoryError:  # once more, without what is kept for later arrays
            if not memory_pool.RESERVE.give_back():
                raise
            del pointers[:], inputs[:], outputs[:]
            return self.run(leaves)
        callbacks = self.callbacks
        if callbacks is not None:
            running = callbacks.begin()
            pointers += (callbacks.address, running.context)
        code = self._function(pointers)
        if scratch is not None and self._keeps:
            self.spare.append(scratch)
        if code:
            self.fail(code)
        if callbacks is not None:
            running.finish()
        return outputs

    def _scratch(self) -> Array:
        """A workspace, one that an earlier call has kept or a new one."""
        if self._keeps:
            with contextlib.suppress(IndexError):
                return self.spare.pop()
        return self._new_workspace()

    def _lent(self, inputs: Sequence[Array]) -> list[Maker]:
        """What gives the arrays of the outputs: new ones, and inputs whose memory outputs take."""
        lent = iter(unshared(inputs, self._donated))
        makers = []
        for alias, new in zip(self.aliases, self._new_outputs, strict=True):
            array = next(lent) if alias >= 0 else None
            makers.append(new if array is None else partial(_itself, array))
        return makers

    def converted(self, leaf: Any, position: int) -> Array:
        """The values of an argument in an array that the program can read."""
        dtype, shape = self.inputs[position]
        array = np.asarray(np.require(leaf, dtype, ["C", "ALIGNED"]))
        if array.shape != shape:
            raise InternalError(f"the program takes an array of shape {shape}, not {array.shape}")
        return array

    def fail(self, code: int) -> NoReturn:
        """Raise the error for a code that the program has returned."""
        message = self._text(self._error(code)).decode()
        raise InternalError(f"{self._name} failed with code {code}: {message}")


def _made(maker: Maker, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """A maker's array, checked as in `runtime_c/python/call_program.h`: programs write to it."""
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
