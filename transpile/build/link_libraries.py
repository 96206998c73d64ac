"""Link the object files of programs into a library for C: a shared one, or an archive.

Both are reproducible: their bytes depend on the objects, the names and the linker, not on the
directory or the time.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from transpile.build import toolchain
from transpile.build.commands import output_of
from transpile.build.compiler_probe import Compiler
from transpile.disk_cache.concurrent_steps import finished
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilerNotFoundError, LibraryNotFoundError
from transpile.ir.graph import Equation
from transpile.options import Options
from transpile.symbols.blas import SharedLibrary


def shared_library(
    name: str, objects: Mapping[str, bytes], libraries: Iterable[SharedLibrary], options: Options
) -> bytes:
    """The shared object NAME.so of object files, by their names, which are compiled with these
    options; it is linked with the libraries. CompilationError where the linker fails."""
    compiler = toolchain.find_compiler(options)
    with scratch_directory() as scratch:
        first, *others = _written(Path(scratch), objects)
        output = Path(scratch, f"{name}.so")
        words = [*(path.name for path in others), *link_words(name, libraries)]
        flags = toolchain.flags(compiler, options)
        finished(toolchain.linking(compiler, first, first, output, flags, words))
        return output.read_bytes()


def link_words(name: str, libraries: Iterable[SharedLibrary]) -> list[str]:
    """What the linker gets for a shared object NAME.so beside its object files."""
    each = dict.fromkeys(library.link_flags for library in libraries)
    words = [flag for flags in each for flag in flags]
    if sys.platform == "linux":  # so that `cc main.c lib/NAME.so` does not record the path
        words.append(f"-Wl,-soname,{name}.so")
    return words


def check_public(libraries: Iterable[SharedLibrary], name: str, call: Equation | None) -> None:
    """Raise LibraryNotFoundError where a program to be saved is linked with a library of this
    installation of Python that the user has not named; `call` is its first call of LAPACK."""
    for library in libraries:
        if library.private:
            calls = "multiplies matrices"
            if (kind := library.kind) == "lapack" and call is not None:
                line = call.source.text or call.primitive.name
                calls = f"decomposes matrices (`{line}`, {call.source})"
            raise LibraryNotFoundError(
                f"{name} {calls} and would be saved linked with {library.library} "
                f"({library.origin}), which other machines and other installations of Python do "
                "not have: name one that exists where the program will run, such as "
                f"compiler_options={{'{kind}': '{library.usual}'}} or a path, or allow this one "
                "with private_libraries=True (--private-libraries)"
            )


def archive(name: str, objects: Mapping[str, bytes], options: Options) -> bytes:
    """The archive libNAME.a of object files. CompilerNotFoundError where the compiler has no
    archiver."""
    with scratch_directory() as scratch:
        paths = _written(Path(scratch), objects)
        output = Path(scratch, f"lib{name}.a")
        command = [*_archiver(toolchain.find_compiler(options)), "rcsD", output.name]
        finished(toolchain.run([*command, *(p.name for p in paths)], Path(scratch), paths[0]))
        return output.read_bytes()


def _written(directory: Path, objects: Mapping[str, bytes]) -> list[Path]:
    paths = [directory / f"{name}.o" for name in objects]
    for path, data in zip(paths, objects.values(), strict=True):
        path.write_bytes(data)
    return paths


def _archiver(compiler: Compiler) -> Sequence[str]:
    """The command of the compiler's `ar`."""
    if compiler.kind == "zig":
        return compiler.command[0], "ar"
    named = output_of([*compiler.command, "-print-prog-name=ar"]).strip() or "ar"
    found = shutil.which(named)
    if found is None:
        raise CompilerNotFoundError(
            f"there is no archiver {named!r} for {' '.join(compiler.command)}, which an archive "
            "needs: install the binutils"
        )
    return (found,)
