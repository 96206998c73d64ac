"""C files of transpile's own that are no programs: built once, and kept in the cache."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from transpile.build import toolchain
from transpile.build.compiler_probe import INLINING_FLAGS
from transpile.disk_cache.cache import Entry, default_cache
from transpile.errors import CompilerNotFoundError
from transpile.options import Options
from transpile.util.data_files import data_directory
from transpile.util.lazy_imports import Later

_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")


_Used = TypeVar("_Used")


def own_files(path: Path) -> list[Path]:
    """A C file and those of our own that it includes, each once, and after what it includes."""
    text = path.read_text(encoding="utf-8")
    inside = [own_files(path.parent / name) for name in _INCLUDED.findall(text)]
    return [*dict.fromkeys(part for parts in inside for part in parts), path]


def own_library(
    source: str,
    words: Sequence[str],
    use: Callable[[Entry], _Used],
    further: Mapping[str, str] | None = None,
    cc: str = "",
) -> _Used:
    """What `use` makes of the entry of the cache that holds `runtime_c/python/SOURCE.c` as the
    library `SOURCE.so`; see `Cache.obtain`.

    words    more of the compiler's arguments
    further  more parts of the cache key
    cc       the compiler, as in `Options`

    Raises CompilerNotFoundError and CompilationError.
    """
    options = Options(opt_level=2, march="", openmp=False, cc=cc)
    path = data_directory("runtime_c") / "python" / f"{source}.c"
    name = f"transpile_{source}"
    files = own_files(path)
    parts = {
        "target": toolchain.target(options),
        "source": "".join(file.read_text(encoding="utf-8") for file in files),
        **(further or {}),
    }
    try:
        compiler = toolchain.find_compiler(options)
    except CompilerNotFoundError as missing:
        return default_cache().find(name, parts, toolchain.OF_COMPILER, use, missing)
    # It is no kernel: with everything inline gcc takes forty times as long.
    flags = [f for f in toolchain.flags(compiler, options) if f not in INLINING_FLAGS]
    flags += words
    ingredients = {**toolchain.ingredients(compiler, options), **parts, "flags": " ".join(flags)}

    def build(directory: Path) -> None:
        for file in files:
            shutil.copyfile(file, directory / file.name)
        copy = directory / path.name
        log = toolchain.build_shared(compiler, copy, directory / f"{source}.so", flags)
        (directory / "build.log").write_text(log, encoding="utf-8")

    return default_cache().obtain(name, ingredients, build, use)
