"""Build transpile's own C libraries, the pool of threads and the module of calls, for the cache."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from transpile.build import toolchain
from transpile.build.compiler_probe import INLINING_FLAGS
from transpile.disk_cache.cache import Entry, default_cache
from transpile.disk_cache.concurrent_steps import Steps, finished
from transpile.errors import CompilerNotFoundError
from transpile.options import Options
from transpile.util.data_files import data_directory
from transpile.util.lazy.imports import Later

_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")


_Used = TypeVar("_Used")


def source_files(path: Path) -> list[Path]:
    """A C file and the files that it includes with quotes, each once, included first."""
    text = path.read_text(encoding="utf-8")
    included = [source_files(path.parent / name) for name in _INCLUDED.findall(text)]
    return [*dict.fromkeys(file for files in included for file in files), path]


def support_library(
    source: str,
    compiler_flags: Sequence[str],
    use: Callable[[Entry], _Used],
    further: Mapping[str, str] | None = None,
    cc: str = "",
) -> _Used:
    """The result of `use` on the cache entry with `runtime_c/python/SOURCE.c`, compiled to
    `SOURCE.so`; see `Cache.obtain`.

    compiler_flags   in addition to those of programs
    further          ingredients of the key in addition to compiler, target and text
    cc               the compiler, as in `Options`

    Raises CompilerNotFoundError and CompilationError.
    """
    return finished(obtaining_library(source, compiler_flags, use, further, cc))


def obtaining_library(
    source: str,
    compiler_flags: Sequence[str],
    use: Callable[[Entry], _Used],
    further: Mapping[str, str] | None = None,
    cc: str = "",
    *,
    alone: bool = True,
) -> Steps[_Used]:
    """The steps of `support_library`; `alone` as for `Cache.obtaining`."""
    options = Options(opt_level=2, march="", openmp=False, cc=cc)
    path = data_directory("runtime_c") / "python" / f"{source}.c"
    name = f"transpile_{source}"
    files = source_files(path)
    parts = {
        "target": toolchain.target(options),
        "source": "".join(file.read_text(encoding="utf-8") for file in files),
        **(further or {}),
    }
    try:
        compiler = toolchain.find_compiler(options)
    except CompilerNotFoundError as missing:
        return default_cache().find(name, parts, toolchain.COMPILER_INGREDIENTS, use, missing)
    # With the inlining that kernels need gcc takes forty times as long.
    flags = [f for f in toolchain.flags(compiler, options) if f not in INLINING_FLAGS]
    flags += compiler_flags
    ingredients = {**toolchain.ingredients(compiler, options), **parts, "flags": " ".join(flags)}

    def build(directory: Path) -> Steps[None]:
        for file in files:
            shutil.copyfile(file, directory / file.name)
        copy = directory / path.name
        output = directory / f"{source}.so"
        log = yield from toolchain.building_shared(compiler, copy, output, flags)
        (directory / "build.log").write_text(log, encoding="utf-8")

    return (yield from default_cache().obtaining(name, ingredients, build, use, alone=alone))
