"""The C compiler: find it, learn what it can do, choose its flags, run it, explain its errors.

Nothing here goes through a shell. What a compiler can do is found out by running it once; the
answers are kept in the cache directory, in a file named after the compiler's path, size and
modification time, so that a later process neither runs the compiler nor trusts stale answers.
"""

import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from transpile.blas import Blas, find_blas
from transpile.directories import (
    cache_directory,
    check_private,
    make_private,
    read_private,
    write_atomically,
)
from transpile.errors import CompilationError, CompilerNotFoundError
from transpile.options import Options

__all__ = [
    "Blas",
    "Compiler",
    "assembly",
    "build_shared",
    "compiler_identity",
    "describe",
    "find_blas",
    "find_compiler",
    "flags",
    "ingredients",
    "sanitizer_environment",
    "target",
]

# Kept only where the compiler accepts them. `semantic-interposition`: calls between a program's
# own functions need not go through the table that lets LD_PRELOAD replace them.
_OPTIONAL = (
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-semantic-interposition",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
)
_PROBED = (*_OPTIONAL, "-fopenmp-simd", "-ffile-prefix-map=a=b", "-march=native")
_PROBE = "int probe(int x);\nint probe(int x) { return x + 1; }\n"
_PROBE_OPENMP = """#include <omp.h>
int probe(int *x, int n);
int probe(int *x, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) x[i] += omp_get_thread_num();
    return omp_get_max_threads();
}
"""
# Programs that run another compiler: the one behind them matters as much as they do.
_WRAPPERS = {"ccache", "sccache", "distcc", "icecc"}


@dataclass(frozen=True)
class Compiler:
    """A C compiler that has been tried.

    command    the start of its command line: `("/usr/bin/gcc",)`, `("/.../zig", "cc")`
    kind       `gcc`, `clang` or `zig`: whose command line it understands
    version    the first line of its --version
    target     what it compiles for: `x86_64-linux-gnu`
    openmp     whether a program with OpenMP compiles and links
    accepted   those of the optional flags that it takes without a complaint
    """

    command: tuple[str, ...]
    kind: str
    version: str
    target: str
    openmp: bool
    accepted: tuple[str, ...]


_known: dict[str, Compiler] = {}


def find_compiler(options: Options) -> Compiler:
    """The C compiler to use: the one that is named, else the first that works.

    `options.cc`, then the environment variables TRANSPILE_CC and CC, each a path or a command with
    arguments (`ccache gcc`); then `cc`, `gcc` and `clang` on PATH; then the package `ziglang`.
    Raises CompilerNotFoundError where there is none, or where the one that is named is missing or
    does not compile C.
    """
    named = _named(options)
    if named is not None:
        text, origin = named
        command = _resolve(text)
        if command is None:
            raise CompilerNotFoundError(
                f"the C compiler {text!r}, named by {origin}, was not found; name an installed "
                f"one or leave {origin} unset"
            )
        try:
            return _remembered(command)
        except _NotACompiler as error:
            raise CompilerNotFoundError(
                f"{text!r}, named by {origin}, is not a working C compiler: {error}"
            ) from None
    complaints = []
    for command in _usual_commands():
        try:
            return _remembered(command)
        except _NotACompiler as error:
            complaints.append(f"; {command[0]} does not work: {error}")
    raise CompilerNotFoundError(
        "no C compiler was found (looked for cc, gcc and clang on PATH and for the Python package "
        "ziglang): install one, for instance with `apt-get install gcc` or `pip install ziglang`, "
        "or name one in the environment variable TRANSPILE_CC" + "".join(complaints)
    )


def compiler_identity(options: Options) -> str:
    """Which compiler would be used: its command and the path, size and time of its files.

    An ingredient of the cache key. The compiler is run only if it has never been tried before.
    """
    return _identity(find_compiler(options).command)


def target(options: Options) -> str:
    """What the program is compiled for: an ingredient of the cache key.

    With `native` code it contains the processor and its features, so that two machines that share
    a cache never load each other's programs.
    """
    words = [sys.platform, platform.machine(), _c_library()]
    if options.march == "native" or any(flag.endswith("=native") for flag in options.extra_cflags):
        words.append(_processor())
    return " ".join(words)


def ingredients(compiler: Compiler, options: Options) -> dict[str, str]:
    """The parts of the cache key that this module knows: compiler, target and flags."""
    return {
        "compiler": f"{compiler.version}, {_identity(compiler.command)}",
        "target": target(options),
        "flags": shlex.join(flags(compiler, options)),
    }


def flags(compiler: Compiler, options: Options) -> tuple[str, ...]:
    """The compiler's flags, in order; the same options and compiler give the same flags."""
    chosen = ["-std=c11", f"-O{options.opt_level}", *_march(compiler, options.march)]
    chosen += ["-fPIC", "-shared"]
    chosen += [flag for flag in _OPTIONAL if flag in compiler.accepted]
    if options.openmp and compiler.openmp:
        chosen.append("-fopenmp")
    elif "-fopenmp-simd" in compiler.accepted:
        chosen.append("-fopenmp-simd")
    if options.fast_math:
        chosen += ["-ffast-math", "-ffp-contract=fast"]
    if options.sanitize:
        chosen += ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        chosen.append("-fno-omit-frame-pointer")
    if options.debug:
        chosen.append("-g")
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


_UNSAFE_LINK = {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}


def assembly(compiler: Compiler, source: Path, flags: Sequence[str]) -> str:
    """The assembly text of a C file, without the tables for unwinding; raises CompilationError."""
    kept = [flag for flag in flags if flag != "-shared" and not _is_for_linker(flag)]
    command = [*compiler.command, *kept, "-fno-asynchronous-unwind-tables"]
    with tempfile.TemporaryDirectory(prefix="transpile-") as temporary:
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
    return {
        "compiler": shlex.join(compiler.command),
        "kind": compiler.kind,
        "version": compiler.version,
        "target": f"{compiler.target} ({target(options)})",
        "OpenMP": threads,
        "flags": shlex.join(flags(compiler, options)),
        "BLAS": matrix,
    }


def sanitizer_environment(compiler: Compiler) -> dict[str, str]:
    """Environment variables under which Python can load a program built with `sanitize`.

    The address sanitizer has to be the first library of the process: LD_PRELOAD. Python's own
    allocations that outlive it are not leaks of the program.
    """
    name = "libasan.so"
    if compiler.kind != "gcc":
        name = f"libclang_rt.asan-{compiler.target.partition('-')[0]}.so"
    found = _output([*compiler.command, f"-print-file-name={name}"]).strip()
    return {"LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0"}


# -- finding ---------------------------------------------------------------------------------------


class _NotACompiler(Exception):
    """The reason why a command does not serve as a C compiler."""


def _named(options: Options) -> tuple[str, str] | None:
    """(command, where the user named it), or None where the user named none."""
    for text, origin in (
        (options.cc, "the compiler option 'cc'"),
        (os.environ.get("TRANSPILE_CC", ""), "the environment variable TRANSPILE_CC"),
        (os.environ.get("CC", ""), "the environment variable CC"),
    ):
        if text.strip():
            return text, origin
    return None


def _resolve(text: str) -> tuple[str, ...] | None:
    """A user's path or command as an argument list with an absolute program, or None."""
    try:
        words = [text] if os.path.isfile(text) else shlex.split(text)
    except ValueError:
        return None
    if words == ["ziglang"]:
        return _ziglang()
    program = shutil.which(words[0]) if words else None
    if program is None:
        return None
    if os.path.basename(program) == "zig" and len(words) == 1:
        words.append("cc")
    return (os.path.abspath(program), *words[1:])


def _usual_commands() -> Iterator[tuple[str, ...]]:
    for name in ("cc", "gcc", "clang"):
        program = shutil.which(name)
        if program is not None:
            yield (os.path.abspath(program),)
    if (zig := _ziglang()) is not None:
        yield zig


def _ziglang() -> tuple[str, ...] | None:
    """The `zig cc` of the Python package ziglang, which needs not be imported for that."""
    spec = importlib.util.find_spec("ziglang")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = os.path.join(directory, "zig")
        if os.access(program, os.X_OK):
            return (program, "cc")
    return None


def _identity(command: Sequence[str]) -> str:
    """The command, and path, size and time of the files behind each word that is a program."""
    parts = [shlex.join(command)]
    for word in command:
        program = None if word.startswith("-") else shutil.which(word)
        if program is None:
            continue
        programs = [program]
        if os.path.basename(os.path.realpath(program)) in _WRAPPERS:
            programs += _all_on_path(os.path.basename(word))
        for each in programs:
            real = os.path.realpath(each)
            status = os.stat(real)
            parts.append(f"{real} {status.st_size} {status.st_mtime_ns}")
    return ", ".join(dict.fromkeys(parts))


def _all_on_path(name: str) -> list[str]:
    """Every program of that name on PATH: ccache poses as `cc` and runs the next `cc` it finds."""
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = (shutil.which(name, path=directory) for directory in paths if directory)
    return [program for program in found if program is not None]


# -- trying ----------------------------------------------------------------------------------------


def _remembered(command: tuple[str, ...]) -> Compiler:
    """What is known of a compiler: from this process, from the cache directory, or by trying."""
    identity = _identity(command)
    if identity in _known:
        return _known[identity]
    try:
        directory = cache_directory()
        name = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
        path = directory / f"compiler-{name}.json"
        check_private(directory)
        compiler = _from_json(read_private(path), identity)
    except (OSError, ValueError, KeyError, TypeError):
        compiler = _try(command)
        text = json.dumps({"identity": identity, **asdict(compiler)}, indent=2, sort_keys=True)
        try:
            make_private(directory)
            write_atomically(path, text.encode() + b"\n")
        except OSError:
            pass  # the cache warns about its directory when a program is stored, once
    _known[identity] = compiler
    return compiler


def _from_json(data: bytes, identity: str) -> Compiler:
    values = json.loads(data)
    if values.pop("identity") != identity:
        raise ValueError("the file belongs to another compiler")
    command, accepted = tuple(values.pop("command")), tuple(values.pop("accepted"))
    return Compiler(command=command, accepted=accepted, **values)


def _try(command: tuple[str, ...]) -> Compiler:
    """Run a compiler on tiny programs; raises _NotACompiler with the reason."""
    with tempfile.TemporaryDirectory(prefix="transpile-") as temporary:
        directory = Path(temporary)
        (directory / "probe.c").write_text(_PROBE)
        (directory / "openmp.c").write_text(_PROBE_OPENMP)
        strict = ("-Werror", *_PROBED)
        # All at once: the answers take as long as the slowest of them.
        every = _start_compiling(command, directory, "probe.c", "every", strict)
        openmp = _start_compiling(command, directory, "openmp.c", "openmp", ("-fopenmp",))
        version = _output([*command, "--version"])
        machine = _output([*command, "-dumpmachine"]).strip()
        linked = _finish(openmp, directory / "openmp.so")[0]
        accepted = _PROBED
        if not _finish(every, directory / "every.so")[0]:
            plain = _start_compiling(command, directory, "probe.c", "plain", ())
            works, complaint = _finish(plain, directory / "plain.so")
            if not works:
                raise _NotACompiler(complaint)
            accepted = _accepted_alone(command, directory)
    kind = "clang" if "clang" in version.lower() else "gcc"
    if command[-1] == "cc" and os.path.basename(command[0]).startswith("zig"):
        kind = "zig"
    stated = re.search(r"^Target: (\S+)", version, re.MULTILINE)
    first = version.strip().partition("\n")[0] or "unknown version"
    return Compiler(command, kind, first, stated[1] if stated else machine, linked, accepted)


def _accepted_alone(command: tuple[str, ...], directory: Path) -> tuple[str, ...]:
    """Those optional flags that the compiler takes one by one."""
    started = [
        (
            flag,
            _start_compiling(command, directory, "probe.c", f"flag{n}", ("-Werror", flag)),
            directory / f"flag{n}.so",
        )
        for n, flag in enumerate((*_PROBED, "-mcpu=native"))
    ]
    return tuple(flag for flag, process, output in started if _finish(process, output)[0])


def _start_compiling(
    command: tuple[str, ...], directory: Path, source: str, name: str, flags: Sequence[str]
) -> "subprocess.Popen[bytes] | str":
    arguments = [*command, "-std=c11", "-O2", "-fPIC", "-shared", *flags]
    try:
        return subprocess.Popen(
            [*arguments, "-o", f"{name}.so", source],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(directory),
        )
    except OSError as error:
        return str(error)


def _finish(process: "subprocess.Popen[bytes] | str", output: Path) -> tuple[bool, str]:
    """(whether it compiled, what it said); /bin/true succeeds, but writes no file."""
    if isinstance(process, str):
        return False, process
    with process:
        said = process.communicate()[0].decode(errors="replace").strip()
    if process.returncode == 0 and output.is_file() and output.stat().st_size:
        return True, said
    return False, said.replace("\n", "; ") or "it compiled a one-line program into nothing"


def _output(command: Sequence[str]) -> str:
    """What a command prints, or nothing where it cannot be run."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError:
        return ""
    return done.stdout.decode(errors="replace")


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
    model, features = [], platform.processor()
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
    digest = hashlib.blake2b(features.encode(), digest_size=8).hexdigest()
    return f"{' '.join(model)} features {digest}"


@lru_cache(maxsize=1)
def _c_library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "unknown libc"
    except (ValueError, OSError, AttributeError):
        return "unknown libc"


# -- running and explaining ------------------------------------------------------------------------


def _environment(directory: Path) -> dict[str, str]:
    """English messages, and the compiler's temporary files in a directory that is removed."""
    return {**os.environ, "LC_ALL": "C", "TMPDIR": str(directory)}


def _run(command: Sequence[str], directory: Path, source: Path) -> str:
    """Run the compiler in `directory`; its log, or CompilationError. Paths are shown relative."""
    shown = shlex.join(command).replace(str(directory), ".")
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(directory),
        )
    except OSError as error:
        raise CompilationError(f"the C compiler could not be run: {error}\n{shown}") from error
    said = done.stdout.decode(errors="replace").replace(str(directory), ".")
    if done.returncode == 0:
        return f"{shown}\n{said}"
    reason = f"exit status {done.returncode}"
    if done.returncode < 0:
        reason = f"killed by signal {-done.returncode}; was there enough memory?"
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
