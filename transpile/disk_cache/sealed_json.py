"""JSON files that begin with a digest of all that follows, so that no changed bit is believed."""

import json
from collections.abc import Mapping
from typing import Any

from transpile.util.hashing import blake2b

_HEAD = b'{\n  "checksum": "'
_DIGITS = 64


def seal(values: Mapping[str, Any]) -> bytes:
    """The file for some values: equal values have equal bytes."""
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False)[1:]
    rest = f'"{"," if values else ""}{text}\n'.encode("utf-8", "surrogatepass")
    return _HEAD + _digest(rest) + rest


def unseal(data: bytes) -> dict[str, Any]:
    """The values in a file; ValueError where it is not as it was written."""
    end = len(_HEAD) + _DIGITS
    # Before it is parsed: of a damaged text the parser may need any time and any depth of calls.
    if data[: len(_HEAD)] != _HEAD or _digest(data[end:]) != data[len(_HEAD) : end]:
        raise ValueError("its checksum does not fit")
    values: dict[str, Any] = json.loads(data)
    del values["checksum"]
    return values


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGITS // 2).hexdigest().encode()
