"""Keep compiled templates for later processes, where Python keeps compiled modules.

That is `__pycache__` beside the templates, or below `sys.pycache_prefix`: what may be written there
is trusted as transpile's modules are. Where Python keeps nothing (PYTHONDONTWRITEBYTECODE), or the
directory cannot be written, it is the cache directory. Either has one file for a Python and a
compiler of templates, with a checksum, and for each template the hash of its text.
"""

import marshal
import sys
from base64 import b64decode, b64encode
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType

from transpile.disk_cache.cache_ownership import recall_compiled, remember_compiled
from transpile.util.hashing import blake2b


class KeptTemplates:
    """The compiled templates of a directory.

    directory   where the templates are
    compiler    the identity of what compiles them
    """

    def __init__(self, directory: Path, compiler: str) -> None:
        text = "\n".join((sys.version, str(directory), compiler))
        digest = blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        self._in_cache = f"template-{digest}.json"
        self._beside = cache_from_source(str(directory / f"templates-{digest}.py"))
        self._is_changed = False
        self._codes = self._read()

    def _read(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            return recall_compiled(self._beside, self._in_cache)
        return {}

    def find(self, key: str, checksum: str) -> CodeType | None:
        """The code that `add` was given for this key and checksum; None without it."""
        kept, _, code = self._codes.get(key, "").partition(" ")
        return marshal.loads(b64decode(code)) if kept == checksum else None

    def add(self, key: str, checksum: str, code: CodeType | None) -> None:
        """Remember a code until `keep`."""
        self._codes[key] = f"{checksum} {b64encode(marshal.dumps(code)).decode()}"
        self._is_changed = True

    def keep(self) -> None:
        """Write what has been added; nothing happens where that is not possible."""
        if not self._is_changed:
            return
        self._is_changed = False
        remember_compiled(self._beside, self._in_cache, self._codes)
