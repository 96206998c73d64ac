"""The graph IR: a typed, first-order, purely functional program of primitives in SSA form.

    Graph    = inputs: Var*, equations: Equation*, outputs: (Var | Const)*
    Equation = primitive, inputs: (Var | Const)*, params, outputs: Var*, source
    Var      = type            Const = type, value

Every Var is defined once, before its use. Broadcasting and conversion are equations of their own:
the operands of an elementwise primitive have equal dtypes and one shape, except for scalar Consts,
which are broadcast. Regions (branches, loop bodies) are graphs in `params`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.errors import InternalError
from transpile.ir.dims import Symbol
from transpile.ir.indices.size_solver import sizes_of
from transpile.ir.number_text import number_text
from transpile.ir.types import SHORT_NAMES, ArrayType, kind_letter
from transpile.util.escapes import one_line
from transpile.util.frozen_records import cached_property, changed, dataclass, same
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:  # a Primitive's rules speak of types and graphs; here only its name matters
    from transpile.ir.primitive import Primitive
notebook: Any = Later("transpile.explore.notebook")


@dataclass(frozen=True)
class Source:
    """Where in the user's code an equation comes from; `scope` are the names of `named_scope`."""

    file: str
    line: int
    function: str
    text: str = ""
    scope: str = ""

    @property
    def file_name(self) -> str:
        """The file without its directories: a program says no more."""
        return os.path.basename(self.file)

    def __str__(self) -> str:
        location = f"{one_line(self.file_name)}:{self.line}"
        return f"{location} ({self.scope})" if self.scope else location


UNKNOWN_SOURCE = Source("<unknown>", 0, "")


class Var:
    """A value of the graph. Compared by identity; `name` is a hint for people, from their code."""

    __slots__ = ("name", "type")

    def __init__(self, type: ArrayType, name: str = "") -> None:
        self.type = type
        self.name = name

    def __repr__(self) -> str:
        return f"Var({self.name or '_'}:{self.type})"


class Const:
    """A value known while tracing: a scalar, or an array that the function closes over.

    The array is copied and made read-only, so that changing the original afterwards cannot change
    the program behind its key. Two constants are equal when type and bytes are.
    """

    __slots__ = ("_digest", "_hash", "name", "type", "value")

    def __init__(self, value: Any, weak: bool = False, name: str = "") -> None:
        array = np.array(value, order="C", copy=True)
        array.flags.writeable = False
        self.value = array
        self.type = ArrayType(array.shape, array.dtype, weak)
        self.name = name
        self._digest: str | None = None
        self._hash: int | None = None

    @property
    def is_scalar(self) -> bool:
        """True if the constant has no axes."""
        return self.value.ndim == 0

    @property
    def digest(self) -> str:
        """A hash of the bytes."""
        if self._digest is None:
            self._digest = blake2b(self.value.tobytes(), digest_size=16).hexdigest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Const)
            and self.type.strong == other.type.strong
            and self.digest == other.digest
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.type.strong, self.digest))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the hash, which differs from process to process.
        return Const, (self.value, self.type.weak, self.name)

    def __str__(self) -> str:
        if self.is_scalar:
            return f"{scalar_text(self)}:{self.type}"
        return f"const<{self.digest[:8]}>:{self.type}"

    __repr__ = __str__


Atom = Var | Const

# The inputs whose memory results may take: by position, with that of the only output that may,
# where the input is assigned to.
Donated = tuple[int | tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Equation:
    """The application of a primitive to atoms; its outputs are new Vars."""

    primitive: Primitive
    inputs: tuple[Atom, ...]
    params: Mapping[str, Any]
    outputs: tuple[Var, ...]
    source: Source = UNKNOWN_SOURCE

    @property
    def output(self) -> Var:
        """The output of an equation that has one."""
        (output,) = self.outputs
        return output

    def check(self) -> None:
        """Raise InternalError unless its outputs have the types that its primitive infers."""
        assert self._is_typed  # cached: passes keep most equations, and each is followed by a check

    @cached_property
    def _is_typed(self) -> bool:
        types = self.primitive.result_types([a.type for a in self.inputs], self.params)
        if self.primitive.kind == "elementwise":
            self._check_operands()
        if tuple(t.strong for t in types) != tuple(v.type.strong for v in self.outputs):
            raise InternalError(
                f"{self.primitive.name} gives {', '.join(map(str, types))}, but its "
                f"outputs are declared {', '.join(str(v.type) for v in self.outputs)}"
            )
        return True

    def _check_operands(self) -> None:
        """Raise InternalError for more or fewer operands than C has, or of another kind."""
        primitive, inputs = self.primitive, self.inputs
        if len(inputs) != primitive.arity:
            raise InternalError(
                f"{self.source}: {primitive.name} is given {len(inputs)} of the "
                f"{primitive.arity} operands in its C: {', '.join(primitive.c.values())}"
            )
        if kind_letter(inputs[0].type.dtype) not in primitive.dtypes:
            raise InternalError(
                f"{self.source}: {primitive.name} takes dtypes of the kinds {primitive.dtypes!r}, "
                f"not {inputs[0].type}"
            )

    def key(self) -> tuple[Any, ...]:
        """The key of value numbering: primitive, inputs, params."""
        return (self.primitive.name, self.inputs, _params_key(self))


@dataclass(frozen=True, eq=False)
class Graph:
    """A function of arrays: inputs, equations in order, outputs."""

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    name: str = "f"
    output_names: tuple[str, ...] = field(default=())
    source: Source = UNKNOWN_SOURCE
    devices: int = 0  # on how many at once it runs, where they exchange values

    def __str__(self) -> str:
        return to_text(self)

    def _repr_svg_(self) -> str | None:  # for notebooks
        return notebook.drawing(self) or None

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The runtime sizes: the symbols in the shapes of inputs, in order."""
        return sizes_of(v.type.shape for v in self.inputs)

    def constants(self) -> list[Const]:
        """The array constants, each once, in order of use."""
        constants: dict[Const, None] = {}
        for atom in self._atoms():
            if isinstance(atom, Const) and not atom.is_scalar:
                constants.setdefault(atom)
        return list(constants)

    def with_parts(self, equations: Sequence[Equation], outputs: Sequence[Atom]) -> Graph:
        """The graph with other equations and outputs; itself if they are the same objects."""
        equations, outputs = tuple(equations), tuple(outputs)
        return changed(
            self,
            equations=same(self.equations, equations),
            outputs=same(self.outputs, outputs),
        )

    @cached_property
    def primitives(self) -> frozenset[Primitive]:
        """The primitives of its equations, without those of its regions."""
        return frozenset(equation.primitive for equation in self.equations)

    def subgraphs(self) -> Iterator[Graph]:
        """The regions: graphs in the params of the equations, branches and loop bodies."""
        for equation in self.equations:
            yield from graphs_in(equation)

    @cached_property
    def has_effects(self) -> bool:
        """True if it has effects: callbacks that are not pure, prints, checks."""
        return any(map(has_effect, self.equations))

    @cached_property
    def axis_names(self) -> frozenset[Hashable]:
        """The names of axes over which its collectives are, and those in its regions."""
        return frozenset(name for e in self.equations for name in axis_names(e))

    @cached_property
    def has_callbacks(self) -> bool:
        """True if it calls Python, pure functions included."""
        return any(map(calls_python, self.equations))

    @cached_property
    def communicates(self) -> bool:
        """True if it, or one of its regions, exchanges values with other devices."""
        own = any(primitive.kind == "communicate" for primitive in self.primitives)
        return own or any(graph.communicates for graph in self.subgraphs())

    def sites(self) -> list[Site]:
        """The call sites of its callbacks and of those in its regions, in order, with repeats."""
        sites: list[Site] = []
        for equation in self.equations if self.has_callbacks else ():
            if equation.primitive.kind == "callback":
                sites.append(site_of(equation))
            for graph in graphs_in(equation):
                sites += graph.sites()
        return sites

    def _atoms(self) -> Iterator[Atom]:
        for equation in self.equations:
            yield from equation.inputs
        yield from self.outputs

    def uses(self) -> dict[Var, int]:
        """The number of uses of each Var, outputs included."""
        counts: dict[Var, int] = {}
        for atom in self._atoms():
            if isinstance(atom, Var):
                counts[atom] = counts.get(atom, 0) + 1
        return counts

    def key(self) -> tuple[Any, ...]:
        """A key of the computation: equal for graphs that are equal up to names and sources."""
        numbers: dict[Atom, int] = {v: i for i, v in enumerate(self.inputs)}
        lines = []
        for equation in self.equations:
            inputs = tuple(numbers.get(a, a) for a in equation.inputs)
            lines.append((equation.primitive.name, inputs, _params_key(equation)))
            for var in equation.outputs:
                numbers[var] = len(numbers)
        types = tuple(v.type for v in self.inputs)
        return (types, tuple(lines), tuple(numbers.get(a, a) for a in self.outputs))

    def fingerprint(self, *, paths: bool = False) -> str:
        """All that the generated program depends on, as text: graphs with equal ones share a
        build. `paths`: a program for a debugger depends on the directories of files, too."""
        place = attrgetter("file" if paths else "file_name")
        # By `repr`: names of users and files may contain any separator.
        names = [v.name for v in self.inputs], self.output_names, self.devices
        consts = [f"{c.type}{c.digest}" for c in self.constants()]
        sources = [
            (place(s), s.line, s.scope, s.text, [v.name for v in e.outputs])
            for e in self.equations
            for s in (e.source,)
        ]
        return "\n".join(
            (
                repr((self.name, place(self.source), self.source.line, *names, consts, sources)),
                repr((_callbacks_text(self), *map(_range_text, self.sizes))),
                to_text(self),
                *(graph.fingerprint(paths=paths) for graph in self.subgraphs()),
            )
        )

    def check(self) -> None:
        """Verify SSA form and types; raise InternalError."""
        defined: set[Atom] = set(self.inputs)
        if len(defined) != len(self.inputs):
            raise InternalError(f"an input of {self.name} is listed twice")
        for equation in self.equations:
            for atom in equation.inputs:
                if type(atom) is Var and atom not in defined:
                    raise InternalError(
                        f"{equation.primitive.name} reads an undefined value:\n{self}"
                    )
            equation.check()
            for output in equation.outputs:
                if output in defined:
                    raise InternalError(f"{equation.primitive.name} defines a value twice")
                defined.add(output)
        for atom in self.outputs:
            if isinstance(atom, Var) and atom not in defined:
                raise InternalError(f"an output of {self.name} is never defined")


def _range_text(size: Symbol) -> str:
    facts = "".join(f", 0 <= {fact}" for fact in size.facts)
    return f"{size.lower} <= {size} // {size.unit} < {size.extent}{facts}"


def graphs_in(equation: Equation) -> Iterator[Graph]:
    """The regions of an equation: the graphs in its params."""
    if equation.primitive.has_graphs:
        for value in equation.params.values():
            yield from _graphs_in(value)


def _graphs_in(value: Any) -> Iterator[Graph]:
    """The graphs of a param: a graph, or those of a tuple."""
    if isinstance(value, Graph):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _graphs_in(item)


def _params_key(equation: Equation) -> tuple[Any, ...]:
    params = sorted(equation.params.items())
    if not equation.primitive.has_graphs:
        return tuple(params)
    return tuple((name, _param_key(value)) for name, value in params)


def _param_key(value: Any) -> Any:
    if isinstance(value, Graph):
        return value.key()
    return tuple(map(_param_key, value)) if isinstance(value, tuple) else value


def has_effect(equation: Equation) -> bool:
    """True if an equation, or one in its regions, has an effect."""
    if equation.primitive.effect:
        return True
    return any(graph.has_effects for graph in graphs_in(equation))


def collective_axes(graph: Graph) -> list[Any]:
    """The axes that collectives are over, here and in regions, each once, in their order."""
    found: dict[Any, None] = {}
    for equation in graph.equations:
        if equation.primitive.kind == "collective":
            found.update(dict.fromkeys(equation.params["axes"]))
        for inner in graphs_in(equation):
            found.update(dict.fromkeys(collective_axes(inner)))
    return list(found)


def axis_names(equation: Equation) -> frozenset[Hashable]:
    """The names of axes over which an equation, or one in its regions, is a collective."""
    if equation.primitive.kind == "collective":
        return frozenset(axis.name for axis in equation.params["axes"])
    return frozenset(name for graph in graphs_in(equation) for name in graph.axis_names)


def calls_python(equation: Equation) -> bool:
    """True if an equation, or one in its regions, is a callback."""
    if equation.primitive.kind == "callback":
        return True
    return any(graph.has_callbacks for graph in graphs_in(equation))


@dataclass(frozen=True)
class Site:
    """A callback, the types of the arrays that it is called with, and those of its results."""

    callback: Any
    types: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...] = ()


def site_of(equation: Equation) -> Site:
    """The callback of an equation and the types of its operands and results."""
    return Site(
        equation.params["callback"],
        tuple(a.type.strong for a in equation.inputs),
        tuple(v.type.strong for v in equation.outputs),
    )


def _callbacks_text(graph: Graph) -> str:
    """The callbacks in order, equal ones by one number, with their messages."""
    sites = graph.sites()
    numbers = {site: k for k, site in enumerate(dict.fromkeys(sites))}
    return f"{[numbers[s] for s in sites]} {[s.callback for s in numbers]}" if sites else ""


# ---------------------------------------------------------------------------------------- text


def letters(number: int) -> str:
    """The number-th name in a, b, ..., z, aa, ab, ..."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("a") + digit) + name
    return name


def to_text(graph: Graph, indent: str = "") -> str:
    """The JAX-like text of a graph, one equation a line."""
    names: dict[Atom, str] = {}

    def define(atom: Atom) -> str:
        names[atom] = letters(len(names))
        return f"{names[atom]}:{atom.type}"

    def read(atom: Atom) -> str:
        if isinstance(atom, Const) and atom.is_scalar:
            return f"{scalar_text(atom)}:{SHORT_NAMES[atom.type.dtype]}[]"
        return names.get(atom) or f"?:{atom.type}"  # a broken graph has a text as well

    constants = " ".join(define(c) for c in graph.constants())
    inputs = " ".join(define(v) for v in graph.inputs)
    head = f"{{ lambda {constants}; {inputs}. let".replace("  ", " ")
    lines = []
    for equation in graph.equations:
        arguments = " ".join(read(a) for a in equation.inputs)
        results = " ".join(define(v) for v in equation.outputs)
        params = _params_text(equation.params, indent + "    ")
        given = f"{results} = " if results else ""
        lines.append(f"{indent}    {given}{equation.primitive.name}{params} {arguments}".rstrip())
    outputs = ", ".join(read(a) for a in graph.outputs)
    comma = "," if len(graph.outputs) == 1 else ""
    return "\n".join([head, *lines, f"{indent}  in ({outputs}{comma}) }}"])


def scalar_text(const: Const) -> str:
    """The value of a scalar constant, in digits that give it back exactly."""
    return number_text(const.value, const.type.dtype)


def _params_text(params: Mapping[str, Any], indent: str) -> str:
    if not params:
        return ""
    parts = []
    for name, value in sorted(params.items()):
        parts.append(f"{name}={_param_text(value, indent)}")
    return f"[{' '.join(parts)}]"


def _param_text(value: Any, indent: str) -> str:
    if isinstance(value, Graph):
        return to_text(value, indent)
    if isinstance(value, float | np.floating):
        return number_text(value, np.asarray(value).dtype)
    if isinstance(value, np.dtype):
        return SHORT_NAMES.get(value) or str(value.name)
    if isinstance(value, ArrayType):
        return str(value)
    if isinstance(value, tuple):
        items = [
            repr(item) if isinstance(item, str) else _param_text(item, indent) for item in value
        ]
        return f"({','.join(items)}{',' if len(items) == 1 else ''})"
    # Functions and objects by their names: their addresses are others in each run.
    while isinstance(value, functools.partial):
        value = value.func
    name = getattr(value, "__name__", None)
    text = name if isinstance(name, str) else str(value).replace(" ", "")
    return type(value).__name__ if "at0x" in text else text
