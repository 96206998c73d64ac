"""Read the dynamic section of a 64-bit ELF file: the libraries it needs, the names of its symbols.

It is located by the program headers, as the dynamic loader does. A search of the bytes for a name
would find it in the strings of a program too.
"""

from __future__ import annotations

import struct
from pathlib import Path

from transpile.util.frozen_records import dataclass

_PT_LOAD, _PT_DYNAMIC = 1, 2  # types of segments
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10  # tags of the dynamic section


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
