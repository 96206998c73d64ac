"""The command `build`: functions become C libraries, by words of the command or by a project's
table `[tool.transpile]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from transpile.api import jit
from transpile.artifact import WITHOUT_LIBRARY, Library
from transpile.artifact.description import declaration_of
from transpile.command_line.arguments import UsageError, argument, check_call, sizes, static
from transpile.command_line.arguments import options as options_of
from transpile.command_line.imports import function_named, guarded
from transpile.command_line.modules import function_of, is_module
from transpile.command_line.project import Wanted, read_project
from transpile.options import Options
from transpile.stages import Lowered
from transpile.symbols.identifiers import identifier, program_name
from transpile.util.escapes import shown_path


def build(chosen: argparse.Namespace) -> int:
    """Run the command; the exit code is returned."""
    for word in ("march", "target", "freestanding", "float_only"):
        if (value := getattr(chosen, word)) is not None:
            chosen.option = [*chosen.option, f"{word}={value}"]
    if chosen.function is None:
        return _build_project(chosen)
    if chosen.project is not None:
        raise UsageError("--project is for functions of a table, not for one that is named")
    return guarded(chosen.function, partial(_build_function, chosen))


def lowered(wanted: Wanted, options: Options) -> Lowered:
    """A function, traced for the types that are wanted."""
    function, statics, known = wanted.function, wanted.statics, sizes(wanted.sizes)
    examples = [argument(text, known) for text in wanted.args]
    positional = [example for name, example in examples if not name]
    named = {name: example for name, example in examples if name}
    if is_module(function):
        if examples or statics:
            raise UsageError(f"{function} says itself what its arguments are")
        found = function_of(function)
        positional = list(found.in_avals)
    else:
        found = function_named(function)
        check_call(function, found, positional, {**named, **statics})
    if isinstance(found, FunctionType) and hasattr(found, "lower"):  # one for several devices
        return _mapped(function, found, options, positional, {**named, **statics})
    settings = {name: getattr(options, name) for name in Options.__dataclass_fields__}
    try:
        jitted = jit(found, static_argnames=tuple(statics), compiler_options=settings)
    except ValueError as error:
        raise UsageError(" ".join(str(error).split())) from None
    result: Lowered = jitted.lower(*positional, **named, **statics)
    return result


def _mapped(
    function: str, found: Any, options: Options, args: list[Any], named: dict[str, Any]
) -> Lowered:
    """The program of a device of a mapped function, which has its own options."""
    if options != Options():
        raise UsageError(
            f"{function} is for several devices: give the options to what it maps, as in "
            "pmap(jit(f, compiler_options={...}))"
        )
    result: Lowered = found.lower(*args, **named)
    return result


def lowered_of(chosen: argparse.Namespace) -> Lowered:
    """The function of a command, traced for the types of the command."""
    statics = dict(static(text) for text in chosen.static)
    wanted = Wanted(chosen.function, tuple(chosen.arg), tuple(chosen.size), statics)
    return lowered(wanted, options_of(chosen.option))


def _build_function(chosen: argparse.Namespace) -> None:
    name: str | None = chosen.name
    if name is not None and program_name(name) != name:
        found = (
            "is a name of C or of its libraries"
            if identifier(name) == name
            else "is not a C identifier"
        )
        raise UsageError(f"--name {name!r} {found}; {program_name(name)!r} would do")
    output, private = chosen.output or ".", chosen.private_libraries
    program = lowered_of(chosen)
    if chosen.communicator and (chosen.kinds or chosen.source_only):
        raise UsageError("--communicator is for a function alone, without --for and --source-only")
    if chosen.kinds or chosen.source_only:
        name = program_name(name or program.compiler_ir("graph").name)
        _write(Library(name, {name: program}), chosen, Path(output), chosen.kinds)
        return
    paths = program.save(output, name, private_libraries=private, communicator=chosen.communicator)
    header = paths[0].with_suffix(".h")
    print(f"{declaration_of(header.read_text(encoding='utf-8'))}\n")
    _list(paths)


def _build_project(chosen: argparse.Namespace) -> int:
    for word in ("arg", "size", "static", "name", "communicator"):
        if getattr(chosen, word):
            raise UsageError(f"--{word} is for a function: name it, as MODULE:FUNCTION")
    project = read_project(Path(chosen.project or "pyproject.toml"))
    options = project.options.replace(_changes(options_of(chosen.option)))
    sys.path.insert(0, str(project.directory))
    functions: dict[str, Lowered] = {}

    def trace(name: str) -> None:
        functions[name] = lowered(project.functions[name], options)

    for name in project.functions:
        if code := guarded(f"{project.place}: {name}", partial(trace, name)):
            return code

    def work() -> None:
        library = Library(project.name, functions, version=project.version)
        directory = Path(chosen.output) if chosen.output else project.output
        kinds = [k for k in project.kinds if not chosen.source_only or k in WITHOUT_LIBRARY]
        _write(library, chosen, directory, [*kinds, *chosen.kinds])

    return guarded(project.place, work)


def _changes(options: Options) -> dict[str, Any]:
    """The options that are not the usual ones."""
    usual = Options()
    values = {name: getattr(options, name) for name in Options.__dataclass_fields__}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


def _write(
    library: Library, chosen: argparse.Namespace, directory: Path, kinds: Sequence[str]
) -> None:
    """Write a library; print its functions, and the files that are new."""
    several = len(library.names) > 1
    try:
        paths = library.write(
            directory,
            kinds,
            source_only=chosen.source_only,
            private_libraries=chosen.private_libraries,
            progress=lambda name: print(f"  {name} ...", file=sys.stderr) if several else None,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    for description in library.descriptions:
        print(description.declaration)
    print()
    if paths:
        _list(paths)
    else:
        print(f"  {shown_path(directory)} is up to date")


def _list(paths: Sequence[Path]) -> None:
    shown = [shown_path(path) for path in paths]
    width = max(map(len, shown))
    for path, text in zip(paths, shown, strict=True):
        print(f"  {text:{width}}  {size_text(path.stat().st_size):>8}")


def size_text(number: int) -> str:
    """A number of bytes with its unit."""
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
