"""A C library of one or several functions, with the files by which build systems find it.

libNAME.so, and for each function its C file and header; NAME.h includes those of several functions.
Further files are written for what is named in `KINDS`. All bytes depend on the functions, options
and compiler alone, and a file that is there with the same bytes is left alone, so that a build
system does nothing again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from transpile.artifact.description import FunctionDescription, described
from transpile.artifact.python_module import python_module
from transpile.build import link_libraries, toolchain
from transpile.build.processors import compiled_for, processors_of
from transpile.codegen.plan.provenance import record_of
from transpile.codegen.templates.filling import filled_in
from transpile.machine.platforms import platform_of
from transpile.runtime.executable import Lowering
from transpile.stages import Lowered
from transpile.symbols.identifiers import (
    exported_in,
    exported_names,
    identifier,
    program_name,
)
from transpile.util.atomic_files import replace_files
from transpile.util.frozen_records import cached_property

# What further files are written for, and those of them that need no compiled library.
KINDS = ("archive", "cmake", "meson", "metadata", "pkg-config", "python")
WITHOUT_LIBRARY = ("metadata",)


class Library:
    """A C library of lowered functions, which are compiled with the same options.

    name      of the library: a C identifier, and no function's where there are several
    functions  the functions, by their names in C
    version   for pkg-config and the metadata

    Raises ValueError for names that are none of C's, or differing options.
    """

    def __init__(self, name: str, functions: Mapping[str, Lowered], *, version: str = "0") -> None:
        if not functions:
            raise ValueError("a library has at least one function")
        for one in (name, *functions):
            if program_name(one) != one:
                kind = "a name of C or of its libraries" if identifier(one) == one else "no name"
                raise ValueError(f"{one!r} is {kind} in C; {program_name(one)!r} would do")
        if name in functions and len(functions) > 1:
            raise ValueError(f"the library of several functions is called {name!r} as one of them")
        _check_apart(functions)
        self.name = name
        self.version = version
        self._functions = {
            one: (lowered, lowered._lowering.called(one)) for one, lowered in functions.items()
        }
        wanted = self._lowerings[0].options
        if any(lowering.options != wanted for lowering in self._lowerings):
            raise ValueError("the functions of a library are compiled with the same options")
        self._processors = processors_of(wanted)
        self._options = compiled_for(wanted, self._processors[0])
        self._platform = platform_of(wanted.target)

    @property
    def names(self) -> list[str]:
        """The functions' names in C."""
        return [*self._functions]

    @property
    def _lowerings(self) -> list[Lowering]:
        return [lowering for _, lowering in self._functions.values()]

    def write(
        self,
        directory: str | Path,
        kinds: Collection[str] = (),
        *,
        source_only: bool = False,
        private_libraries: bool = False,
        progress: Callable[[str], None] = lambda name: None,
    ) -> list[Path]:
        """Write the files into a directory; returns the paths of those that have changed.

        kinds              of `KINDS`, for which further files are written
        source_only        nothing is compiled: C files, headers and metadata
        private_libraries  also where it is linked with libraries of this installation of Python
        progress           is called with the name of each function before that is compiled

        All files are replaced together; where an OSError is raised, none is. Raises ValueError for
        unknown kinds, and what `Lowered.save` does.
        """
        contents = self._contents(kinds, source_only, private_libraries, progress)
        place = Path(directory)
        fresh = {n: data for n, data in contents.items() if _content(place / n) != data}
        return replace_files(place, fresh)[::-1] if fresh else []

    def _contents(
        self,
        kinds: Collection[str],
        source_only: bool,
        private_libraries: bool,
        progress: Callable[[str], None],
    ) -> dict[str, bytes]:
        """The files by name, each after what it needs."""
        self._check_kinds(kinds, source_only)
        objects: dict[str, bytes] = {}
        for name, (_, lowering) in self._functions.items():
            progress(name)
            if not private_libraries:
                lowering.check_public()
            if not source_only:
                objects |= lowering.objects()
        contents = {n: data for texts in self._sources.values() for n, data in texts.items()}
        if self.name not in self._functions:
            contents[f"{self.name}.h"] = self._filled_in("library.h", names=self.names)
        for kind in KINDS:
            if kind in kinds:
                contents |= self._further(kind, objects, kinds)
        return contents | self._library_files(objects, contents)

    def _check_kinds(self, kinds: Collection[str], source_only: bool) -> None:
        """ValueError for files that cannot be written."""
        if unknown := sorted({*kinds} - {*KINDS}):
            raise ValueError(f"unknown kind of files {unknown[0]!r}; there are {', '.join(KINDS)}")
        if source_only and (others := sorted({*kinds} - {*WITHOUT_LIBRARY})):
            raise ValueError(f"files for {others[0]} need a compiled library")
        platform = self._platform
        if not platform.loads and (others := sorted({*kinds} - {"archive", "metadata"})):
            raise ValueError(f"there are no files for {others[0]} of target={platform.name!r}")
        if not (platform.links or source_only or "archive" in kinds):
            raise ValueError(f"a library for {platform.name} is an archive: --for archive")

    def _library_files(
        self, objects: Mapping[str, bytes], contents: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        """The library, and what programs are linked with where that is another file."""
        if not objects or not self._platform.links:
            return {}
        headers = [(name, contents[f"{name}.h"].decode()) for name in self._functions]
        exported = [one for name, text in headers for one in exported_in(text, name)]
        return link_libraries.shared_library(
            f"lib{self.name}", objects, self._linked, self._options, exported
        )

    def _further(
        self, kind: str, objects: Mapping[str, bytes], kinds: Collection[str]
    ) -> dict[str, bytes]:
        """The files of a kind."""
        name = self.name
        match kind:
            case "archive":
                data = link_libraries.archive(name, objects, self._options)
                return {f"lib{name}.a": data}
            case "cmake":
                text = self._filled_in(
                    "config.cmake", archive="archive" in kinds, libraries=self._link_words()
                )
                version = self._filled_in("config_version.cmake", version=self.version)
                return {f"{name}Config.cmake": text, f"{name}ConfigVersion.cmake": version}
            case "meson":
                return {"meson.build": self._filled_in("meson.build")}
            case "metadata":
                return {f"{name}.json": json.dumps(self.metadata(), indent=1).encode() + b"\n"}
            case "pkg-config":
                names = ", ".join(self._functions)
                values = {"description": f"the functions {names}", "version": self.version}
                return {f"{name}.pc": self._filled_in("library.pc", **values)}
        module, stubs = python_module(self._file, name, self.descriptions)
        return {f"{name}.pyi": stubs.encode(), f"{name}.py": module.encode()}

    def _filled_in(self, template: str, **values: Any) -> bytes:
        linked = self._platform.import_library(f"lib{self.name}")
        known = {"library": self.name, "file": self._file, "linked_file": linked}
        return filled_in(f"artifact/{template}.j2", **known, **values).encode()

    @property
    def _file(self) -> str:
        """What is loaded."""
        return self._platform.file(f"lib{self.name}")

    @cached_property
    def _sources(self) -> dict[str, dict[str, bytes]]:
        """The C file of each function, what it includes, and its header."""
        return {name: lowering.sources() for name, (_, lowering) in self._functions.items()}

    @cached_property
    def descriptions(self) -> list[FunctionDescription]:
        """What callers have to know of each function."""
        return [
            described(lowered, lowering, self._sources[name][f"{name}.h"].decode())
            for name, (lowered, lowering) in self._functions.items()
        ]

    def metadata(self) -> dict[str, Any]:
        """What NAME.json says: functions, their arrays and sizes, how they were compiled."""
        compiler = toolchain.find_compiler(self._options)
        return {
            "library": self.name,
            "version": self.version,
            "functions": [description.as_json() for description in self.descriptions],
            "target": self._platform.name or compiler.target,
            "compiler": compiler.version,
            "processors": self._processors,
            "flags": toolchain.flags(compiler, self._options),
            "linked_with": [library.library for library in self._linked],
            "provenance": [
                {**record_of(name, one._pipeline.origin, one.options), "compiler": compiler.version}
                for name, (_, one) in self._functions.items()
            ],
        }

    @property
    def _linked(self) -> list[Any]:
        """The BLAS and LAPACK of all functions."""
        return list(dict.fromkeys(lib for one in self._lowerings for lib in one.libraries))

    def _link_words(self) -> list[str]:
        """What an executable that takes the archive is linked with."""
        flags = toolchain.flags(toolchain.find_compiler(self._options), self._options)
        threads = [flag for flag in flags if flag == "-fopenmp"]
        return [*threads, *(w for lib in self._linked for w in lib.link_flags), "-lm"]


def _check_apart(functions: Collection[str]) -> None:
    """ValueError where a function's name is one that another function exports beside its own."""
    for one in functions:
        if taken := sorted((exported_names(one) - {one}) & {*functions}):
            raise ValueError(f"{one!r} exports {taken[0]!r}, which is another function's name")


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None where there is no regular one."""
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_bytes()
