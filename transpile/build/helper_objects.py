"""Obtain the object files of large helpers (`codegen/linked_helpers.py`) from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from transpile.build import toolchain
from transpile.build.compiler_probe import Compiler
from transpile.codegen.linked_helpers import LinkedHelper
from transpile.disk_cache.cache import default_cache
from transpile.options import Options

LINKED = "linked.c"


@contextmanager
def helper_objects(
    compiler: Compiler, options: Options, directory: Path, helpers: Iterable[LinkedHelper]
) -> Iterator[tuple[str, ...]]:
    """Yield the names of object files in `directory`, one of each helper; at the end they are
    removed, and so is the file LINKED, which is written there to be linked with them."""
    objects = [directory / f"{helper.name}.o" for helper in helpers]
    for path, helper in zip(objects, helpers, strict=True):
        path.write_bytes(_object(compiler, options, helper))
    yield tuple(path.name for path in objects)
    for path in (*objects, directory / LINKED) if objects else ():
        path.unlink()


def _object(compiler: Compiler, options: Options, helper: LinkedHelper) -> bytes:
    """The object file of a helper, compiled where the cache does not have it."""
    flags = toolchain.flags(compiler, options)
    name = f"{helper.name}.o"
    ingredients = {
        **toolchain.ingredients(compiler, options),
        "target": toolchain.target(options),
        "flags": " ".join(flags),
        "source": helper.source,
    }

    def build(directory: Path) -> None:
        source = directory / f"{helper.name}.c"
        source.write_text(helper.source, encoding="utf-8")
        log = toolchain.build_object(compiler, source, directory / name, flags)
        (directory / "build.log").write_text(log, encoding="utf-8")

    return default_cache().obtain(
        f"transpile_{helper.name}", ingredients, build, lambda entry: entry.read(name)
    )
