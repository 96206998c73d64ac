"""Read what a saved file says that it was made of: from the bytes alone, nothing of it is run.

Shared objects, object files and programs have it in a section `.transpile` (ELF), archives in their
members, C files in a text, the metadata of a library in a list. The readers are our own: a library
for ELF would be a dependency for one section. What a file says is taken for texts and no more.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transpile.build.elf import sections
from transpile.codegen.plan.provenance import MARKER
from transpile.util.escapes import one_line

SECTION = ".transpile"
# A larger file is none that was saved.
_MOST_BYTES = 1 << 30
_ARCHIVE, _MEMBER = b"!<arch>\n", 60
# What other files with machine code begin with: COFF, Mach-O, WebAssembly.
_OTHERS = (
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
    b"\x64\x86",
)
_RECORD = re.compile(re.escape(MARKER).encode() + rb"\n([^\0]{1,65536})")
_LITERAL = re.compile(r'\s*"((?:[^"\\]|\\.)*)\\n"$')
_KNOWN = ("function", "python", "source", "transpile", "options", "compiler")


def read_provenance(path: Path) -> list[dict[str, Any]]:
    """What each function of a file was made of, in the order of the file: texts by name, `options`
    a dict. Raises OSError, and ValueError for a file that does not say it."""
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path} is too large for a library that transpile has saved")
    data = path.read_bytes()
    try:
        found = list(_records(data))
    except (struct.error, ValueError) as error:
        raise ValueError(f"{path} cannot be read as what it seems to be: {error}") from None
    if not found:
        raise ValueError(
            f"{path} does not say what it was made of: transpile has not saved it, or it was "
            f"compiled with TRANSPILE_NO_PROVENANCE, or its section {SECTION} was removed"
        )
    unique = {json.dumps(record, sort_keys=True): record for record in found}
    return list(unique.values())


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    if data.startswith(_ARCHIVE):
        for member in _members(data):
            yield from _records(member)
    elif data.startswith(b"\x7fELF"):
        for section in sections(data, SECTION):
            yield from _marked(section)
    elif data.startswith(_OTHERS):
        yield from _marked(data)
    elif data.lstrip().startswith(b"{"):
        yield from _of_metadata(json.loads(data))
    else:
        yield from _of_source(data.decode("utf-8", "replace"))


def _members(archive: bytes) -> Iterator[bytes]:
    position = len(_ARCHIVE)
    while position + _MEMBER <= len(archive):
        size = int(archive[position + 48 : position + 58])
        begin = position + _MEMBER
        if size < 0 or begin + size > len(archive):
            raise ValueError("a member of the archive is longer than that")
        if archive[begin : begin + 4] == b"\x7fELF":
            yield archive[begin : begin + size]
        position = begin + size + size % 2


def _marked(data: bytes) -> Iterator[dict[str, Any]]:
    for match in _RECORD.finditer(data):
        yield _parsed(match[1].decode("utf-8", "replace").splitlines())


def _of_source(text: str) -> Iterator[dict[str, Any]]:
    """Of a C file: the lines of the text behind each marker, none of them about a compiler."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != f'"{MARKER}\\n"':
            continue
        found = []
        for following in lines:
            literal = _LITERAL.match(following)
            if literal is None:
                break
            found.append(_unescaped(literal[1]))
        yield _parsed(found)


def _unescaped(literal: str) -> str:
    """The text of a literal of C, as `string_literal` writes them."""
    parts = re.split(r"\\([0-7]{3}|.)", literal)
    data = b"".join(
        (bytes([int(part, 8) & 255]) if len(part) == 3 else part.encode())
        if number % 2
        else part.encode()
        for number, part in enumerate(parts)
    )
    return data.decode("utf-8", "replace")


def _of_metadata(document: Any) -> Iterator[dict[str, Any]]:
    records = document.get("provenance", ()) if isinstance(document, dict) else ()
    for record in records if isinstance(records, list) else ():
        if isinstance(record, dict):
            yield {name: record[name] for name in _KNOWN if name in record}


def _parsed(lines: list[str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for line in lines:
        name, colon, value = line.partition(": ")
        if colon and name in _KNOWN:
            record[name] = json.loads(value) if name == "options" else value.strip()
    return record


def provenance_text(record: dict[str, Any]) -> str:
    """A record for people; what cannot be printed is escaped."""
    options = record.get("options")
    words = options.items() if isinstance(options, dict) else ()
    shown = {
        "from": " in ".join(str(record[name]) for name in ("python", "source") if record.get(name)),
        "transpile": record.get("transpile", ""),
        "options": " ".join(f"{n}={_word(v)}" for n, v in words),
        "compiler": record.get("compiler", "that of whoever compiles this file"),
    }
    lines = [f"{record.get('function', '(unnamed)')}"]
    lines += [f"  {name:10} {value}" for name, value in shown.items() if value]
    return "\n".join(map(one_line, lines))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
