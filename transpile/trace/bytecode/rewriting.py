"""Rewrite code objects such that each call first asks which function to call.

Before each call instruction the callee, which is on the stack, is replaced by `RESOLVER @ callee`;
before a subscript is read, its container by `RESOLVER | (container, index)`; before a product
`left @ right`, its left operand by `RESOLVER % (left, right)`; before an attribute `at` is read,
its object by `RESOLVER & object`; before `value is True`, or False, also as a `case`, the value by
`RESOLVER - value`; and before an assignment `RESOLVER ^ (value, container, *index)` is computed,
for what it raises. The call itself stays an instruction of the same frame:
tracebacks, `locals()`, `super()`, lines and columns are those of the original. Nested code is
rewritten with it. The rewritten code shares globals and closures with the original, which nothing
is changed in.

CPython 3.13 has the callee at the same depth below the arguments in every call. Before that it is
there only where a method was found by `LOAD_METHOD`, with `self` above, or in a decorator;
otherwise a NULL is, and the callee above it. Loads that find a method and `self` become plain ones
here, so that the callee is the bound method, and NULLs are tracked.
"""

from __future__ import annotations

import dis
import itertools
import opcode
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

_OPCODES = dis.opmap
_EXTENDED = _OPCODES["EXTENDED_ARG"]
_IS_CALLEE_FIRST = sys.version_info >= (3, 13)  # [callee, self or NULL, *arguments]
_OPERATORS = [symbol for _, symbol in opcode._nb_ops]  # type: ignore[attr-defined]
# What the resolver is asked about, by operator.
_CALLEE, _SUBSCRIPTED, _ASSIGNED, _UPDATED = map(_OPERATORS.index, "@|^&")
_MULTIPLIED, _IDENTIFIED = map(_OPERATORS.index, "%-")
_PRODUCT = _OPERATORS.index("@")
_SUBSCRIPT = _OPERATORS.index("[]") if "[]" in _OPERATORS else None  # from Python 3.14 on
_MORE_STACK = 5  # copies of what is asked about, the resolver, and a NULL
_CACHES: dict[int, int] = {  # by instruction, how many units of inline cache follow
    code: (
        opcode._inline_cache_entries.get(name, 0)  # type: ignore[attr-defined]
        if _IS_CALLEE_FIRST
        else opcode._inline_cache_entries[code]  # type: ignore[attr-defined]
    )
    for name, code in _OPCODES.items()
    if code < 256
}
_JUMPS = frozenset(dis.hasjrel)
_BACKWARD = frozenset(code for name, code in _OPCODES.items() if "BACKWARD" in name)
_ENDS = frozenset(
    _OPCODES[name]
    for name in (
        *("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD"),
        *("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT"),
    )
    if name in _OPCODES
)
Position = tuple[int | None, int | None, int | None, int | None]


class Marker:
    """The last constant of rewritten code, which has the `original`."""

    __slots__ = ("original",)

    def __init__(self, original: CodeType) -> None:
        self.original = original


def original(code: CodeType) -> CodeType:
    """The code that the user wrote, of rewritten code or of any other."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.original if isinstance(last, Marker) else code


class Instruction(NamedTuple):
    """An instruction at its offset, in bytes, in the original code; with the `target` of a jump."""

    at: int
    code: int
    argument: int
    target: int | None
    position: Position


@lru_cache(maxsize=4096)
def rewritten(code: CodeType, filename: str, resolver: Any) -> CodeType:
    """The code with its calls resolved. The last constant is `resolver(code)`.

    `filename` is that of the code: equal code of two files is not the same. `resolver` is a
    subclass of Marker that has the operators.
    """
    constants = [
        rewritten(c, c.co_filename, resolver) if isinstance(c, CodeType) else c
        for c in code.co_consts
    ]
    instructions = list(instructions_of(code))
    ranges = list(exception_ranges(code.co_exceptiontable))
    emitted = _Emitted(len(constants))
    nulls = _calls_with_null(instructions, ranges) if not _IS_CALLEE_FIRST else frozenset()
    for number, instruction in enumerate(instructions):
        emitted.place(instruction.at)
        depth = _callee_depth(instructions, number, nulls)
        if depth is not None:
            emitted.replace(depth, _CALLEE, (depth,), instruction.position)
        elif dis.opname[instruction.code] == "BINARY_SUBSCR" or (
            (dis.opname[instruction.code], instruction.argument) == ("BINARY_OP", _SUBSCRIPT)
        ):
            emitted.replace(2, _SUBSCRIPTED, (2, 1), instruction.position)
        elif (dis.opname[instruction.code], instruction.argument) == ("BINARY_OP", _PRODUCT):
            emitted.replace(2, _MULTIPLIED, (2, 1), instruction.position)
        elif _attribute(instruction, code.co_names) == "at":
            emitted.replace(1, _UPDATED, (1,), instruction.position)
        elif _is_with_bool(instructions, number, code.co_consts):
            emitted.replace(2, _IDENTIFIED, (2,), instruction.position)
        else:
            emitted.check(_assigned_depths(instruction), instruction.position)
        emitted.copy(instruction)
    emitted.place(len(code.co_code))
    text, offsets = emitted.assembled()
    return code.replace(
        co_code=text,
        co_consts=(*constants, resolver(code)),
        co_stacksize=code.co_stacksize + _MORE_STACK,
        co_linetable=_line_table(emitted.units(), code.co_firstlineno),
        co_exceptiontable=b"".join(
            _exception_entry(offsets[start], offsets[end], offsets[target], info)
            for start, end, target, info in ranges
        ),
    )


# ------------------------------------------------------------------------------------- reading


def instructions_of(code: CodeType) -> Iterator[Instruction]:
    """The instructions of a code, without caches and extended arguments."""
    text = code.co_code
    positions = list(code.co_positions())
    high, first, at = 0, None, 0
    while at < len(text):
        operation, argument = text[at], text[at + 1] | high
        first = at if first is None else first
        if operation == _EXTENDED:
            high = argument << 8
            at += 2
            continue
        behind = at + 2 + 2 * _CACHES[operation]
        target = None
        if operation in _JUMPS:
            target = behind + 2 * (-argument if operation in _BACKWARD else argument)
        yield Instruction(first, operation, argument, target, positions[at // 2])
        high, first, at = 0, None, behind


def exception_ranges(table: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, target in bytes, and depth and flag, of each range of an exception table."""
    numbers, value = [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    for start, length, target, info in zip(*[iter(numbers)] * 4, strict=True):
        yield 2 * start, 2 * (start + length), 2 * target, info


# ----------------------------------------------------------------------------------------- calls


def _callee_depth(
    instructions: list[Instruction], number: int, with_null: frozenset[int]
) -> int | None:
    """How deep on the stack the callee is of the call that starts here, counted from 1; None where
    no call does. A call starts at the names of its keywords, where there is an instruction for
    them."""
    name = dis.opname[instructions[number].code]
    before = dis.opname[instructions[number - 1].code] if number else ""
    argument = instructions[number].argument
    if name == "KW_NAMES":
        argument = instructions[number + 1].argument
    elif name in ("PRECALL", "CALL"):
        if before in ("KW_NAMES", "PRECALL"):
            return None
    elif name == "CALL_KW":
        argument += 1
    elif name == "CALL_FUNCTION_EX":
        has_mapping = bool(argument & 1) or sys.version_info >= (3, 14)
        return 2 + has_mapping + _IS_CALLEE_FIRST
    else:
        return None
    return argument + 1 if number in with_null else argument + 2


def _attribute(instruction: Instruction, names: tuple[str, ...]) -> str:
    """The attribute that an instruction reads, as a value or to call it; "" for other ones."""
    name = dis.opname[instruction.code]
    if name not in ("LOAD_ATTR", "LOAD_METHOD"):
        return ""
    is_marked = name == "LOAD_ATTR" and sys.version_info >= (3, 12)
    return names[instruction.argument >> 1 if is_marked else instruction.argument]


def _is_with_bool(instructions: list[Instruction], number: int, constants: tuple[Any, ...]) -> bool:
    """Tell whether an instruction compares whether a value is True, or is False."""
    if dis.opname[instructions[number].code] != "IS_OP":
        return False
    before = instructions[number - 1]
    is_constant = dis.opname[before.code] == "LOAD_CONST"
    return is_constant and isinstance(constants[before.argument], bool)


def _assigned_depths(instruction: Instruction) -> tuple[int, ...]:
    """The depths on the stack of the value, the container and the index that an instruction
    assigns; () for one that assigns nothing."""
    name = dis.opname[instruction.code]
    if name == "BINARY_OP" and _OPERATORS[instruction.argument].endswith("="):
        return 1, 2
    return {"STORE_SUBSCR": (3, 2, 1), "STORE_SLICE": (4, 3, 2, 1)}.get(name, ())


def _calls_with_null(
    instructions: list[Instruction], ranges: list[tuple[int, int, int, int]]
) -> frozenset[int]:
    """The numbers of the calls that have a NULL below their callee.

    The depth of the stack and the places of NULLs on it are carried along the code and over jumps:
    the compiler repeats what ends a function behind each of its branches. A handler has those
    below its depth where the range begins that it is for.
    """
    states: dict[int, _Stack] = {}
    stack: _Stack | None = 0, frozenset()
    calls = set()
    for number, (at, code, argument, target, _) in enumerate(instructions):
        stack = states.get(at, stack)
        if stack is None:
            continue
        depth, nulls = stack
        for start, _, handler, info in ranges:
            if start == at:
                kept = frozenset(place for place in nulls if place < info >> 1)
                states.setdefault(handler, ((info >> 1) + (info & 1) + 1, kept))
        name = dis.opname[code]
        count = instructions[number + 1].argument if name == "KW_NAMES" else argument
        if name in ("KW_NAMES", "PRECALL", "CALL") and depth - count - 2 in nulls:
            calls.add(number)
        if name == "PUSH_NULL" or (name == "LOAD_GLOBAL" and argument & 1):
            nulls |= {depth}
        elif _finds_method(name, argument):
            nulls |= {depth - (3 if name == "LOAD_SUPER_ATTR" else 1)}
        if target is not None:
            states.setdefault(target, _above(depth + _effect(code, argument, True), nulls))
        depth += _effect(code, argument, False)
        if name in ("CALL", "CALL_FUNCTION_EX"):  # what it gives is where the NULL was
            nulls -= {depth - 1}
        stack = None if code in _ENDS else _above(depth, nulls)
    return frozenset(calls)


_Stack = tuple[int, frozenset[int]]  # its depth, and the places of NULLs on it


def _above(depth: int, nulls: frozenset[int]) -> _Stack:
    return depth, frozenset(place for place in nulls if place < depth)


def _effect(code: int, argument: int, is_jump: bool) -> int:
    if dis.opname[code] == "RETURN_GENERATOR":
        return 1  # resumed with a value, which the next instruction pops
    has_argument = code >= dis.HAVE_ARGUMENT
    return dis.stack_effect(code, argument if has_argument else None, jump=is_jump)


def _finds_method(name: str, argument: int) -> bool:
    """Tell whether an instruction loads a method and `self`, or NULL and an attribute."""
    return name == "LOAD_METHOD" or (
        sys.version_info >= (3, 12)
        and name in ("LOAD_ATTR", "LOAD_SUPER_ATTR")
        and bool(argument & 1)
    )


# --------------------------------------------------------------------------------------- writing


class _Emitted:
    """The new instructions: code, argument or the original offset that is jumped to, position."""

    def __init__(self, resolver: int) -> None:
        self._resolver = resolver  # its number among the constants
        self._parts: list[tuple[int, int, int | None, Position]] = []
        self._places: dict[int, int] = {}  # by original offset, the number of the instruction
        self._sizes: list[int] = []  # of the instructions, in units

    def place(self, at: int) -> None:
        """What was at this offset comes next."""
        self._places[at] = len(self._parts)

    def add(self, name: str, argument: int, position: Position) -> None:
        self._parts.append((_OPCODES[name], argument, None, position))

    def replace(
        self, depth: int, operator: int, about: tuple[int, ...], position: Position
    ) -> None:
        """Replace the value at this depth of the stack by what is answered about some values."""
        self._ask(operator, about, position)
        self.add("SWAP", depth + 1, position)
        self.add("POP_TOP", 0, position)

    def check(self, about: tuple[int, ...], position: Position) -> None:
        """Ask about the values that are going to be assigned, if there are any."""
        if about:
            self._ask(_ASSIGNED, about, position)
            self.add("POP_TOP", 0, position)

    def _ask(self, operator: int, about: tuple[int, ...], position: Position) -> None:
        """Push `resolver operator value`, or tuple of values, for those at these depths."""
        for number, depth in enumerate(about):
            self.add("COPY", depth + number, position)
        if len(about) > 1:
            self.add("BUILD_TUPLE", len(about), position)
        self.add("LOAD_CONST", self._resolver, position)
        self.add("SWAP", 2, position)
        self.add("BINARY_OP", operator, position)

    def copy(self, instruction: Instruction) -> None:
        """An instruction of the original, which finds no method."""
        _, code, argument, target, position = instruction
        name = dis.opname[code]
        if not _finds_method(name, argument):
            self._parts.append((code, argument, target, position))
            return
        plain = argument if name == "LOAD_METHOD" else argument & ~1
        self.add("LOAD_ATTR" if name == "LOAD_METHOD" else name, plain, position)
        self.add("PUSH_NULL", 0, position)
        if not _IS_CALLEE_FIRST:
            self.add("SWAP", 2, position)

    def assembled(self) -> tuple[bytes, dict[int, int]]:
        """The code, and the new offsets by the original ones, in bytes."""
        sizes = [1 + _CACHES[code] for code, _, _, _ in self._parts]
        while True:
            starts = [0]
            for size in sizes:
                starts.append(starts[-1] + size)
            arguments = [
                argument if target is None else abs(starts[self._places[target]] - starts[n + 1])
                for n, (_, argument, target, _) in enumerate(self._parts)
            ]
            wanted = [
                _CACHES[part[0]] + max(1, (argument.bit_length() + 7) // 8)
                for part, argument in zip(self._parts, arguments, strict=True)
            ]
            longer = list(map(max, sizes, wanted))  # they only grow, so that this ends
            if longer == sizes:
                break
            sizes = longer
        self._sizes = sizes
        text = bytearray()
        for (code, *_), argument, size in zip(self._parts, arguments, sizes, strict=True):
            for shift in range(8 * (size - _CACHES[code] - 1), 0, -8):
                text += bytes((_EXTENDED, argument >> shift & 255))
            text += bytes((code, argument & 255)) + bytes(2 * _CACHES[code])
        return bytes(text), {at: 2 * starts[n] for at, n in self._places.items()}

    def units(self) -> Iterator[tuple[int, Position]]:
        """The size of each instruction in units, and its position."""
        return ((size, p[3]) for size, p in zip(self._sizes, self._parts, strict=True))


def _varint(value: int) -> bytes:
    """A number in groups of 6 bits, the lowest first, as in a table of lines."""
    if value < 64:
        return bytes((value,))
    return bytes((value & 63 | 64,)) + _varint(value >> 6)


def _signed(value: int) -> bytes:
    return _varint(-value << 1 | 1 if value < 0 else value << 1)


def _line_table(units: Iterator[tuple[int, Position]], first: int) -> bytes:
    """The table of lines and columns, in the format of CPython's `Objects/locations.md`."""
    table = bytearray()
    line = first
    for position, run in itertools.groupby(units, lambda unit: unit[1]):
        size = sum(unit[0] for unit in run)
        start, end, column, end_column = position
        for begin in range(0, size, 8):
            length = min(8, size - begin) - 1
            if start is None:
                table.append(0x80 | 15 << 3 | length)
                continue
            delta, line = start - line, start
            if end is None or column is None or end_column is None:
                table += bytes((0x80 | 13 << 3 | length,)) + _signed(delta)
            else:
                table.append(0x80 | 14 << 3 | length)
                table += _signed(delta) + _varint(end - start)
                table += _varint(column + 1) + _varint(end_column + 1)
    return bytes(table)


def _exception_entry(start: int, end: int, target: int, info: int) -> bytes:
    """An entry of the exception table, in groups of 6 bits, the highest first."""
    entry = bytearray()
    for value in (start // 2, (end - start) // 2, target // 2, info):
        groups: list[Any] = [value & 63]
        while value := value >> 6:
            groups.append(value & 63 | 64)
        entry += bytes(reversed(groups))
    entry[0] |= 128  # marks the first of an entry
    return bytes(entry)
