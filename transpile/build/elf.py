"""Read ELF files: the dynamic section of a 64-bit one, which has the libraries it needs and the
names of its symbols, and sections of any by their names.

The dynamic section is located by the program headers, as the dynamic loader does. A search of the
bytes for a name would find it in the strings of a program too.
"""

from __future__ import annotations

import struct
from pathlib import Path

from transpile.util.frozen_records import dataclass

_PT_LOAD, _PT_DYNAMIC = 1, 2  # types of segments
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10  # tags of the dynamic section
_SHT_NOBITS = 8  # the type of a section without contents


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of a file.

    needed   the names of the libraries that are loaded with it
    names    its string table: these, and the symbols that it exports and imports
    """

    needed: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def read_dynamic(path: Path) -> Dynamic:
    """The dynamic section of a 64-bit ELF file; an empty one for any other file.

    Raises ValueError for a truncated file.
    """
    try:
        return dynamic_section(path.read_bytes())
    except struct.error:
        raise ValueError(f"{path} is not a complete ELF file") from None


def dynamic_section(data: bytes) -> Dynamic:
    """As `read_dynamic`, of the bytes of a file; struct.error where they are truncated."""
    if data[:5] != b"\x7fELF\x02":
        return Dynamic()
    return _dynamic(data, "<" if data[5] == 1 else ">")


def _dynamic(data: bytes, order: str) -> Dynamic:
    (start,) = struct.unpack_from(f"{order}Q", data, 32)
    each, count = struct.unpack_from(f"{order}HH", data, 54)
    # Of each segment its type, its offset in the file, its address in memory, its size.
    segments = []
    for n in range(count):
        kind, _, offset, address, _, size = struct.unpack_from(
            f"{order}2I4Q", data, start + n * each
        )
        segments.append((kind, offset, address, size))
    entries: list[tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind == _PT_DYNAMIC:
            pairs = struct.iter_unpack(f"{order}2Q", data[offset : offset + size // 16 * 16])
            entries += [(tag, value) for tag, value in pairs]
    values = dict(reversed(entries))
    if _DT_STRTAB not in values:
        return Dynamic()
    names = b""
    for kind, offset, address, size in segments:
        start = values[_DT_STRTAB] - address
        if kind == _PT_LOAD and 0 <= start < size:
            names = data[offset + start : offset + start + values.get(_DT_STRSZ, 0)]
    needed = [_text(names[value:]) for tag, value in entries if tag == _DT_NEEDED]
    return Dynamic(tuple(needed), frozenset(map(_text, names.split(b"\0"))))


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="surrogateescape")


def sections(data: bytes, name: str) -> list[bytes]:
    """The contents of all sections of this name, of an ELF file of 32 or 64 bits.

    Raises ValueError for another file, and struct.error for a truncated one.
    """
    if data[:4] != b"\x7fELF" or data[4:5] not in (b"\1", b"\2"):
        raise ValueError("it is no ELF file")
    order = "<" if data[5:6] == b"\1" else ">"
    is_wide = data[4:5] == b"\2"
    (table,) = struct.unpack_from(f"{order}{'Q' if is_wide else 'I'}", data, 40 if is_wide else 32)
    each, count, of_names = struct.unpack_from(f"{order}3H", data, 58 if is_wide else 46)
    if table + count * each > len(data):
        raise ValueError("its table of sections is not complete")
    # Of each section the position of its name, its type, its offset in the file and its size.
    fields = f"{order}2I{'3Q' if is_wide else '3I'}" + ("Q" if is_wide else "I")
    headers = []
    for number in range(count if table else 0):
        title, kind, _, _, offset, size = struct.unpack_from(fields, data, table + number * each)
        headers.append((title, kind, offset, size))
    if of_names >= len(headers):
        return []
    _, _, start, length = headers[of_names]
    names = data[start : start + length]
    return [
        data[offset : offset + size]
        for title, kind, offset, size in headers
        if kind != _SHT_NOBITS and _text(names[title:]) == name
    ]
