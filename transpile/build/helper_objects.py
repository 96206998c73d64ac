"""Obtain the object files of large helpers (`codegen/linked_helpers.py`) from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transpile.build import toolchain
from transpile.build.compiler_probe import Compiler
from transpile.codegen.linked_helpers import LinkedHelper
from transpile.codegen.render import Text
from transpile.disk_cache.cache import default_cache
from transpile.disk_cache.concurrent_steps import SideBySide, Steps
from transpile.options import Options


@contextmanager
def helper_objects(
    compiler: Compiler, options: Options, source: Path, text: Text, jobs: SideBySide
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the names of the C file to compile for Python and of the object files to link with it,
    all beside `source`, the C file of the whole program. Without large helpers it is `source`;
    else a file that declares them. The objects are there when `jobs` are finished, and are removed
    at the end, as that file is."""
    if not text.linked:
        yield source.name, ()
        return
    declaring = source.with_name("linked.c")
    declaring.write_text(text.for_python, encoding="utf-8")
    objects = [source.with_name(f"{helper.name}.o") for helper in text.linked]
    for path, helper in zip(objects, text.linked, strict=True):
        jobs.begin(_obtaining_object(compiler, options, helper, path))
    yield declaring.name, tuple(path.name for path in objects)
    for path in (declaring, *objects):
        path.unlink()


def _obtaining_object(
    compiler: Compiler, options: Options, helper: LinkedHelper, path: Path
) -> Steps[None]:
    """The steps that write the object file of a helper to a path, compiled where the cache does not
    have it."""
    flags = toolchain.flags(compiler, options, helper.effort)
    name = f"{helper.name}.o"
    ingredients = {
        **toolchain.ingredients(compiler, options),
        "target": toolchain.target(options),
        "flags": " ".join(flags),
        "source": helper.source,
    }

    def build(directory: Path) -> Steps[None]:
        source = directory / f"{helper.name}.c"
        source.write_text(helper.source, encoding="utf-8")
        log = yield from toolchain.building_object(compiler, source, directory / name, flags)
        (directory / "build.log").write_text(log, encoding="utf-8")

    steps = default_cache().obtaining(
        f"transpile_{helper.name}", ingredients, build, lambda entry: entry.read(name)
    )
    path.write_bytes((yield from steps))
