"""What a caller has to know of a function of a C library: its arrays, sizes, results, declaration.

It is what metadata lists, and what the Python module of a library is printed from.
"""

from __future__ import annotations

import re
from typing import Any

from transpile.codegen.line_wrapping import hanging
from transpile.codegen.plan.metadata import interface_version, range_of
from transpile.ir.dims import Index, Shape, Symbol
from transpile.ir.indices.lengths import Length, lengths_in, most_of, room_of, too_little_room
from transpile.ir.indices.row_major import product
from transpile.ir.loop_ir import Buffer, DType
from transpile.runtime.executable import Lowering
from transpile.stages import Lowered
from transpile.util.frozen_records import dataclass

_DECLARATION = re.compile(r"^int \w+\(.*?;$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class ArrayDescription:
    """A parameter of a C function.

    path    the argument that it is, in Python's syntax: `params['w']`; "" for a result
    origin  of the new value of an argument that the function assigns to, the argument's name
    room    of a result whose length depends on values, how many elements it may have; else None
    """

    name: str
    dtype: DType
    shape: Shape
    path: str = ""
    origin: str = ""
    room: Index | None = None

    def as_json(self) -> dict[str, Any]:
        """The fields that say something; extents that are no numbers are texts."""
        further = {"argument": self.path, "new_value_of": self.origin}
        return {
            "name": self.name,
            "dtype": self.dtype.name,
            "shape": [_number_or_text(extent) for extent in self.shape],
            **{key: text for key, text in further.items() if text},
            **({} if self.room is None else {"most_elements": _number_or_text(self.room)}),
        }


@dataclass(frozen=True)
class FunctionDescription:
    """A function of a C library.

    source       the file and the line of the Python function
    declaration  the prototype
    sizes        the runtime sizes, its first parameters
    paths        the leaves of the arguments in Python, also those that the program does not read
    inputs       the next parameters in C; `outputs` follow them
    results      the names of outputs in the structure of the Python function's result
    workspace    the bytes that it needs beside them
    version      of the interface: what NAME_abi_version() says
    lengths      of results, those that depend on values, and the outputs that they are
    rooms        (size, length, error): sizes that say for which length there is memory, and the
                 text of the error of a call where that is too little
    ordered      (argument, argument) that may not share memory: the function assigns to the first
                 one, and then reads or assigns to the second one
    rows         the arguments that have to lie in row-major order, as what shares memory in the
                 function depends on it
    """

    name: str
    source: str
    declaration: str
    sizes: tuple[Symbol, ...]
    paths: tuple[str, ...]
    inputs: tuple[ArrayDescription, ...]
    outputs: tuple[ArrayDescription, ...]
    results: Any
    workspace: Index
    communicates: bool
    version: int
    lengths: tuple[tuple[str, str], ...] = ()
    rooms: tuple[tuple[str, str, str], ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Its entry in the metadata."""
        return {
            "name": self.name,
            "source": self.source,
            "declaration": " ".join(self.declaration.split()),
            "sizes": [_size(size) for size in self.sizes],
            **({"lengths": dict(self.lengths)} if self.lengths else {}),
            "inputs": [array.as_json() for array in self.inputs],
            "outputs": [array.as_json() for array in self.outputs],
            "workspace_bytes": _number_or_text(self.workspace),
            "abi_version": self.version,
        }


def declaration_of(header: str) -> str:
    """The declaration of a function, from the text of its header, without `__restrict`."""
    found = _DECLARATION.search(header)
    return hanging(" ".join(found[0].replace("__restrict ", "").split())) if found else ""


def described(lowered: Lowered, lowering: Lowering, header: str) -> FunctionDescription:
    """The description of a lowered function, of which `lowering` has the name in C and `header` is
    the text of the header."""
    program, signature, source = lowering.program(), lowered._signature, lowering.graph.source
    origins = {output: name for name, output in program.written}

    def array(buffer: Buffer, path: str = "") -> ArrayDescription:
        origin = origins.get(buffer.name, "")
        room = most_of(product(buffer.shape)) if lengths_in([buffer.shape]) else None
        return ArrayDescription(buffer.name, buffer.dtype, buffer.shape, path, origin, room)

    inputs = zip(program.inputs, (signature.paths[k] for k in lowered.kept), strict=True)
    outputs = tuple(map(array, program.returned))
    return FunctionDescription(
        program.name,
        str(source) if source.line else "",
        declaration_of(header),
        program.sizes,
        tuple(signature.paths[leaf] for leaf in signature.traced),
        tuple(array(buffer, path) for buffer, path in inputs),
        outputs,
        lowered.out_tree.unflatten([outputs[p].name for p in signature.positions]),
        program.workspace,
        program.communicates,
        interface_version(program),
        tuple((length.name, name) for length, name in program.returned_lengths),
        tuple(
            (room.name, length.name, too_little_room(length))
            for length, _ in program.returned_lengths
            if isinstance(length, Length) and (room := room_of(length)) is not None
        ),
        tuple(
            (signature.paths[one], signature.paths[other])
            for one, other in signature.ordered
            if {one, other} <= {*lowered.kept}
        ),
        tuple(signature.paths[leaf] for leaf in signature.rows if leaf in lowered.kept),
    )


def _size(size: Symbol) -> dict[str, Any]:
    """The name and the range of a runtime size."""
    known = range_of(size)
    return {
        "name": known.name,
        "least": known.least,
        "most": known.most,
        "multiple_of": known.multiple_of,
    }


def _number_or_text(value: Index) -> int | str:
    return value if isinstance(value, int) else str(value)
