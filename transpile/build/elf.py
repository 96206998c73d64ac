"""What an ELF file, such as a shared object, says of itself in its dynamic section.

It is read as the dynamic loader reads it, not searched for: texts of a program may say anything.
"""

from __future__ import annotations

import struct
from pathlib import Path

from transpile.util.frozen_records import dataclass

_LOAD, _DYNAMIC = 1, 2  # kinds of segments
_NEEDED, _NAMES, _LENGTH = 1, 5, 10  # entries of the dynamic section


@dataclass(frozen=True)
class Dynamic:
    """The dynamic section of a file.

    needed   the libraries that are loaded with it, as it names them
    names    these, and every symbol that it defines for others or wants from them
    """

    needed: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def read_dynamic(path: Path) -> Dynamic:
    """The dynamic section of a 64-bit ELF file; an empty one of any other file.

    Raises ValueError for a file that is not complete.
    """
    try:
        return dynamic_section(path.read_bytes())
    except struct.error:
        raise ValueError(f"{path} is not a complete ELF file") from None


def dynamic_section(data: bytes) -> Dynamic:
    """As `read_dynamic`, of the bytes of a file; struct.error for those that are not complete."""
    if data[:5] != b"\x7fELF\x02":
        return Dynamic()
    return _dynamic(data, "<" if data[5] == 1 else ">")


def _dynamic(data: bytes, order: str) -> Dynamic:
    (start,) = struct.unpack_from(f"{order}Q", data, 32)
    each, count = struct.unpack_from(f"{order}HH", data, 54)
    # Of each segment its kind, and where it is in the file and in memory: (offset, address, size).
    segments = []
    for n in range(count):
        kind, _, offset, address, _, size = struct.unpack_from(
            f"{order}2I4Q", data, start + n * each
        )
        segments.append((kind, offset, address, size))
    entries: list[tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind == _DYNAMIC:
            pairs = struct.iter_unpack(f"{order}2Q", data[offset : offset + size // 16 * 16])
            entries += [(tag, value) for tag, value in pairs]
    values = dict(reversed(entries))
    if _NAMES not in values:
        return Dynamic()
    names = b""
    for kind, offset, address, size in segments:
        place = values[_NAMES] - address
        if kind == _LOAD and 0 <= place < size:
            names = data[offset + place : offset + place + values.get(_LENGTH, 0)]
    needed = [_text(names[value:]) for tag, value in entries if tag == _NEEDED]
    return Dynamic(tuple(needed), frozenset(map(_text, names.split(b"\0"))))


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode(errors="surrogateescape")
