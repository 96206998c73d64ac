"""Link the object files of programs into a library for C: a shared one, or an archive.

Both are reproducible: their bytes depend on the objects, the names and the linker, not on the
directory or the time.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.build import toolchain
from transpile.build.commands import output_of
from transpile.build.compiler_probe import Compiler
from transpile.disk_cache.concurrent_steps import finished
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilerNotFoundError, LibraryNotFoundError, UnsupportedError
from transpile.ir.graph import Equation
from transpile.machine.platforms import platform_of
from transpile.options import Options
from transpile.symbols.blas import SharedLibrary
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    import shutil
else:
    shutil = Later("shutil")


def shared_library(
    name: str,
    objects: Mapping[str, bytes],
    libraries: Iterable[SharedLibrary],
    options: Options,
    exported: Sequence[str],
) -> dict[str, bytes]:
    """The files, by name, of a library of object files, by their names, which are compiled with
    these options; it is linked with the libraries. CompilationError where the linker fails.

    exported   the functions that it has for its callers
    """
    compiler, platform = toolchain.find_compiler(options), platform_of(options.target)
    with scratch_directory() as scratch:
        first, *others = _written(Path(scratch), objects)
        output = Path(scratch, platform.file(name))
        words = [*(path.name for path in others), *link_words(libraries)]
        words += platform.link_words(name, exported, is_gcc=compiler.kind == "gcc")
        words += staying_words(objects.values(), options)
        flags = toolchain.flags(compiler, options)
        finished(toolchain.linking(compiler, first, first, output, flags, words))
        files = (platform.import_library(name), output.name)
        return {file: without_time(Path(scratch, file).read_bytes()) for file in files if file}


def staying_words(objects: Iterable[bytes], options: Options) -> tuple[str, ...]:
    """What the linker is told of a library of these object files that starts threads of OpenMP, on
    Linux: the process keeps it, and with it OpenMP's library, after `dlclose`. The threads sleep in
    the code of that library, and ended the process where it was unloaded under them."""
    platform = platform_of(options.target)
    is_linux = platform.system == "linux" and (platform.name != "" or sys.platform == "linux")
    calls = is_linux and any(b"GOMP_" in data or b"__kmpc_" in data for data in objects)
    return ("-Wl,-z,nodelete",) if calls else ()


def without_time(data: bytes) -> bytes:
    """A file of Windows without the time at which it was linked: in its header, and in the
    directory of what is for debuggers. Other files are as they were."""
    if data[:2] != b"MZ":
        return data
    made = bytearray(data)
    (header,) = struct.unpack_from("<I", data, 0x3C)
    struct.pack_into("<I", made, header + 8, 0)
    sections, optional = (struct.unpack_from("<H", data, header + k)[0] for k in (6, 20))
    # Of 64 bits: the directories begin 112 bytes behind the header, the seventh is that one.
    address, size = struct.unpack_from("<II", data, header + 24 + 112 + 6 * 8)
    for k in range(sections):
        length, start, _, offset = struct.unpack_from(
            "<4I", data, header + 24 + optional + 40 * k + 8
        )
        if start <= address < start + length:
            for entry in range(address - start + offset, address - start + offset + size, 28):
                struct.pack_into("<I", made, entry + 4, 0)
    return bytes(made)


def link_words(libraries: Iterable[SharedLibrary]) -> list[str]:
    """What the linker gets for libraries that a program calls."""
    each = dict.fromkeys(library.link_flags for library in libraries)
    return [flag for flags in each for flag in flags]


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


def check_there(name: str, libraries: Sequence[SharedLibrary], options: Options) -> None:
    """Raise UnsupportedError where a program for another machine is linked with libraries of this
    one."""
    if options.target and libraries:
        raise UnsupportedError(
            f"{name} calls {libraries[0].kind.upper()}, which is not there for "
            f"target={options.target!r}: write its sources (--source-only, "
            "`Library.write(source_only=True)`), and compile and link them there"
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
