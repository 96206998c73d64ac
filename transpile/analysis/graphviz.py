"""Draw a graph for Graphviz: a node for each equation, an edge from each operand to its use."""

from __future__ import annotations

from transpile.ir.graph import Atom, Const, Graph, Var, letters, scalar_text


def to_dot(graph: Graph) -> str:
    """The graph in the dot language; graphs inside primitives (branches, loop bodies) are not
    drawn."""
    lines = [f"digraph {_quoted(graph.name)} {{", "    node [shape=box];"]
    names: dict[Var, str] = {}
    constants: dict[Const, str] = {}

    def node(name: str, label: str, extra: str = "") -> None:
        lines.append(f"    {name} [label={_quoted(label)}{extra}];")

    def read(atom: Atom) -> str:
        if isinstance(atom, Var):
            return names[atom]
        if atom.is_scalar or atom not in constants:
            name = f"constant_{len(constants)}" if not atom.is_scalar else f"scalar_{len(lines)}"
            node(name, scalar_text(atom) if atom.is_scalar else str(atom), ", shape=plain")
            if atom.is_scalar:
                return name
            constants[atom] = name
        return constants[atom]

    for position, var in enumerate(graph.inputs):
        names[var] = letters(position)
        node(
            names[var],
            f"{var.name or letters(position)}\n{var.type}",
            ", style=bold, shape=ellipse",
        )
    defined = len(graph.inputs)
    for position, equation in enumerate(graph.equations):
        operands = [read(atom) for atom in equation.inputs]
        name = letters(defined) if len(equation.outputs) == 1 else f"equation_{position}"
        result = equation.outputs[0].name if len(equation.outputs) == 1 else ""
        types = ", ".join(str(v.type) for v in equation.outputs)
        label = f"{result} = {equation.primitive.name}" if result else equation.primitive.name
        node(name, f"{label}\n{types}\n{equation.source}")
        for var in equation.outputs:
            names[var] = name
            defined += 1
        lines.extend(f"    {operand} -> {name};" for operand in operands)
    for position, atom in enumerate(graph.outputs):
        source = read(atom)
        label = graph.output_names[position] if graph.output_names else f"out_{position}"
        node(f"result_{position}", f"{label}\n{atom.type}", ", style=bold, shape=ellipse")
        lines.append(f"    {source} -> result_{position};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
