"""HLO's text as a module: what XLA prints, before and after its optimisation, and what we print.

HloModule name, attributes
%computation (p: f32[2]) -> f32[2] {
  ROOT %add.3 = f32[2]{0} add(%p.1, f32[2]{0} %p.2), metadata={op_name="add"}
}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from transpile.hlo.module import Computation, Instruction, Type
from transpile.hlo.parse.assemble import Assembler, Body, Parsed
from transpile.hlo.parse.cursor import Cursor
from transpile.hlo.parse.dense import numbers
from transpile.hlo.parse.hlo_attributes import ATTRIBUTES, CALLS, AttributeFormError, names_in
from transpile.hlo.parse.hlo_types import parse_shape
from transpile.ir.types import ArrayType
from transpile.util.frozen_records import dataclass

_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)")
_OPCODE = re.compile(r"[a-z][a-z0-9\-]*")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w\-]*)=")
_WORD = re.compile(r"[^\s,{}()\"]+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(r"(.*?)\.(\d{1,9})")
_ALIAS = re.compile(r"\{\s*(\d*)\s*\}\s*:\s*\(\s*(\d+)\s*,\s*\{\s*(\d*)\s*\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Where the lines of a Python program stand that instructions are of.
_TABLE = re.compile(
    r"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*\n(?:[ \t]*\d+ [^\n]*(?:\n|$))*"
)


@dataclass(eq=False)
class _Line:
    """An instruction as it is written."""

    name: str
    position: int
    is_root: bool
    type: Type
    layout: Any
    opcode: str
    inside: str
    inside_at: int
    attributes: dict[str, str]


@dataclass(eq=False)
class _Block:
    """A computation as it is written."""

    name: str
    position: int
    is_entry: bool
    lines: list[_Line]


def parse_hlo_text(text: str, file_name: str = "module.hlo") -> Parsed:
    """The module of a text. Raises HloError."""
    return _Parser(text, file_name).parsed()


class _Parser:
    def __init__(self, text: str, file_name: str) -> None:
        self.cursor, self.file_name = Cursor(text), file_name
        self.name = "module"
        self.assembler = Assembler(0)
        self.done: dict[str, Computation] = {}

    # --------------------------------------------------------------------------------- the syntax

    def parsed(self) -> Parsed:
        c = self.cursor
        header: dict[str, str] = {}
        if c.take("HloModule"):
            self.name = self._identifier("the name of the module")
            header = self._attributes()
        blocks: dict[str, _Block] = {}
        while c.match(_TABLE) is not None:
            pass
        while not c.is_at_end:
            block = self._block()
            if block.name in blocks:
                c.fail(f"there are two computations {block.name}", block.position)
            blocks[block.name] = block
        entries = [b for b in blocks.values() if b.is_entry] or list(blocks.values())[-1:]
        if len(entries) != 1:
            c.fail("a module has one entry")
        lines = [line.name for b in blocks.values() for line in b.lines]
        found = [_NUMBER.fullmatch(n) for n in (*lines, *blocks)]
        self.assembler = Assembler(max((int(m[2]) for m in found if m), default=0))
        for block in [*(b for b in blocks.values() if b is not entries[0]), entries[0]]:
            self._assemble(block, blocks)
        entry = self.done[entries[0].name]
        if self.assembler.computations[-1] is not entry:
            c.fail("the entry is called by another computation", entries[0].position)
        return self._module(entry, header.get("input_output_alias", ""))

    def _module(self, entry: Computation, aliases: str) -> Parsed:
        types = [p.type for p in entry.parameters]
        is_tuple = len(types) == 1 and isinstance(types[0], tuple)
        pairs = [
            (int(m[1] or 0), int(m[3] or 0) if is_tuple else int(m[2]))
            for m in _ALIAS.finditer(aliases)
        ]
        return self.assembler.parsed(self.name, pairs, is_tuple=is_tuple)

    def _identifier(self, what: str) -> str:
        found = self.cursor.match(_NAME)
        if found is None:
            self.cursor.expected(what)
        return found[1]

    def _attributes(self) -> dict[str, str]:
        """`, name=value` as often as it stands there; values are texts."""
        c = self.cursor
        found: dict[str, str] = {}
        while c.take(","):
            name = c.match(_ATTRIBUTE)
            if name is None:
                c.expected("an attribute")
            begin = c.position
            if c.at("{"):
                c.balanced()
            elif c.match(_STRING) is None:
                c.needed(_WORD, "a value")
            found[name[1]] = c.text[begin : c.position].strip()
        return found

    def _block(self) -> _Block:
        c = self.cursor
        begin = c.position
        is_entry = c.take("ENTRY")
        name = self._identifier("a computation")
        if c.at("("):
            c.balanced()
            c.need("->")
            parse_shape(c)
        c.need("{")
        lines = []
        while not c.at("}"):
            lines.append(self._line())
        c.need("}")
        self._attributes()
        if not lines:
            c.fail("this computation is empty", begin)
        return _Block(name, begin, is_entry, lines)

    def _line(self) -> _Line:
        c = self.cursor
        begin = c.position
        is_root = c.text.startswith("ROOT ", begin) and c.take("ROOT")
        name = self._identifier("an instruction")
        c.need("=")
        kind, layout = parse_shape(c)
        opcode = c.needed(_OPCODE, "an instruction's name")
        if not c.at("("):
            c.expected("'('")
        at = c.position
        inside = c.balanced()
        return _Line(name, begin, is_root, kind, layout, opcode, inside, at + 1, self._attributes())

    # ------------------------------------------------------------------------------- computations

    def _assemble(self, block: _Block, blocks: dict[str, _Block]) -> None:
        """The computation of a block, after those that it calls."""
        stack = [(block, self._callees(block, blocks))]
        active = {block.name}
        while stack:
            current, rest = stack[-1]
            callee = next(rest, None)
            if callee is None:
                stack.pop()
                active.discard(current.name)
                if current.name not in self.done:
                    self.done[current.name] = self._computation(current)
            elif callee.name in active:
                self.cursor.fail(f"{callee.name} calls itself", callee.position)
            elif callee.name not in self.done:
                active.add(callee.name)
                stack.append((callee, self._callees(callee, blocks)))

    def _callees(self, block: _Block, blocks: dict[str, _Block]) -> Iterator[_Block]:
        for line in block.lines:
            for attribute in CALLS:
                for name in names_in(line.attributes.get(attribute, "")):
                    if name not in blocks:
                        self.cursor.fail(f"there is no computation {name}", line.position)
                    yield blocks[name]

    def _computation(self, block: _Block) -> Computation:
        body, values = Body(self.assembler), dict[str, Instruction]()
        root = None
        for line in block.lines:
            at = line.position
            source = self.cursor.source(self.file_name, self.name, at)
            body.at(self.cursor.where(at), source)
            if line.name in values:
                self.cursor.fail(f"there are two instructions {line.name}", line.position)
            values[line.name] = self._instruction(body, line, values)
            if line.is_root:
                root = values[line.name]
        if root is None:
            root = body.instructions[-1]
        found = _NUMBER.fullmatch(block.name)
        name, number = (found[1], int(found[2])) if found else (block.name, None)
        return self.assembler.finish(name, body, root, number)

    def _instruction(self, body: Body, line: _Line, values: dict[str, Instruction]) -> Instruction:
        found = _NUMBER.fullmatch(line.name)
        number = int(found[2]) if found else None
        attributes: dict[str, Any] = {}
        try:
            for name, text in line.attributes.items():
                read = ATTRIBUTES.get(name)
                if read is not None:
                    attributes[name] = read(text, self.done)
        except AttributeFormError as problem:
            self.cursor.fail(f"{line.opcode}: {problem}", line.position)
        if line.opcode == "constant":
            literal = self._literal(line)
            return body.add("constant", line.type, as_number=number, literal=literal)
        operands: list[Instruction] = []
        if line.opcode == "parameter":
            if not re.fullmatch(r"\s*\d{1,6}\s*", line.inside):
                self.cursor.fail("a parameter has a number", line.position)
            attributes["number"] = int(line.inside)
        else:
            operands = self._operands(line, values)
        return body.add(
            line.opcode, line.type, *operands,
            as_number=number, layout=line.layout, **attributes,
        )  # fmt: skip

    def _operands(self, line: _Line, values: dict[str, Instruction]) -> list[Instruction]:
        """The operands, each with or without its type."""
        inner = Cursor(_COMMENT.sub("", line.inside))
        found = []
        while not inner.is_at_end:
            before = inner.position
            name = inner.match(_NAME)
            if name is None or name[1] not in values:
                inner.position = before
                shape_at = inner.position
                if "[" in inner.text[shape_at:] or inner.at("("):
                    parse_shape(inner)
                name = inner.match(_NAME)
            if name is None or name[1] not in values:
                shown = name[1] if name else inner.text[before : before + 20]
                self.cursor.fail(f"{line.opcode}: there is no value {shown} here", line.position)
            found.append(values[name[1]])
            if not inner.take(","):
                break
        if not inner.is_at_end:
            self.cursor.fail(f"{line.opcode}: its operands are not understood", line.position)
        return found

    def _literal(self, line: _Line) -> Any:
        if not isinstance(line.type, ArrayType):
            self.cursor.fail("constants that are tuples are not supported", line.position)
        if "..." in line.inside:
            self.cursor.fail("the elements of this constant are left out", line.position)
        try:
            return numbers(_COMMENT.sub("", line.inside), line.type, "{}")
        except (ValueError, OverflowError) as problem:
            self.cursor.fail(f"these elements are no constant: {problem}", line.position)
