"""Rewrite a graph by local rules, in one forward traversal that builds the new graph; tell what of
a graph is needed, and what may be computed again.

A rule sees each equation with its operands already rewritten, so that it can match on the producers
of those (`Builder.producer`) and append what replaces it (`Builder.apply`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from transpile.ir.dims import Dim, Index, Symbol, sole_symbol, substitute
from transpile.ir.graph import Atom, Equation, Graph, Source, Var, graphs_in, has_effect
from transpile.ir.indices.lengths import Length, Room, lengths_in, lengths_of, room_of
from transpile.ir.primitive import Primitive
from transpile.ir.types import ArrayType
from transpile.machine import USUAL, Machine
from transpile.util.frozen_records import replace


class Builder:
    """The graph under construction: the equations so far, their producers by output, and the atom
    that replaces each rewritten Var. `machine` is the target of machine-dependent rules."""

    def __init__(self, machine: Machine = USUAL) -> None:
        self.machine = machine
        self.equations: list[Equation] = []
        self.atoms: dict[Var, Atom] = {}
        self.producers: dict[Var, Equation] = {}
        self.source = Source("<unknown>", 0, "")
        self.name = ""

    def read(self, atom: Atom) -> Atom:
        """The atom of the new graph that replaces one of the old graph."""
        return self.atoms.get(atom, atom) if isinstance(atom, Var) else atom

    def producer(self, atom: Atom, primitive: Primitive) -> Equation | None:
        """The equation that produces an atom, if it applies this primitive."""
        equation = self.producers.get(atom) if isinstance(atom, Var) else None
        return equation if equation is not None and equation.primitive is primitive else None

    def add(self, equation: Equation) -> None:
        """Append an equation."""
        self.equations.append(equation)
        for output in equation.outputs:
            self.producers[output] = equation

    def apply(self, primitive: Primitive, *inputs: Atom, **params: Any) -> Var:
        """Append an equation of a primitive with one result, and return that."""
        (type_,) = primitive.result_types([a.type for a in inputs], params)
        output = Var(type_, self.name)
        self.add(Equation(primitive, inputs, params, (output,), self.source))
        return output


Rule = Callable[[Builder, Equation], Sequence[Atom] | None]


def rewrite(graph: Graph, rule: Rule, machine: Machine = USUAL) -> Graph:
    """Apply `rule` to every equation, in order.

    The rule is given the equation with rewritten inputs; it returns the atoms that replace its
    outputs, or None to keep it. If nothing changes, the result is the graph itself.
    """
    builder = Builder(machine)
    graph_inputs, atoms = set(graph.inputs), builder.atoms
    for equation in graph.equations:
        inputs = tuple([atoms.get(a, a) if type(a) is Var else a for a in equation.inputs])
        current = equation if inputs == equation.inputs else replace(equation, inputs=inputs)
        builder.source = equation.source
        builder.name = equation.outputs[0].name if equation.outputs else ""
        results = rule(builder, current)
        if results is None:
            builder.add(current)
        else:
            for output, atom in zip(equation.outputs, results, strict=True):
                builder.atoms[output] = atom
                if isinstance(atom, Var) and not atom.name and atom not in graph_inputs:
                    atom.name = output.name
    return graph.with_parts(builder.equations, [builder.read(a) for a in graph.outputs])


# ------------------------------------------------------------- what is needed, what may be repeated


def may_repeat(equation: Equation) -> bool:
    """True if the results may be computed elsewhere, or again, from the equation `silenced`: none
    of them comes from an effect."""
    if equation.primitive.effect:
        return not equation.outputs
    return all(may_repeat(part) for graph in graphs_in(equation) for part in graph.equations)


def silenced(equation: Equation) -> Equation:
    """A loop, branch or call without those effects in its regions that have no results; others are
    effects no more, so that they can be eliminated."""
    params = {name: _silenced_param(value) for name, value in equation.params.items()}
    return replace(equation, params=params) if has_effect(equation) else equation


def _silenced_param(value: Any) -> Any:
    if isinstance(value, Graph):
        kept = [_silenced_part(e) for e in value.equations if e.outputs or not has_effect(e)]
        return replace(value, equations=tuple(kept))
    return tuple(map(_silenced_param, value)) if isinstance(value, tuple) else value


def _silenced_part(equation: Equation) -> Equation:
    if equation.primitive.effect:
        return replace(equation, primitive=replace(equation.primitive, effect=False))
    return silenced(equation)


def live_equations(
    equations: Sequence[Equation],
    outputs: Sequence[Atom],
    effects: bool = True,
    results: bool = True,
    readers: Sequence[Equation] = (),
) -> tuple[Equation, ...]:
    """The live equations, in order: those that outputs depend on, those with effects unless
    `effects` is False, those that count lengths in other equations, the `readers`. Loops and
    branches lose their dead results, unless `results` is False."""
    live = {a for a in outputs if isinstance(a, Var)}
    counts = counts_of(equations)
    if counts:
        live.update(counts[s] for e in readers for s in lengths_read(e) if s in counts)
    kept: list[Equation] = []
    for equation in reversed(equations):
        if not live.isdisjoint(equation.outputs) or (effects and has_effect(equation)):
            dce = equation.primitive.dce
            if dce is not None and results:
                equation = dce(equation, [v in live for v in equation.outputs])
            kept.append(equation)
            live.update(a for a in equation.inputs if isinstance(a, Var))
            if counts:
                live.update(counts[s] for s in lengths_read(equation) if s in counts)
    return tuple(reversed(kept))


# ---------------------------------------------------------------- lengths that depend on values


def counts_of(equations: Sequence[Equation]) -> dict[Length, Var]:
    """The lengths that equations count, and the values that they are."""
    counting = (e for e in equations if e.primitive.kind == "length")
    found: dict[Length, Var] = {}
    for equation in counting:
        found.setdefault(equation.params["length"], equation.outputs[0])
    return found


def reads_any(equation: Equation, lengths: Mapping[Length, Var]) -> bool:
    """True if an equation counts or needs one of these lengths."""
    return bool(lengths) and not lengths.keys().isdisjoint(lengths_read(equation))


def all_counted(graph: Graph) -> Iterator[Length]:
    """The lengths that a graph and its regions count."""
    yield from counts_of(graph.equations)
    for inner in graph.subgraphs():
        yield from all_counted(inner)


def returned_lengths(graph: Graph) -> tuple[Length, ...]:
    """The lengths that a program gives as results behind its own: those in their shapes, and those
    that may be more than there is room for."""
    counted = counts_of(graph.equations)
    unbounded = (s for s in counted if room_of(s) is not None)
    return tuple(dict.fromkeys((*lengths_in(a.type.shape for a in graph.outputs), *unbounded)))


def rooms_of(graph: Graph) -> dict[Length, Room]:
    """The lengths of which no bound is known, and the sizes that say for which there is memory."""
    counted = sorted(counts_of(graph.equations), key=str)
    return {s: room for s in counted if (room := room_of(s)) is not None}


def with_returned_lengths(graph: Graph) -> Graph:
    """The graph with `returned_lengths` as further results."""
    lengths = returned_lengths(graph)
    if not lengths:
        return graph
    counts = counts_of(graph.equations)
    names = graph.output_names or [getattr(a, "name", "") for a in graph.outputs]
    if len(names) == 1:
        names = [names[0] or "out"]
    return replace(
        graph,
        outputs=(*graph.outputs, *(counts[s] for s in lengths)),
        output_names=(*names, *(f"{s}_length" for s in lengths)),
    )


def sizes_read(equation: Equation) -> frozenset[Symbol]:
    """The sizes in the types of an equation's operands and results, in its params and regions."""
    found: set[Symbol] = set()
    for atom in (*equation.inputs, *equation.outputs):
        found.update(*(d.symbols() for d in atom.type.shape if isinstance(d, Dim)))
    for value in equation.params.values():
        found.update(_sizes_in(value))
    return frozenset(found)


def lengths_read(equation: Equation) -> frozenset[Length]:
    """The lengths without which an equation cannot be computed: those that bound others, too."""
    found = {s for s in sizes_read(equation) if isinstance(s, Length)}
    pending = [*found]
    while pending:
        further = lengths_of(pending.pop().extent or 0) - found
        found |= further
        pending += further
    return frozenset(found)


def _sizes_in(value: Any) -> Iterator[Symbol]:
    """The sizes in a param."""
    match value:
        case Dim():
            yield from value.symbols()
        case Symbol():
            yield value
        case ArrayType():
            yield from _sizes_in(value.shape)
        case tuple():
            for item in value:
                yield from _sizes_in(item)
        case Graph():
            counted = counts_of(value.equations)
            found = {s for a in (*value.inputs, *value.outputs) for s in _sizes_in(a.type)}
            found.update(*map(sizes_read, value.equations))
            found.update(*(lengths_of(s.extent or 0) for s in counted))  # their bounds
            yield from found - counted.keys()
        case _:
            pass


def with_lengths(graph: Graph, values: Mapping[Symbol, Index]) -> Graph:
    """A graph, with fresh Vars, that has other lengths, or their values."""
    atoms: dict[Atom, Atom] = {}

    def fresh(variables: Sequence[Var]) -> tuple[Var, ...]:
        made = tuple(Var(_in_sizes(v.type, values), v.name) for v in variables)
        atoms.update(zip(variables, made, strict=True))
        return made

    inputs = fresh(graph.inputs)
    equations = tuple(
        replace(
            in_sizes(e, values),
            inputs=tuple(atoms.get(a, a) for a in e.inputs),
            outputs=fresh(e.outputs),
        )
        for e in graph.equations
    )
    outputs = tuple(atoms.get(a, a) for a in graph.outputs)
    return replace(graph, inputs=inputs, equations=equations, outputs=outputs)


def in_sizes(equation: Equation, values: Mapping[Symbol, Index]) -> Equation:
    """An equation whose params have these values of sizes; its results are declared as before."""
    params = {name: _in_sizes(value, values) for name, value in equation.params.items()}
    return replace(equation, params=params)


def _in_sizes(value: Any, values: Mapping[Symbol, Index]) -> Any:
    match value:
        case Dim():
            return substitute(value, values)
        case Length():
            return sole_symbol(values.get(value, 0)) or value
        case ArrayType():
            return replace(value, shape=_in_sizes(value.shape, values))
        case tuple():
            return tuple(_in_sizes(item, values) for item in value)
        case Graph():
            return with_lengths(value, values)
        case _:
            return value
