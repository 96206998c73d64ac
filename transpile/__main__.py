"""The command line: `python -m transpile COMMAND`, each with `--help`.

Exit codes: 0 for success, 1 where a function cannot be compiled or a compiler is missing, 2 for a
command with wrong arguments. Errors of the user's module are lines on stderr, without tracebacks.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import transpile
from transpile.analysis.dialects import DIALECTS
from transpile.artifact import KINDS
from transpile.build import toolchain
from transpile.command_line import warm
from transpile.command_line.arguments import NUMBERS, UsageError
from transpile.command_line.arguments import options as options_of
from transpile.command_line.build import build as build_library
from transpile.command_line.build import lowered_of, size_text
from transpile.command_line.explore import explore
from transpile.command_line.imports import guarded
from transpile.command_line.inspect import inspect
from transpile.command_line.watch import watch, write_files
from transpile.disk_cache.cache import Cache, Entry, default_cache
from transpile.disk_cache.cache_listing import Usage
from transpile.errors import CompilerNotFoundError, TranspileError
from transpile.options import Options
from transpile.runtime import fast_call
from transpile.targets import choice

_KNOWN_DIALECTS = (*DIALECTS, *choice.DIALECTS, "asm")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of the process; the exit code is returned."""
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        parser.print_help()
        return 0
    chosen = parser.parse_args(words)
    try:
        code: int = chosen.run(chosen)
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"transpile: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `transpile show ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


# ------------------------------------------------------------------------------------ arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="transpile", description="Numerical Python functions, compiled to readable C."
    )
    parser.add_argument("--version", action="version", version=f"transpile {transpile.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_build(commands)
    show = _command(commands, "show", _show, "print what a function becomes")
    _add_shown(show)
    show.add_argument("--files-to", metavar="FILE", help=argparse.SUPPRESS)
    watched = _command(
        commands,
        "watch",
        partial(watch, main),
        "as show, and again whenever the function's file is saved",
    )
    _add_shown(watched)
    page = _command(
        commands, "explore", explore, "write a page of HTML: Python, loops, C and assembly"
    )
    _add_explored(page)
    saved = _command(
        commands, "inspect", inspect, "say what saved files were made of, without loading them"
    )
    saved.add_argument(
        "files", metavar="FILE", nargs="+", help="a .so, .a, .o, .c or .json that was saved"
    )
    saved.add_argument("--json", action="store_true", help="print JSON")
    doctor = _command(commands, "doctor", _doctor, "say which compiler and settings are used")
    doctor.add_argument(
        "--require-compiler",
        action="store_true",
        help="print nothing, unless there is no C compiler: then say what to install, and exit 1",
    )
    _add_options(doctor)
    caches = _command(commands, "cache", None, "look at the compiled programs, or remove them")
    actions = caches.add_subparsers(metavar="ACTION", required=True)
    _command(actions, "list", _cache_list, "a line for each program, the latest used first")
    one = _command(
        actions, "show", _cache_show, "the files of a program and what its key is made of"
    )
    one.add_argument("name", metavar="NAME", help="a program's name, or the start of its name-key")
    clear = _command(actions, "clear", _cache_clear, "remove every program, or those of a name")
    clear.add_argument(
        "name", metavar="NAME", nargs="?", help="a program's name, or the start of its name-key"
    )
    _command(
        actions,
        "warm",
        _cache_warm,
        "compile what programs share, so that first calls do not wait for it",
    )
    _command(actions, "path", _cache_path, "print the cache's directory")
    return parser


def _add_build(commands: Any) -> None:
    build = _command(
        commands,
        "build",
        build_library,
        "write a function as a C library: .so, .h and .c; or, without one, the functions that the "
        "table [tool.transpile] of pyproject.toml names",
    )
    _add_function(build, is_optional=True)
    build.add_argument("-o", "--output", metavar="DIR", help="where to (default: .)")
    build.add_argument("--name", metavar="NAME", help="the name of the C function and the files")
    build.add_argument(
        "--march",
        metavar="LEVEL",
        help="the processors that it runs on (default: x86-64-v3 and later, or what the compiler "
        "takes on other machines): native, a level, or several: multi, x86-64,x86-64-v3",
    )
    _add_machine(build)
    build.add_argument(
        "--private-libraries",
        action="store_true",
        help="link with the LAPACK of this installation of Python, if the function needs one",
    )
    build.add_argument(
        "--communicator",
        metavar="NAME",
        help="of a function for several devices: mpi writes what makes the processes of an MPI "
        "program the devices, and an example of such a program",
    )
    build.add_argument(
        "--for",
        metavar="KIND",
        dest="kinds",
        action="append",
        default=[],
        choices=KINDS,
        help="write a library libNAME.so, and further files for KIND, one of "
        f"{', '.join(KINDS)} (may be repeated)",
    )
    build.add_argument(
        "--source-only", action="store_true", help="compile nothing: write C files and headers"
    )
    build.add_argument(
        "--project", metavar="FILE", help="the file with the table (default: pyproject.toml)"
    )


def _add_machine(build: argparse.ArgumentParser) -> None:
    build.add_argument(
        "--target",
        metavar="TRIPLE",
        help="the machine that it is for, if that is another one: aarch64-linux-gnu, wasm32-wasi, "
        "x86_64-windows-gnu and others (docs/other_machines.md)",
    )
    build.add_argument(
        "--freestanding",
        action="store_const",
        const="true",
        help="C that needs no C library but math.h, and no threads: for microcontrollers",
    )
    build.add_argument(
        "--float-only",
        action="store_const",
        const="true",
        help="refuse a function that computes with numbers of double precision",
    )


def _command(
    commands: Any, name: str, run: Callable[[Any], int] | None, text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run)
    return parser


def _add_function(parser: argparse.ArgumentParser, is_optional: bool = False) -> None:
    parser.add_argument(
        "function",
        nargs="?" if is_optional else None,
        metavar="MODULE:FUNCTION",
        help="such as models.heat:step or heat.py:step; "
        "the module is imported, so that all of its top level runs that does not stand behind "
        "`if __name__ == '__main__':`; what that prints goes to stderr; or a module of XLA: "
        "model.mlir (StableHLO), model.hlo (HLO text) or model.pb (HloModuleProto)",
    )
    parser.add_argument(
        "--arg",
        metavar="[NAME=]TYPE",
        action="append",
        default=[],
        help="the type of the next argument, or of the argument NAME: float64[1000,3], int32, a "
        "dict, tuple or list of types as in {'w': float64[3], 'b': float64}, or "
        f"{', '.join(NUMBERS)} for a Python number (once for each argument, in order)",
    )
    parser.add_argument(
        "--size",
        metavar="CONSTRAINT",
        action="append",
        default=[],
        help="what holds of the runtime sizes of float64[n,3] in every call: 'n %% 8 == 0', "
        "'1 <= n <= 4096', 'm == 2*n', 'n < m'",
    )
    parser.add_argument(
        "--static",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of an argument that becomes part of the program: a Python literal",
    )
    _add_options(parser)


def _add_explored(page: argparse.ArgumentParser) -> None:
    _add_function(page)
    page.add_argument("-o", "--output", metavar="FILE", help="the page (default: FUNCTION.html)")
    page.add_argument(
        "--measure",
        action="store_true",
        help="run it on drawn arguments: how long each kernel takes, and this machine's roofline",
    )
    page.add_argument(
        "--measure-size",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="a runtime size of these arguments, n=1000; runs it as --measure does",
    )


def _add_shown(parser: argparse.ArgumentParser) -> None:
    _add_function(parser)
    dialects = ", ".join(_KNOWN_DIALECTS)
    parser.add_argument(
        "--dialect", metavar="NAME", default="c", help=f"one of {dialects} (default: c)"
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(field.name for field in fields(Options()) if field.name != "machine")
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"a compiler option, such as march=x86-64-v3; there are {names}",
    )


# ----------------------------------------------------------------------------------------- show


def _show(chosen: argparse.Namespace) -> int:
    try:
        return _shown(chosen)
    finally:
        if chosen.files_to:
            write_files(Path(chosen.files_to))


def _shown(chosen: argparse.Namespace) -> int:
    dialect: str = chosen.dialect
    if dialect not in _KNOWN_DIALECTS:
        raise UsageError(f"unknown dialect: {dialect}; there are: {', '.join(_KNOWN_DIALECTS)}")

    def work() -> None:
        lowered = lowered_of(chosen)
        stage = lowered.compile() if dialect == "asm" else lowered
        print(stage.as_text(dialect).rstrip())

    return guarded(chosen.function, work)


# --------------------------------------------------------------------------------------- doctor


def _doctor(chosen: argparse.Namespace) -> int:
    options = options_of(chosen.option)
    if chosen.require_compiler:
        try:
            toolchain.find_compiler(options)
        except CompilerNotFoundError as error:
            print(f"transpile: {error}", file=sys.stderr)
            return 1
        return 0
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numpy", "cffi", "jinja2"))
    python = ".".join(map(str, sys.version_info[:3]))
    rows = {"transpile": f"{_version('transpile')}, Python {python}, {packages}"}
    rows.update(toolchain.describe(options))
    rows["calls"] = fast_call.describe()
    cache = default_cache()
    entries = cache.entries()
    size = size_text(sum(usage.size for usage in entries))
    rows["cache"] = f"{cache.path} ({_count(len(entries))}, {size} of {size_text(cache.max_bytes)})"
    if problem := cache.problem():
        rows["cache"] += f": not used, {problem}"
    rows["devices"] = f"the CPU; {choice.describe()}"
    width = max(map(len, rows))
    for title, value in rows.items():
        print(f"{title:{width}}  {value}")
    return 1 if rows["compiler"].startswith("none") else 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


# ---------------------------------------------------------------------------------------- cache


def _why_unreadable(cache: Cache) -> str:
    """Why the programs of a cache cannot be listed, or "".

    The usual directory may be missing, until the first program is compiled; one that was named
    should be there.
    """
    problem = cache.problem()
    if not problem and os.environ.get("TRANSPILE_CACHE_DIR") and not cache.path.exists():
        problem = (
            "TRANSPILE_CACHE_DIR names it, and there is no such directory; the first program that "
            "is compiled makes it"
        )
    return problem


def _cache_list(chosen: argparse.Namespace) -> int:
    cache = default_cache()
    if problem := _why_unreadable(cache):
        return _fail(f"the cache {cache.path} cannot be listed: {problem}")
    entries = cache.entries()
    now = time.time()
    width = max((len(_entry_name(usage)) for usage in entries), default=0)
    for usage in entries:
        size, age = size_text(usage.size), _ago(now - usage.last_used)
        print(f"{_entry_name(usage):{width}}  {size:>8}  {age}")
    print(f"{_count(len(entries))}, {size_text(sum(u.size for u in entries))} in {cache.path}")
    return 0


def _entry_name(usage: Usage) -> str:
    return f"{usage.name}-{usage.key}"


def _cache_show(chosen: argparse.Namespace) -> int:
    cache = default_cache()
    if problem := _why_unreadable(cache):
        return _fail(f"the cache {cache.path} cannot be read: {problem}")
    entries = cache.show(chosen.name)
    if not entries:
        raise UsageError(f"there is no program {chosen.name!r} in {cache.path}")
    for entry in entries:
        _print_entry(entry)
    return 0


def _print_entry(entry: Entry) -> None:
    print(entry.directory)
    for path in sorted(entry.directory.iterdir()):
        print(f"  {path.name:24}{size_text(path.stat().st_size):>10}")
    print("  key:")
    for name, text in sorted(entry.meta.get("ingredients", {}).items()):
        print(f"    {name:14}{' '.join(text.split())}")
    print()


def _cache_clear(chosen: argparse.Namespace) -> int:
    cache = default_cache()
    try:
        count, size = cache.clear(chosen.name or "")
    except OSError as error:
        return _fail(f"the cache {cache.path} cannot be cleared: {error}")
    if chosen.name and not count:
        raise UsageError(f"there is no program {chosen.name!r} in {cache.path}")
    print(f"removed {_count(count)}, {size_text(size)}, from {cache.path}")
    return 0


def _cache_warm(chosen: argparse.Namespace) -> int:
    begin = time.perf_counter()
    cache = default_cache()
    if problem := cache.problem():
        return _fail(f"the cache {cache.path} cannot be used: {problem}")
    try:
        for what in warm.compiled():
            print(f"{time.perf_counter() - begin:6.1f} s  {what}", flush=True)
    except TranspileError as error:
        return _fail(str(error))
    return 0


def _cache_path(chosen: argparse.Namespace) -> int:
    print(default_cache().path)
    return 0


def _fail(message: str) -> int:
    print(f"transpile: {message}", file=sys.stderr)
    return 1


def _count(number: int) -> str:
    return f"{number} program{'' if number == 1 else 's'}"


def _ago(seconds: float) -> str:
    for length, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


if __name__ == "__main__":
    sys.exit(main())
