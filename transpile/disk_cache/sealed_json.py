"""JSON files that begin with a digest of the rest, which is checked before they are parsed."""

import json
from collections.abc import Mapping
from typing import Any

from transpile.util.hashing import blake2b

_HEAD = b'{\n  "checksum": "'
_DIGITS = 64


def seal(values: Mapping[str, Any]) -> bytes:
    """The bytes of a file with these values; equal values have equal bytes."""
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False)[1:]
    rest = f'"{"," if values else ""}{text}\n'.encode("utf-8", "surrogatepass")
    return _HEAD + _digest(rest) + rest


def unseal(data: bytes) -> dict[str, Any]:
    """The values in the bytes of a file; ValueError where its digest does not match."""
    end = len(_HEAD) + _DIGITS
    # First: a damaged text may take the parser any time and depth of recursion.
    if data[: len(_HEAD)] != _HEAD or _digest(data[end:]) != data[len(_HEAD) : end]:
        raise ValueError("its checksum does not match its contents")
    values: dict[str, Any] = json.loads(data)
    del values["checksum"]
    return values


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGITS // 2).hexdigest().encode()
