"""Find a C compiler and learn what it can do by running it once.

The answers are kept in the cache directory, in a file named after the compiler's path, size and
modification time, so that a later process neither runs the compiler nor trusts stale answers.
"""

import importlib.util
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transpile.build.commands import Running, environment, output_of
from transpile.disk_cache.cache_ownership import recall, remember
from transpile.disk_cache.process_directory import scratch_directory
from transpile.errors import CompilerNotFoundError
from transpile.options import Options
from transpile.util.allowed_cflags import writes_elsewhere
from transpile.util.escapes import utf8
from transpile.util.frozen_records import dataclass
from transpile.util.hashing import blake2b

# Else gcc leaves large helpers, and those of long expressions, as calls, and their loops scalar.
INLINING_FLAGS = (
    "-finline-limit=20000",
    "--param=large-function-insns=20000",
    "--param=inline-unit-growth=1000",
)
# Kept only where the compiler accepts them. `semantic-interposition`: calls between a program's
# own functions need not go through the table that lets LD_PRELOAD replace them.
OPTIONAL_FLAGS = (
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-gcse-lm",  # gcc 12 moves loads out of nested loops past stores to exchanged pointers
    *INLINING_FLAGS,
    "-fno-semantic-interposition",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
)
_PROBED: tuple[str, ...] = (
    *OPTIONAL_FLAGS,
    "-fopenmp-simd",
    "-ffile-prefix-map=a=b",
    "-march=native",
)
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

    `options.cc`, then the environment variables TRANSPILE_CC and CC, each an absolute path, or a
    command with arguments (`ccache gcc`) which no shell sees; then `cc`, `gcc` and `clang` on PATH;
    then the package `ziglang`. The working directory is not searched, and a program that every
    user of the machine could have replaced is not run.
    Raises CompilerNotFoundError where there is none, or where the one that is named is missing,
    writes elsewhere than it is told to, or does not compile C.
    """
    named = _named(options)
    if named is not None:
        text, origin = named
        command = _resolve(text)
        if command is None:
            raise CompilerNotFoundError(
                f"the C compiler {text!r}, named by {origin}, was not found; name an installed "
                f"one, by its absolute path or its name on PATH, or leave {origin} unset"
            )
        if (word := writes_elsewhere(command[1:])) is not None:
            raise CompilerNotFoundError(
                f"the C compiler {text!r}, named by {origin}, is not run: {word!r} makes it write "
                "files that nobody asks for, or none"
            )
        if problem := _open_to_all(command[0]):
            raise CompilerNotFoundError(
                f"the C compiler {text!r}, named by {origin}, is not run: {problem}"
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
            if problem := _open_to_all(command[0]):
                raise _NotACompiler(problem)
            return _remembered(command)
        except _NotACompiler as error:
            complaints.append(f"; {command[0]} does not work: {error}")
    raise CompilerNotFoundError(
        "no C compiler was found (looked for cc, gcc and clang on PATH and for the Python package "
        "ziglang): install one, for instance with `apt-get install gcc` or `pip install ziglang`, "
        "or name one in the environment variable TRANSPILE_CC" + "".join(complaints)
    )


def command_identity(command: Sequence[str]) -> str:
    """The command, and path, size and time of the files behind each word that is a program."""
    parts = [shlex.join(command)]
    words = command[:1] if command[1:] == ("cc",) else command
    for word in words:
        program = None if word.startswith("-") else _which(word)
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
    # A relative directory, and the empty one, would be looked for in the working directory.
    programs = (os.path.join(directory, name) for directory in paths if os.path.isabs(directory))
    return [program for program in programs if _is_program(program)]


def _which(word: str) -> str | None:
    """The program that a word of a command means: an absolute path, or a name on PATH."""
    if os.path.dirname(word):
        return word if os.path.isabs(word) and _is_program(word) else None
    return next(iter(_all_on_path(word)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


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
        is_path = os.path.isabs(text) and os.path.isfile(text)  # which may hold spaces
        words = [text] if is_path else shlex.split(text)
    except ValueError:
        return None
    if words == ["ziglang"]:
        return _ziglang()
    program = _which(words[0]) if words else None
    if program is None:
        return None
    if os.path.basename(program) == "zig" and len(words) == 1:
        words.append("cc")
    return (os.path.abspath(program), *words[1:])


def _open_to_all(program: str) -> str:
    """How every user of the machine could have put something else in the place of a program;
    nothing where they could not. Its owner, root and members of a group are trusted."""
    for path in dict.fromkeys((os.path.abspath(program), os.path.realpath(program))):
        status = os.stat(path)
        while True:
            is_shared = status.st_mode & stat.S_IWOTH
            if is_shared and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX):
                return f"every user of this machine can write to {path}"
            above = os.path.dirname(path)
            if above == path:
                break
            owner = os.lstat(path).st_uid
            path, status = above, os.stat(above)
            if status.st_mode & stat.S_IWOTH and owner not in (0, os.geteuid()):
                return f"it belongs to another user, in {path}, where every user can write"
    return ""


def _usual_commands() -> Iterator[tuple[str, ...]]:
    for name in ("cc", "gcc", "clang"):
        program = _which(name)
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


def _remembered(command: tuple[str, ...]) -> Compiler:
    """What is known of a compiler: from this process, from the cache directory, or by trying."""
    identity = command_identity(command)
    if identity in _known:
        return _known[identity]
    asked = "\n".join((identity, *_PROBED, _PROBE, _PROBE_OPENMP))  # other questions, other answers
    name = blake2b(asked.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    try:
        compiler = _from_values(recall(f"compiler-{name}.json"), identity)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        compiler = _try(command)
        remember(f"compiler-{name}.json", {"identity": identity, **asdict(compiler)})
    _known[identity] = compiler
    return compiler


def _from_values(values: dict[str, Any], identity: str) -> Compiler:
    if values.pop("identity") != identity:
        raise ValueError("the file belongs to another compiler")
    command, accepted = tuple(values.pop("command")), tuple(values.pop("accepted"))
    return Compiler(command=command, accepted=accepted, **values)


def _try(command: tuple[str, ...]) -> Compiler:
    """Run a compiler on tiny programs; raises _NotACompiler with the reason."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(scratch_directory()))
        (directory / "probe.c").write_text(_PROBE)
        (directory / "openmp.c").write_text(_PROBE_OPENMP)
        # All at once: the answers take as long as the slowest of them.
        every = _Attempt(stack, command, directory, "probe.c", "every", ("-Werror", *_PROBED))
        openmp = _Attempt(stack, command, directory, "openmp.c", "openmp", ("-fopenmp",))
        version = output_of([*command, "--version"])
        machine = output_of([*command, "-dumpmachine"]).strip()
        linked = openmp.succeeds()
        accepted = _PROBED
        if not every.succeeds():
            plain = _Attempt(stack, command, directory, "probe.c", "plain", ())
            if not plain.succeeds():
                raise _NotACompiler(plain.complaint)
            accepted = _accepted_alone(stack, command, directory)
    kind = "clang" if "clang" in version.lower() else "gcc"
    if command[-1] == "cc" and os.path.basename(command[0]).startswith("zig"):
        kind = "zig"
    stated = re.search(r"^Target: (\S+)", version, re.MULTILINE)
    first = version.strip().partition("\n")[0] or "unknown version"
    return Compiler(command, kind, first, stated[1] if stated else machine, linked, accepted)


def _accepted_alone(stack: ExitStack, command: tuple[str, ...], directory: Path) -> tuple[str, ...]:
    """Those optional flags that the compiler takes one by one."""
    attempts = [
        (flag, _Attempt(stack, command, directory, "probe.c", f"flag{n}", ("-Werror", flag)))
        for n, flag in enumerate((*_PROBED, "-mcpu=native"))
    ]
    return tuple(flag for flag, attempt in attempts if attempt.succeeds())


class _Attempt:
    """A compiler that has been started on a tiny program; it ends with `stack` at the latest."""

    def __init__(
        self,
        stack: ExitStack,
        command: tuple[str, ...],
        directory: Path,
        source: str,
        name: str,
        flags: Sequence[str],
    ) -> None:
        self.complaint = ""
        self._output = directory / f"{name}.so"
        self._running = None
        words = [*command, "-std=c11", "-O2", "-fPIC", "-shared", *flags]
        words += ["-o", self._output.name, source]
        try:
            running = stack.enter_context(Running(words, directory, environment(directory)))
            running.start()
            self._running = running
        except OSError as error:
            self.complaint = str(error)

    def succeeds(self) -> bool:
        """Whether it compiled, once it has ended; /bin/true succeeds, but writes no file."""
        if self._running is None:
            return False
        status, said = self._running.wait()
        if status == 0 and self._output.is_file() and self._output.stat().st_size:
            return True
        self.complaint = utf8(said.strip()).replace("\n", "; ")
        self.complaint = self.complaint or "it compiled a one-line program into nothing"
        return False
