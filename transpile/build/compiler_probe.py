"""Find a C compiler, and probe which flags it accepts by compiling tiny programs.

The results are kept in the cache directory, in a file named by a hash of the compiler's path, size
and modification time and of the probes. So a later process does not run the compiler, and uses no
result of an earlier compiler.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import get_ident
from typing import Any

from transpile.build.commands import ChildProcess, environment
from transpile.disk_cache.cache_ownership import recall, remember
from transpile.disk_cache.process_directory import advising, check_space, scratch_directory
from transpile.errors import CompilerNotFoundError
from transpile.machine.platforms import Platform, platform_of
from transpile.options import Options
from transpile.util.allowed_cflags import writes_elsewhere
from transpile.util.escapes import utf8
from transpile.util.frozen_records import dataclass
from transpile.util.hashing import blake2b

# By default gcc does not inline large helpers, nor those of long expressions; then their loops are
# not vectorised.
INLINING_FLAGS = (
    "-finline-limit=20000",
    "--param=large-function-insns=20000",
    "--param=inline-unit-growth=1000",
)
# Used only where the compiler accepts them. `no-semantic-interposition`: calls between a program's
# own functions do not go through the table by which LD_PRELOAD can replace them.
OPTIONAL_FLAGS = (
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    # No gain where programs have products: copies of loops for strides, a fifth of gcc's time,
    "-fno-version-loops-for-strides",
    "-fno-ipa-cp-clone",  # and of functions for arguments, up to a fifth of a library
    "-fno-gcse-lm",  # gcc 12 moves loads out of nested loops past stores to exchanged pointers
    *INLINING_FLAGS,
    "-fno-semantic-interposition",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    # Before C23 a call of what nothing declares is a warning, and the program cannot be loaded.
    "-Werror=implicit-function-declaration",
)
_OTHERS = ("-fopenmp-simd", "-ffile-prefix-map=a=b", "-march=native")
_PROBED: tuple[str, ...] = (*OPTIONAL_FLAGS, *_OTHERS)
_PROBE = "int probe(int x);\nint probe(int x) { return x + 1; }\n"
_PROBE_OPENMP = """#include <omp.h>
int probe(int *x, int n);
int probe(int *x, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) x[i] += omp_get_thread_num();
    return omp_get_max_threads();
}
"""
_ALL = ("-Werror", *_PROBED, "-fopenmp", "-O0")
# Programs that run another compiler, whose files belong to the identity of the command too.
_WRAPPERS = {"ccache", "sccache", "distcc", "icecc"}


@dataclass(frozen=True)
class Compiler:
    """A C compiler that has been probed.

    command    the start of its command line: `("/usr/bin/gcc",)`, `("/.../zig", "cc")`
    kind       `gcc`, `clang` or `zig`, whose command line it understands
    version    the first line of its --version
    target     the machine that it compiles for: `x86_64-linux-gnu`
    openmp     True if a program with OpenMP compiles and links
    accepted   the optional flags that it accepts without a warning
    """

    command: tuple[str, ...]
    kind: str
    version: str
    target: str
    openmp: bool
    accepted: tuple[str, ...]


_known: dict[str, Compiler] = {}
# Those that are under way, by process, thread and the identity of the compiler.
_begun: dict[tuple[int, int, str], _Probe] = {}


def find_compiler(options: Options) -> Compiler:
    """The C compiler to use: the one that the user names, else the first that works.

    It is named by `options.cc`, or by the environment variables TRANSPILE_CC and CC: an absolute
    path, or a command with arguments (`ccache gcc`), which is not run by a shell. Else `cc`, `gcc`
    and `clang` on PATH are tried, then the package `ziglang`. The working directory is not
    searched, and a program that every user of the machine could have replaced is not run.

    Raises CompilerNotFoundError where there is none, or where the named one is missing, would write
    files other than its output, or does not compile C.
    """
    platform = platform_of(options.target)
    named = _named(options)
    if named is not None:
        return _of_named(*named, platform)
    failures = []
    for command in _usual_commands(platform):
        try:
            if problem := writable_by_all(command[0]):
                raise _NotACompiler(problem)
            return _facts(command, platform)
        except _NotACompiler as error:
            failures.append(f"; {command[0]} does not work: {error}")
    if platform.name:
        looked = [f"{platform.gcc} on PATH"] if platform.gcc else []
        looked += ["the Python package ziglang"] if platform.zig_target else []
        raise CompilerNotFoundError(
            f"no C compiler for {platform.name} was found (looked for {' and for '.join(looked)}): "
            f"install {platform.remedies}, or name one in the compiler option 'cc'"
            + "".join(failures)
        )
    raise CompilerNotFoundError(
        "no C compiler was found (looked for cc, gcc and clang on PATH and for the Python package "
        "ziglang): install one, for instance with `apt-get install gcc` or `pip install ziglang`, "
        "or name one in the environment variable TRANSPILE_CC" + "".join(failures)
    )


def _of_named(text: str, origin: str, platform: Platform) -> Compiler:
    """The compiler that the user names; CompilerNotFoundError where it does not serve."""
    command = _resolve(text, platform)
    if command is None:
        raise CompilerNotFoundError(
            f"the C compiler {text!r}, named by {origin}, was not found; name an installed "
            f"one, by its absolute path or its name on PATH, or leave {origin} unset"
        )
    if (word := writes_elsewhere(command[1:])) is not None:
        raise CompilerNotFoundError(
            f"the C compiler {text!r}, named by {origin}, is not run: with {word!r} it writes "
            "other files than its output, or no output"
        )
    if problem := writable_by_all(command[0]):
        raise CompilerNotFoundError(
            f"the C compiler {text!r}, named by {origin}, is not run: {problem}"
        )
    try:
        compiler = _facts(command, platform)
    except _NotACompiler as error:
        raise CompilerNotFoundError(
            f"{text!r}, named by {origin}, is not a working C compiler: {error}"
        ) from None
    if compiler.kind != "zig" and not compiler.target.startswith(platform.processor):
        raise CompilerNotFoundError(
            f"{text!r}, named by {origin}, compiles for {compiler.target}, not for {platform.name}"
        )
    return compiler


def is_probed(options: Options) -> bool:
    """True if `find_compiler` finds facts about the compiler, and runs none."""
    command, platform = _first(options), platform_of(options.target)
    return command is not None and _remembered(_identity(command, platform)) is not None


@contextmanager
def probing(options: Options) -> Iterator[None]:
    """Run the compiler beside what the `with` block does, where nothing is known about it, so that
    a `find_compiler` of this thread inside the block waits for less. Where that is not possible,
    `find_compiler` says why."""
    place, probe = None, None
    with suppress(OSError):
        command = _first(options)
        if command is not None and _may_run(command):
            platform = platform_of(options.target)
            identity = _identity(command, platform)
            if _remembered(identity) is None:
                place, probe = (os.getpid(), get_ident(), identity), _Probe(command, platform)
                _begun[place] = probe
    try:
        yield
    finally:
        if place is not None and probe is not None:
            _begun.pop(place, None)
            probe.close()


def _first(options: Options) -> tuple[str, ...] | None:
    """The command that `find_compiler` tries first."""
    named, platform = _named(options), platform_of(options.target)
    if named is not None:
        return _resolve(named[0], platform)
    return next(_usual_commands(platform), None)


def _may_run(command: tuple[str, ...]) -> bool:
    return writes_elsewhere(command[1:]) is None and not writable_by_all(command[0])


def command_identity(command: Sequence[str]) -> str:
    """The command, with path, size and modification time of each word of it that is a program."""
    parts = [shlex.join(command)]
    is_zig = command[1:] == ("cc",) or command[1:3] == ("cc", "-target")
    words = command[:1] if is_zig else command
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


def _identity(command: Sequence[str], platform: Platform) -> str:
    """The command that compiles for a platform, by which its facts are kept."""
    identity = command_identity(command)
    return f"{identity} for {platform.name}" if platform.name else identity


def _all_on_path(name: str) -> list[str]:
    """Every program of that name on PATH: a `cc` that is ccache runs the next `cc` on PATH."""
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # A relative or empty directory would depend on the working directory.
    programs = (os.path.join(directory, name) for directory in paths if os.path.isabs(directory))
    return [program for program in programs if _is_program(program)]


def _which(word: str) -> str | None:
    """The program that a word of a command names by an absolute path or a name on PATH, or None."""
    if os.path.dirname(word):
        return word if os.path.isabs(word) and _is_program(word) else None
    return next(iter(_all_on_path(word)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


# -- search ----------------------------------------------------------------------------------------


class _NotACompiler(Exception):
    """The reason why a command does not serve as a C compiler."""


def _named(options: Options) -> tuple[str, str] | None:
    """(command, the option or variable that names it), or None where the user names none. The
    variables name what compiles for this machine."""
    if options.target:
        return (options.cc, "the compiler option 'cc'") if options.cc.strip() else None
    for text, origin in (
        (options.cc, "the compiler option 'cc'"),
        (os.environ.get("TRANSPILE_CC", ""), "the environment variable TRANSPILE_CC"),
        (os.environ.get("CC", ""), "the environment variable CC"),
    ):
        if text.strip():
            return text, origin
    return None


def _resolve(text: str, platform: Platform) -> tuple[str, ...] | None:
    """A user's path or command as an argument list with an absolute program, or None."""
    command = _words_of(text)
    return None if command is None else _compiling_for(command, platform)


def _compiling_for(command: tuple[str, ...], platform: Platform) -> tuple[str, ...]:
    """A command that compiles for a platform: one compiler for all is told which."""
    if platform.name and _is_zig(command):
        return (*command, "-target", platform.zig_target)
    if platform.name and os.path.basename(command[0]).startswith("clang"):
        return (*command, f"--target={platform.name}")
    return command


def _is_zig(command: Sequence[str]) -> bool:
    return command[1:2] == ("cc",) and os.path.basename(command[0]).startswith("zig")


def _words_of(text: str) -> tuple[str, ...] | None:
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


def writable_by_all(program: str) -> str:
    """How any user of the machine could have replaced a program, or ""; its owner, root and the
    members of its group are trusted."""
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


def _usual_commands(platform: Platform) -> Iterator[tuple[str, ...]]:
    for name in (platform.gcc,) if platform.name else ("cc", "gcc", "clang"):
        program = _which(name) if name else None
        if program is not None:
            yield (os.path.abspath(program),)
    if (platform.zig_target or not platform.name) and (zig := _ziglang()) is not None:
        yield _compiling_for(zig, platform)


def _ziglang() -> tuple[str, ...] | None:
    """The `zig cc` of the Python package ziglang, which is found without importing it."""
    spec = importlib.util.find_spec("ziglang")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = os.path.join(directory, "zig")
        if os.access(program, os.X_OK):
            return (program, "cc")
    return None


def _facts(command: tuple[str, ...], platform: Platform) -> Compiler:
    """The facts about a compiler: those of this process, of the cache directory, or of a probe."""
    identity = _identity(command, platform)
    compiler = _remembered(identity)
    if compiler is None:
        begun = _begun.pop((os.getpid(), get_ident(), identity), None)
        begun = begun or _Probe(command, platform)
        compiler = _known[identity] = begun.compiler()
        remember(_file_of_facts(identity), {"identity": identity, **asdict(compiler)})
    return compiler


def _remembered(identity: str) -> Compiler | None:
    """The facts about a compiler of this process, or of the cache directory; None without any."""
    if identity not in _known:
        try:
            _known[identity] = _from_values(recall(_file_of_facts(identity)), identity)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
    return _known[identity]


def _file_of_facts(identity: str) -> str:
    probed = "\n".join((identity, *_PROBED, _PROBE, _PROBE_OPENMP))
    digest = blake2b(probed.encode("utf-8", "surrogateescape"), digest_size=8)
    return f"compiler-{digest.hexdigest()}.json"


def _from_values(values: dict[str, Any], identity: str) -> Compiler:
    if values.pop("identity") != identity:
        raise ValueError("the file belongs to another compiler")
    command, accepted = tuple(values.pop("command")), tuple(values.pop("accepted"))
    return Compiler(command=command, accepted=accepted, **values)


class _Probe:
    """Commands that find the facts about a compiler, started. `close` kills what still runs."""

    def __init__(self, command: tuple[str, ...], platform: Platform) -> None:
        self._command = command
        self._words = words = (*command, "-std=c11", "-O2", *platform.shared)
        self.owner = os.getpid()
        with advising(), ExitStack() as stack:
            self._directory = Path(stack.enter_context(scratch_directory()))
            (self._directory / "probe.c").write_text(_PROBE)
            (self._directory / "openmp.c").write_text(_PROBE_OPENMP)
            # Beside the versions. Most compilers accept all of it, so that one trial is enough. zig
            # never does, and first builds all of a C library for the processor that it names.
            self._trial = None
            if not _is_zig(command):
                self._trial = _Trial(stack, words, self._directory, "openmp.c", "all", _ALL)
            self._version = _asked(stack, [*command, "--version"], self._directory)
            self._machine = _asked(stack, [*command, "-dumpmachine"], self._directory)
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End it; the files are removed."""
        if os.getpid() == self.owner:
            self._stack.close()

    def compiler(self) -> Compiler:
        """The facts; raises _NotACompiler, with the reason, where nothing compiles."""
        command = self._command
        with advising(), self._stack:
            version, machine = _said(self._version), _said(self._machine).strip()
            linked, accepted = True, _PROBED
            if self._trial is None or not self._trial.succeeds():
                linked, accepted = _accepted_in_parts(
                    self._stack, command, self._words, self._directory
                )
        kind = "clang" if "clang" in version.lower() else "gcc"
        if _is_zig(command):
            kind = "zig"
        stated = re.search(r"^Target: (\S+)", version, re.MULTILINE)
        first = version.strip().partition("\n")[0] or "unknown version"
        return Compiler(command, kind, first, stated[1] if stated else machine, linked, accepted)


def _asked(stack: ExitStack, command: Sequence[str], directory: Path) -> ChildProcess | None:
    """A command whose standard output is wanted, started; None where that is not possible."""
    process = ChildProcess(command, directory, environment(directory), errors=False)
    try:
        stack.enter_context(process).start()
    except OSError:
        return None
    return process


def _said(process: ChildProcess | None) -> str:
    return process.wait()[1] if process is not None else ""


def _accepted_in_parts(
    stack: ExitStack, command: tuple[str, ...], shared: tuple[str, ...], directory: Path
) -> tuple[bool, tuple[str, ...]]:
    """Whether the compiler has OpenMP, and which of the optional flags it accepts; raises
    _NotACompiler, with the reason, where it makes no library. Flags are tried on object files:
    with `-march=native` zig would build the C library that it links for this processor alone."""
    words = (*command, "-std=c11", "-O2", "-c", "-Werror")
    # Started together, they take as long as the slowest of them.
    every = _Trial(stack, words, directory, "probe.c", "every", _PROBED)
    openmp = _Trial(stack, shared, directory, "openmp.c", "openmp", ("-fopenmp",))
    linked = openmp.succeeds()
    if not linked:
        plain = _Trial(stack, shared, directory, "probe.c", "plain", ())
        if not plain.succeeds():
            check_space(directory)
            raise _NotACompiler(plain.problem)
    if every.succeeds():
        return linked, _PROBED
    trials = [
        (flag, _Trial(stack, words, directory, "probe.c", f"flag{n}", (flag,)))
        for n, flag in enumerate((*_PROBED, "-mcpu=native"))
    ]
    return linked, tuple(flag for flag, trial in trials if trial.succeeds())


class _Trial:
    """A compilation of a tiny program, started; it is killed where it runs when `stack` ends."""

    def __init__(
        self,
        stack: ExitStack,
        command: tuple[str, ...],
        directory: Path,
        source: str,
        name: str,
        flags: Sequence[str],
    ) -> None:
        self.problem = ""
        self._output = directory / f"{name}.so"
        self._running = None
        words = [*command, *flags, "-o", self._output.name, source]
        try:
            running = stack.enter_context(ChildProcess(words, directory, environment(directory)))
            running.start()
            self._running = running
        except OSError as error:
            self.problem = str(error)

    def succeeds(self) -> bool:
        """Wait for the end; True if it wrote a library: /bin/true ends well and writes none."""
        if self._running is None:
            return False
        status, output = self._running.wait()
        if status == 0 and self._output.is_file() and self._output.stat().st_size:
            return True
        self.problem = utf8(output.strip()).replace("\n", "; ")
        self.problem = self.problem or "it wrote no library for a program of one line"
        return False
