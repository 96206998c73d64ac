"""The C compiler at work: choose its flags, run it, explain its errors, describe it.

Nothing here goes through a shell, and nothing that a compiler makes depends on the directory or
the time at which it runs.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.build.commands import output_of, run
from transpile.build.compiler_probe import (
    OPTIONAL_FLAGS,
    Compiler,
    command_identity,
    find_compiler,
)
from transpile.codegen.compile_budget import Effort, effort_flags, level
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilationError, CompilerNotFoundError, LibraryNotFoundError
from transpile.options import Options
from transpile.symbols.blas import Blas, find_blas
from transpile.symbols.lapack import find_lapack
from transpile.util.escapes import utf8
from transpile.util.hashing import blake2b
from transpile.util.lazy_imports import Later

if TYPE_CHECKING:
    import platform
else:
    platform = Later("platform")

__all__ = [
    "Blas",
    "Compiler",
    "assembly",
    "build_shared",
    "compiler_identity",
    "describe",
    "find_blas",
    "find_compiler",
    "find_lapack",
    "flags",
    "ingredients",
    "sanitizer_environment",
    "target",
]

# Those of `ingredients` that follow from the compiler.
OF_COMPILER = frozenset({"compiler", "flags"})
# Flags that must not reach the link: see build_shared.
_UNSAFE_LINK = {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}


def compiler_identity(options: Options) -> str:
    """Which compiler would be used: its command and the path, size and time of its files.

    An ingredient of the cache key. The compiler is run only if it has never been tried before.
    """
    return command_identity(find_compiler(options).command)


def target(options: Options) -> str:
    """What the program is compiled for: an ingredient of the cache key.

    With `native` code it contains the processor and its features, so that two machines that share
    a cache never load each other's programs.
    """
    words = [sys.platform, os.uname().machine, _c_library()]
    if options.march == "native" or any(flag.endswith("=native") for flag in options.extra_cflags):
        words.append(_processor())
    return " ".join(words)


def ingredients(compiler: Compiler, options: Options) -> dict[str, str]:
    """The parts of the cache key that this module knows: compiler, target and flags."""
    return {
        "compiler": f"{compiler.version}, {command_identity(compiler.command)}{_searched()}",
        "target": target(options),
        "flags": shlex.join(flags(compiler, options)),
    }


# By these compilers find headers, libraries and their own parts.
_SEARCHED = (
    "CPATH",
    "C_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "SDKROOT",
)


def _searched() -> str:
    values = os.environ
    return "".join(f", {name}={values[name]}" for name in _SEARCHED if values.get(name))


def flags(
    compiler: Compiler,
    options: Options,
    effort: Effort = "usual",
    gcc_flags: Sequence[str] = (),
) -> tuple[str, ...]:
    """The compiler's flags, in order; the same options, compiler and effort give the same flags.

    The effort and gcc's further flags follow from the program (`transpile.codegen.compile_budget`,
    `gcc_faults`), so the cache key needs neither.
    """
    asked = options.opt_level
    opt_level = level(effort, asked) if compiler.kind == "gcc" else asked
    chosen = ["-std=c11", f"-O{opt_level}", *_march(compiler, options.march)]
    chosen += ["-fPIC", "-shared"]
    chosen += [flag for flag in OPTIONAL_FLAGS if flag in compiler.accepted]
    if compiler.kind == "gcc":
        chosen += [*effort_flags(effort, asked), *gcc_flags]
    else:
        # clang warns of each loop marked simd that it does not vectorise.
        chosen.append("-Wno-pass-failed")
    if options.threaded and compiler.openmp:
        chosen.append("-fopenmp")
    elif "-fopenmp-simd" in compiler.accepted:
        chosen.append("-fopenmp-simd")
    if options.fast_math:
        chosen += ["-ffast-math", "-ffp-contract=fast"]
    if options.sanitize:
        chosen += ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        chosen.append("-fno-omit-frame-pointer")
    elif compiler.kind == "zig":
        chosen.append("-fno-sanitize=undefined")  # zig's default at -O0
    if options.debug or compiler.kind == "zig":
        chosen.append("-g" if options.debug else "-g0")
    return (*chosen, *options.extra_cflags, "-lm")


def build_shared(
    compiler: Compiler,
    source: Path,
    output: Path,
    flags: Sequence[str],
    libraries: Sequence[str] = (),
) -> str:
    """Compile the C file `source` into the shared object `output`; the log is returned.

    `libraries` are linker arguments (`Blas.link_flags`). The compiler runs in the directory of
    `source`, keeps its own temporary files there too, and sees no other path, so that the same
    text gives the same bytes everywhere. Raises CompilationError with the command, the compiler's
    output and the C lines that it complains about.
    """
    directory = source.parent.resolve()
    names = [
        str(path.resolve().relative_to(directory))
        if path.resolve().is_relative_to(directory)
        else str(path.resolve())
        for path in (output, source)
    ]
    compiling = [flag for flag in flags if not _is_for_linker(flag)]
    linking = [flag for flag in flags if _is_for_linker(flag)]
    if "-ffile-prefix-map=a=b" in compiler.accepted:
        compiling.append(f"-ffile-prefix-map={directory}=.")
    if not any(flag in _UNSAFE_LINK for flag in compiling):
        command = [*compiler.command, *compiling, "-o", *names, *libraries, *linking]
        return _run(command, directory, source)
    # gcc links start-up code into a library built with -ffast-math that makes the whole process,
    # NumPy included, flush denormal numbers to zero; so these flags stay away from the link.
    middle = f"{names[0]}.o"
    parts = [flag for flag in compiling if flag != "-shared"]
    log = _run([*compiler.command, *parts, "-c", "-o", middle, names[1]], directory, source)
    safe = [flag for flag in compiling if flag not in _UNSAFE_LINK]
    command = [*compiler.command, *safe, "-o", names[0], middle, *libraries, *linking]
    log += _run(command, directory, source)
    (directory / middle).unlink()
    return log


def assembly(compiler: Compiler, source: Path, flags: Sequence[str]) -> str:
    """The assembly text of a C file, without the tables for unwinding; raises CompilationError."""
    kept = [flag for flag in flags if flag != "-shared" and not _is_for_linker(flag)]
    command = [*compiler.command, *kept, "-fno-asynchronous-unwind-tables"]
    with scratch_directory() as temporary:
        output = Path(temporary) / "program.s"
        _run([*command, "-S", "-o", str(output), source.name], source.parent.resolve(), source)
        return output.read_text(encoding="utf-8", errors="replace")


def describe(options: Options) -> dict[str, str]:
    """What `python -m transpile doctor` prints about the toolchain: a title and its value each."""
    try:
        compiler = find_compiler(options)
    except CompilerNotFoundError as error:
        return {"compiler": f"none: {error}"}
    threads = "yes" if compiler.openmp else "no: loops run on one thread"
    try:
        blas = find_blas(options)
        matrix = f"{blas.library} ({blas.origin}, {blas.integer})" if blas else "none: plain C"
    except ValueError as error:
        matrix = f"none: {error}"
    try:
        lapack = find_lapack(options)
        decompositions = f"{lapack.library} ({lapack.origin}, {lapack.integer})"
    except LibraryNotFoundError as error:
        decompositions = f"none: {error}"
    return {
        "compiler": shlex.join(compiler.command),
        "kind": compiler.kind,
        "version": compiler.version,
        "target": f"{compiler.target} ({target(options)})",
        "OpenMP": threads,
        "flags": shlex.join(flags(compiler, options)),
        "BLAS": matrix,
        "LAPACK": decompositions,
    }


def sanitizer_environment(compiler: Compiler) -> dict[str, str]:
    """Environment variables under which Python can load a program built with `sanitize`.

    The address sanitizer has to be the first library of the process: LD_PRELOAD. Python's own
    allocations that outlive it are not leaks of the program.
    """
    name = "libasan.so"
    if compiler.kind != "gcc":
        name = f"libclang_rt.asan-{compiler.target.partition('-')[0]}.so"
    found = output_of([*compiler.command, f"-print-file-name={name}"]).strip()
    return {"LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0"}


# -- flags and the machine -------------------------------------------------------------------------


def _march(compiler: Compiler, march: str) -> tuple[str, ...]:
    """The flag that names the processor, in this compiler's words."""
    if compiler.kind == "zig":
        # Without a flag zig compiles for this very machine, and its names have no hyphens.
        return (f"-mcpu={march.replace('-', '_') or 'baseline'}",)
    if not march:
        return ()
    if march == "native":
        # On ARM -march=native leaves out the tuning; POWER has only -mcpu.
        arm = compiler.target.startswith(("aarch64", "arm"))
        order = ("-mcpu=native", "-march=native") if arm else ("-march=native", "-mcpu=native")
        if arm and "-march=native" in compiler.accepted:
            return ("-mcpu=native",)
        return tuple(flag for flag in order if flag in compiler.accepted)[:1]
    return (f"-march={march}",)


def _is_for_linker(flag: str) -> bool:
    return flag.startswith(("-l", "-L", "-Wl,"))


@lru_cache(maxsize=1)
def _processor() -> str:
    """The processor's model and a digest of its features, from the first block of cpuinfo."""
    wanted = {"vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer"}
    wanted |= {"CPU architecture", "CPU variant", "CPU part", "cpu", "isa"}
    model, features = [], ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = (part.strip() for part in line.partition(":"))
                if not name:
                    break
                if name in wanted:
                    model.append(value)
                elif name in ("flags", "Features"):
                    features = " ".join(sorted(value.split()))
    except OSError:
        pass
    features = features or platform.processor()
    digest = blake2b(features.encode(), digest_size=8).hexdigest()
    return f"{' '.join(model)} features {digest}"


@lru_cache(maxsize=1)
def _c_library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown libc"
    except (ValueError, OSError, AttributeError):
        return "unknown libc"


# -- running and explaining ------------------------------------------------------------------------


def _run(command: Sequence[str], directory: Path, source: Path) -> str:
    """Run the compiler in `directory`; its log, or CompilationError. Paths are shown relative."""
    shown = utf8(shlex.join([word.replace(str(directory), ".") for word in command]))
    try:
        status, said = run(command, directory)
    except OSError as error:
        raise CompilationError(f"the C compiler could not be run: {error}\n{shown}") from error
    said = utf8(said.replace(str(directory), "."))
    if status == 0:
        return f"{shown}\n{said}"
    reason = f"exit status {status}"
    if status < 0:
        reason = f"killed by signal {-status}; was there enough memory?"
    lines = "".join(_quoted(said, source, directory))
    raise CompilationError(f"the C compiler failed ({reason})\n{lines}{shown}\n{said}")


_COMPLAINT = re.compile(r"^(.+?):(\d+)(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)


def _quoted(said: str, source: Path, directory: Path) -> Iterator[str]:
    """Each line that the compiler calls an error, with its number and the error, the first ten.

    With `#line` directives the compiler names lines of the Python file; those are quoted then.
    """
    for file, number, error in list(dict.fromkeys(_COMPLAINT.findall(said)))[:10]:
        try:
            text = (directory / file).read_text(encoding="utf-8", errors="replace")
            line = text.splitlines()[int(number) - 1].strip()
        except (OSError, IndexError):
            line = f"(a line of {file}, not of {source.name})"
        yield f"  {file}:{number}: {error}\n    {line}\n"
