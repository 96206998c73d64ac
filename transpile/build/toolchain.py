"""Choose the C compiler's flags, run it, quote its errors, describe it for the cache key.

No command is run by a shell. Builds are reproducible: the output depends on the C text, the
compiler and the flags, not on the directory or the time.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from transpile.build.commands import output_of, running
from transpile.build.compiler_probe import (
    OPTIONAL_FLAGS,
    Compiler,
    command_identity,
    find_compiler,
    is_probed,
)
from transpile.codegen.compile_budget import Effort, effort_flags, level, retreat_flags
from transpile.disk_cache.concurrent_steps import Steps, finished
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import (
    CompilationError,
    CompilerNotFoundError,
    LibraryNotFoundError,
    UnsupportedError,
)
from transpile.machine.platforms import glibc_version, platform_of
from transpile.options import Options
from transpile.symbols.blas import Blas, find_blas
from transpile.symbols.lapack import find_lapack
from transpile.util.escapes import utf8
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later

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
    "is_probed",
    "sanitizer_environment",
    "target",
]

# The `ingredients` that follow from the compiler.
COMPILER_INGREDIENTS = frozenset({"compiler", "flags"})
# Flags that say what a compiler makes of object files.
_LINKING = {"-shared", "-mexec-model=reactor", "-c"}
# Flags that are not passed to the linking command: see build_shared.
_UNSAFE_LINK = {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}

_TIME_LIMIT = 30.0  # seconds


def compiler_identity(options: Options) -> str:
    """The compiler's command and the path, size and modification time of its files.

    The compiler is run only if it has not been probed before.
    """
    return command_identity(find_compiler(options).command)


def target(options: Options) -> str:
    """The machine that programs are compiled for: an ingredient of the cache key.

    For `native` code it contains the processor's features, so that two machines that share a cache
    do not load each other's programs.
    """
    if options.target:
        return options.target
    words = [sys.platform, os.uname().machine, glibc_version() or "unknown libc"]
    if options.march in ("auto", "native") or any(
        flag.endswith("=native") for flag in options.extra_cflags
    ):
        words.append(_processor())
    return " ".join(words)


def ingredients(compiler: Compiler, options: Options) -> dict[str, str]:
    """Ingredients of the cache key: compiler, target and flags."""
    return {
        "compiler": f"{compiler.version}, {command_identity(compiler.command)}{_searched()}",
        "target": target(options),
        "flags": shlex.join(flags(compiler, options)),
    }


# Variables by which compilers find headers, libraries and their own programs.
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
    retreat: int = 0,
) -> tuple[str, ...]:
    """The compiler's flags, in order: a function of compiler, options and what the program needs.

    effort      how much optimization a program of this length gets (`codegen/compile_budget.py`)
    gcc_flags   flags for faults of gcc that the program runs into
    retreat     how often the compiler has been stopped because it took too long

    These follow from the program and the time, so the cache key needs none of them.
    """
    requested = options.opt_level
    opt_level = level(effort, requested) if compiler.kind == "gcc" else requested
    platform = platform_of(options.target)
    chosen = ["-std=c11", f"-O{opt_level}", *_march(compiler, options.march)]
    chosen += [*platform.flags, *platform.shared]
    chosen += [flag for flag in OPTIONAL_FLAGS if flag in compiler.accepted]
    if compiler.kind == "gcc":
        chosen += [*effort_flags(effort, requested), *gcc_flags]
    else:
        # clang warns about each loop with a simd pragma that it does not vectorise; and since its
        # version 14 of `|` and `&` between truths, by which helpers do without branches.
        chosen += ["-Wno-pass-failed", "-Wno-unknown-warning-option"]
        chosen += ["-Wno-bitwise-instead-of-logical", "-Wno-sign-conversion"]
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
    if options.debug:
        # binutils take the files of DWARF 5 for their neighbours, and with them perf and addr2line.
        chosen += ["-g", "-gdwarf-4"]
    elif compiler.kind == "zig":
        chosen.append("-g0")
    return (*chosen, *options.extra_cflags, *retreat_flags(compiler.kind, retreat), "-lm")


def check_runs_here(name: str, options: Options) -> None:
    """Raise UnsupportedError for a program for another machine."""
    if options.target:
        raise UnsupportedError(
            f"{name} is for target={options.target!r} and does not run here: "
            "`lower(...).save(directory)` writes its library"
        )


def time_limit() -> float:
    """How many processor seconds the compiler may take for a program before it is run with fewer
    optimizations: TRANSPILE_COMPILE_SECONDS, or 30; 0: there is no limit."""
    text = os.environ.get("TRANSPILE_COMPILE_SECONDS", "") or str(_TIME_LIMIT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise ValueError(f"TRANSPILE_COMPILE_SECONDS takes a number of seconds, not {text!r}")
    return seconds if seconds != float("inf") else 0.0


def build_shared(
    compiler: Compiler,
    source: Path,
    output: Path,
    flags: Sequence[str],
    libraries: Sequence[str] = (),
) -> str:
    """Compile the C file `source` into the shared object `output`; returns the log.

    `libraries` are linker arguments (`Blas.link_flags`). The compiler runs in the directory of
    `source`, with relative paths and its temporary files there, so that equal texts give equal
    bytes in every directory. Raises CompilationError with the command, the compiler's output and
    the C lines of its errors.
    """
    return finished(building_shared(compiler, source, output, flags, libraries))


def building_shared(
    compiler: Compiler,
    source: Path,
    output: Path,
    flags: Sequence[str],
    libraries: Sequence[str] = (),
    limit: float = 0.0,
) -> Steps[str]:
    """The steps of `build_shared`; TimeLimitError where the C file takes longer than `limit`, which
    is that of `ChildProcess`."""
    if _UNSAFE_LINK.isdisjoint(flags):
        return (yield from _building(compiler, source, source, output, flags, libraries, limit))
    built = source.with_name(f"{output.name}.o")
    log = yield from building_object(compiler, source, built, flags, limit)
    log += yield from linking(compiler, source, built, output, flags, libraries)
    built.unlink()
    return log


def building_object(
    compiler: Compiler, source: Path, output: Path, flags: Sequence[str], limit: float = 0.0
) -> Steps[str]:
    """The steps that compile the C file `source` into the object file `output` beside it, of which
    a shared object can be made; their result is the log. Errors as for `building_shared`."""
    directory = source.parent.resolve()
    kept = [flag for flag in _compiling(compiler, flags, directory) if flag not in _LINKING]
    command = [*compiler.command, *kept, "-c", "-o", output.name, source.name]
    return run(command, directory, source, limit)


def linking(
    compiler: Compiler,
    source: Path,
    built: Path,
    output: Path,
    flags: Sequence[str],
    libraries: Sequence[str] = (),
) -> Steps[str]:
    """The steps that make the shared object `output` of the object file `built` of `source`.

    When it links with -ffast-math, gcc adds start-up code that makes the whole process, NumPy
    included, flush denormal numbers to zero. So the linking command does not get such flags.
    """
    safe = [flag for flag in flags if flag not in _UNSAFE_LINK]
    return _building(compiler, source, built, output, safe, libraries)


def _building(
    compiler: Compiler,
    source: Path,
    given: Path,
    output: Path,
    flags: Sequence[str],
    libraries: Sequence[str],
    limit: float = 0.0,
) -> Steps[str]:
    """The steps of one command that makes a shared object of the C file or object file `given`."""
    directory = source.parent.resolve()
    names = [
        str(path.resolve().relative_to(directory))
        if path.resolve().is_relative_to(directory)
        else str(path.resolve())
        for path in (output, given)
    ]
    last = [flag for flag in flags if _is_for_linker(flag)]
    compiling = _compiling(compiler, flags, directory)
    command = [*compiler.command, *compiling, "-o", *names, *libraries, *last]
    return run(command, directory, source, limit)


def _compiling(compiler: Compiler, flags: Sequence[str], directory: Path) -> list[str]:
    """The flags but the linker's, and with the one by which equal texts give equal bytes in every
    directory."""
    kept = [flag for flag in flags if not _is_for_linker(flag)]
    if "-ffile-prefix-map=a=b" in compiler.accepted:
        kept.append(f"-ffile-prefix-map={directory}=.")
    return kept


def assembly(compiler: Compiler, source: Path, flags: Sequence[str]) -> str:
    """The assembly text of a C file, without unwinding tables; raises CompilationError."""
    kept = [flag for flag in flags if flag not in _LINKING and not _is_for_linker(flag)]
    command = [*compiler.command, *kept, "-fno-asynchronous-unwind-tables"]
    with scratch_directory() as temporary:
        output = Path(temporary) / "program.s"
        command += ["-S", "-o", str(output), source.name]
        finished(run(command, source.parent.resolve(), source))
        return output.read_text(encoding="utf-8", errors="replace")


def describe(options: Options) -> dict[str, str]:
    """What `python -m transpile doctor` prints about the toolchain: values by their titles."""
    try:
        compiler = find_compiler(options)
    except (CompilerNotFoundError, OSError) as error:
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
    """Environment variables with which a Python process can load a program built with `sanitize`.

    The address sanitizer must be the first library of the process, hence LD_PRELOAD. Leaks are not
    reported: Python does not free all its memory when it ends.
    """
    name = "libasan.so"
    if compiler.kind != "gcc":
        name = f"libclang_rt.asan-{compiler.target.partition('-')[0]}.so"
    library = output_of([*compiler.command, f"-print-file-name={name}"]).strip()
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}


# -- flags and the machine -------------------------------------------------------------------------


def _march(compiler: Compiler, march: str) -> tuple[str, ...]:
    """The flag that names the processor, as this compiler spells it."""
    march = "native" if march == "auto" else march
    if march == "multi" or "," in march:
        raise UnsupportedError(
            f"march={march!r} is for saved programs, which choose where they run; what runs "
            "here is compiled for this processor"
        )
    if compiler.kind == "zig":
        # Without a flag zig compiles for this machine's processor; its names have no hyphens.
        return (f"-mcpu={march.replace('-', '_') or 'baseline'}",)
    if not march:
        return ()
    if compiler.target.startswith("arm-none"):
        return (f"-mcpu={march}",)  # which chooses the floating-point unit, too
    if march == "native":
        # On ARM -march=native does not tune for the processor; POWER has only -mcpu.
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


# -- running the compiler --------------------------------------------------------------------------


def run(command: Sequence[str], directory: Path, source: Path, limit: float = 0.0) -> Steps[str]:
    """The steps that run the compiler in `directory`; the log, with relative paths, or
    CompilationError that quotes the lines of `source`."""
    shown = utf8(shlex.join([word.replace(str(directory), ".") for word in command]))
    try:
        status, output = yield from running(command, directory, limit)
    except OSError as error:
        raise CompilationError(f"the C compiler could not be run: {error}\n{shown}") from error
    output = utf8(output.replace(str(directory), "."))
    if status == 0:
        return f"{shown}\n{output}"
    reason = f"exit status {status}"
    if status < 0:
        reason = f"killed by signal {-status}; was there enough memory?"
    lines = "".join(_quoted_errors(output, source, directory))
    raise CompilationError(f"the C compiler failed ({reason})\n{lines}{shown}\n{output}")


_ERROR = re.compile(r"^(.+?):(\d+)(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)


def _quoted_errors(output: str, source: Path, directory: Path) -> Iterator[str]:
    """The first ten errors of the compiler, each with its line of the C file; with `#line`
    directives, of the Python file."""
    for file, number, error in list(dict.fromkeys(_ERROR.findall(output)))[:10]:
        try:
            text = (directory / file).read_text(encoding="utf-8", errors="replace")
            line = text.splitlines()[int(number) - 1].strip()
        except (OSError, IndexError):
            line = f"(a line of {file}, not of {source.name})"
        yield f"  {file}:{number}: {error}\n    {line}\n"
