"""One program in the cache: what its directory is called, what is in it, whether it is sound."""

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transpile.directories import is_private, listed, read_private, write_atomically
from transpile.hashes import blake2b
from transpile.records import dataclass

META = "meta.json"
ENTRY = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)-(?P<key>[0-9a-f]{20})")
# Shared objects up to this size are hashed on every load: 0.03 ms for a usual 30 kB, 2.2 ms at the
# bound, less than mapping and relocating the library takes. Past it a wrong size is still noticed.
_HASHED_UP_TO = 4 << 20
_TOUCH_AFTER = 60.0  # seconds: the resolution of "least recently used"


@dataclass(frozen=True)
class Entry:
    """A program in the cache: its directory, the parts of that name, and its meta.json."""

    directory: Path
    name: str
    key: str
    meta: Mapping[str, Any]

    def path(self, filename: str) -> Path:
        """The path of one of the entry's files."""
        return self.directory / filename


class DamagedError(Exception):
    """The reason why an entry must not be used."""


def key(ingredients: Mapping[str, str]) -> str:
    """The key of a program, 20 hexadecimal digits, from named texts in any order."""
    digest = blake2b(digest_size=10)
    for name in sorted(ingredients):
        for text in (name, ingredients[name]):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))  # so that no two lists read the same
            digest.update(data)
    return digest.hexdigest()


def identifier(name: str) -> str:
    """A C identifier of at most 48 letters, as near to `name` as can be."""
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", name)[:48]
    return cleaned if cleaned and not cleaned[0].isdigit() else f"_{cleaned}"[:48]


def abbreviated(ingredients: Mapping[str, str]) -> dict[str, str]:
    """The ingredients with a digest in the place of each long text, for meta.json."""
    return {
        name: text if len(text) <= 400 else f"blake2b {key({name: text})}, {len(text)} characters"
        for name, text in ingredients.items()
    }


def read_entry(directory: Path, *, touch: bool = True) -> Entry:
    """A checked entry; FileNotFoundError where there is none, DamagedError where it is bad."""
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or not is_private(status):
        raise DamagedError("the directory is not private")
    parts = ENTRY.fullmatch(directory.name)
    try:
        meta = json.loads(read_private(directory / META))
        if parts is None or meta["key"] != parts["key"]:
            raise DamagedError("meta.json belongs to another entry")
        for name, expected in meta["files"].items():
            _check_file(directory / name, expected["size"], expected["blake2b"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from error
    if touch and abs(time.time() - status.st_mtime) > _TOUCH_AFTER:
        with contextlib.suppress(OSError):
            os.utime(directory)
    return Entry(directory, parts["name"], parts["key"], meta)


def complete_entry(directory: Path, name: str, key: str, ingredients: Mapping[str, str]) -> int:
    """Make a built directory an entry: permissions and meta.json; its size is returned.

    No time and no path enters meta.json: equal programs have equal files.
    """
    own: dict[str, Any] = {}
    files: dict[str, dict[str, Any]] = {}
    size = 0
    for path in listed(directory):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            continue
        if path.name == META:
            own = json.loads(path.read_bytes())
            continue
        path.chmod(stat.S_IMODE(status.st_mode) & 0o700)
        digest = blake2b(path.read_bytes(), digest_size=32).hexdigest()
        files[path.name] = {"size": status.st_size, "blake2b": digest}
        size += status.st_size
    meta = {**own, "name": name, "key": key, "files": files}
    meta["ingredients"] = abbreviated(ingredients)
    text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "surrogatepass")
    write_atomically(directory / META, data)
    return size + len(data)


def _check_file(path: Path, size: int, digest: str) -> None:
    """Raise DamagedError, or OSError, unless a file is private and as it was when it was built."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or not is_private(status):
        raise DamagedError(f"{path.name} is not a private file")
    if status.st_size != size:
        raise DamagedError(f"{path.name} has {status.st_size} bytes in the place of {size}")
    # A crash of the machine may leave zeros of the right length, and running those is not safe.
    hashed = path.suffix == ".so" and size <= _HASHED_UP_TO
    if hashed and blake2b(path.read_bytes(), digest_size=32).hexdigest() != digest:
        raise DamagedError(f"{path.name} has other contents than when it was built")
