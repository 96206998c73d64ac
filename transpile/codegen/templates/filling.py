"""Fill in the templates of C, which are written in Jinja's language.

Templates get nodes of programs. Expressions and subscripts are printed by a scope (`scope.py`);
filters print types, the brackets of a shape, literals, and break lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.analysis.source_lines import source_of
from transpile.codegen.c_expr import c_type
from transpile.codegen.callback_messages import code_of
from transpile.codegen.dialect import Dialect, suffix
from transpile.codegen.line_wrapping import (
    comment_line,
    comment_text,
    filled,
    hanging,
    renamed,
    string_literal,
    text_bytes,
    wrapped,
)
from transpile.disk_cache.kept_templates import KeptTemplates
from transpile.errors import InternalError
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Call
from transpile.ir.dims import Shape
from transpile.ir.indices.requirements import may_be_0
from transpile.ir.loop_ir import DType, For, If, Statement, Swap, While
from transpile.ir.loop_rewrite import walk
from transpile.util.data_files import PACKAGE, data_directory
from transpile.util.fork_safe_lock import Lock
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later

if TYPE_CHECKING:
    from transpile.codegen.templates import compiler
else:
    compiler = Later("transpile.codegen.templates.compiler")


def filled_in(template: str, **values: Any) -> str:
    """The text of a template with these values."""
    text: str = _library().main(template)(values)
    return text


class _Library:
    """The templates of our directory. Those that have been compiled are kept for later processes
    (`kept_templates.py` of `disk_cache/`): to import Jinja and to compile them takes longer than
    all else that happens here."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._kept = KeptTemplates(directory, _identity_of_compiler())
        self._loaded: dict[str, dict[str, Any]] = {}
        self._lock = Lock()

    def main(self, template: str) -> Callable[[dict[str, Any]], str]:
        """The function that fills in a template."""
        with self._lock:
            found: Callable[[dict[str, Any]], str] = self._functions(template)[MAIN]
            self._kept.keep()
        return found

    def _functions(self, template: str) -> dict[str, Any]:
        """The namespace with the functions of a template, by the names that `compiler.py` gives."""
        if template not in self._loaded:
            self._loaded[template] = self._load(template)
        return self._loaded[template]

    def _load(self, template: str) -> dict[str, Any]:
        path = self._directory / template
        text = path.read_text(encoding="utf-8")
        checksum = blake2b(text.encode(), digest_size=16).hexdigest()
        code = self._kept.find(template, checksum)
        if code is None:
            code = compiler.compiled(text, str(path))
            self._kept.add(template, checksum, code)
        namespace = {**_IN_TEMPLATES, "macros_of": self._functions}
        exec(code, namespace)
        return namespace


@cache
def _library() -> _Library:
    return _Library(data_directory("templates"))


def _identity_of_compiler() -> str:
    """What the code of a template depends on besides its text: the compiler, and Jinja, whose
    parser it uses; without importing either."""
    own = (PACKAGE / "codegen" / "templates" / "compiler.py").read_bytes()
    spec = find_spec("jinja2")
    place = spec.origin if spec is not None else None
    status = os.stat(place) if place is not None else None
    jinja = f"{place} {status.st_size} {status.st_mtime_ns}" if status is not None else "none"
    return f"{blake2b(own, digest_size=16).hexdigest()} {jinja}"


# The statements with a macro in `statement.j2`.
_PRINTED = frozenset(["For", "If", "While", "Declare", "Update", "Store", "Alloc", "Swap"])


def _node(statement: Statement) -> str:
    """The name of a statement's macro: its class; `Call` for all intrinsics except callbacks."""
    if isinstance(statement, Call):
        if statement.communicates:
            return "Exchange"
        if isinstance(statement, Callback):
            return "Failure" if statement.fails else "Callback"
        return "Call"
    name = type(statement).__name__
    if name not in _PRINTED:
        raise InternalError(f"no macro prints {statement}")
    return name


def _is_one_line(body: tuple[Statement, ...]) -> bool:
    """True if a body needs no braces."""
    if len(body) != 1 or isinstance(body[0], For | If | While | Swap | Callback):
        return False
    return not (isinstance(body[0], Call) and body[0].communicates)


def _is_uneven(loop: For) -> bool:
    """True if iterations may be long or of different lengths: they are scheduled dynamically."""
    return any(isinstance(s, While | Call) for s in walk(loop.body))


def _brackets(shape: Shape) -> str:
    return "".join([f"[{extent}]" for extent in shape])


def _ctype(dtype: DType, dialect: Dialect) -> str:
    return c_type(dialect, dtype)


def _real(dtype: DType) -> DType:
    """The dtype of the parts of complex numbers; other dtypes are their own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _literal(value: Any, dtype: DType, dialect: Dialect) -> str:
    return dialect.literal(value, dtype)


def _literals(values: Any, dtype: DType, dialect: Dialect, margin: str) -> str:
    return filled(dialect.literals(values, dtype), margin)


MAIN = "main"  # the function of `compiler.py` for a whole template
_FILTERS: dict[str, Callable[..., Any]] = {
    "brackets": _brackets,
    "may_be_0": may_be_0,
    "comment": comment_text,
    "comment_line": comment_line,
    "ctype": _ctype,
    "failure_code": code_of,
    "hanging": hanging,
    "is_one_line": _is_one_line,
    "is_uneven": _is_uneven,
    "literal": _literal,
    "literals": _literals,
    "node": _node,
    "real": _real,
    "renamed": renamed,
    "source_of": source_of,
    "string_literal": string_literal,
    "suffix": suffix,
    "text_bytes": text_bytes,
    "wrapped": wrapped,
}
_IN_TEMPLATES = {f"filter_{name}": function for name, function in _FILTERS.items()}
