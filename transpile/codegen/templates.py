"""Render the Jinja templates of C.

Templates get nodes of programs. Expressions and subscripts are printed by a scope (`scope.py`);
filters print types, the brackets of a shape, literals, and break lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

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
from transpile.util.data_files import data_directory
from transpile.util.lazy.imports import Later, importing

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")


def filled_in(template: str, **values: Any) -> str:
    """The text of a template with these values. Jinja takes locks, hence `importing`: no fork may
    divide it."""

    def fill() -> str:
        environment = _environment()
        text = str(environment.get_template(template).render(**values))
        environment.bytecode_cache.keep()
        return text

    return importing(fill)


@cache
def _environment() -> Any:
    """The environment of the templates, with two changes for speed. Functions are called and
    attributes read as in Python: Jinja's own ways, which try several things, take half of the time
    in which a long program is printed. And compiled templates are kept (`kept_templates.py` of
    `disk_cache/`): compiling them takes six times as long as importing Jinja."""
    directory = data_directory("templates")

    class Context(jinja2.runtime.Context):
        def call(
            self,
            function: Callable[..., Any],
            /,
            *args: Any,
            _loop_vars: object = None,  # for functions that take the context: none does
            _block_vars: object = None,
            **options: Any,
        ) -> Any:
            return function(*args, **options)

    class Environment(jinja2.Environment):
        context_class = Context
        getattr = staticmethod(getattr)  # type: ignore[assignment]

    class Kept(jinja2.BytecodeCache):
        def __init__(self) -> None:
            self.codes = KeptTemplates(directory, jinja2.__version__)

        def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            bucket.code = self.codes.find(bucket.key, bucket.checksum)

        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            self.codes.add(bucket.key, bucket.checksum, bucket.code)

        def keep(self) -> None:
            self.codes.keep()

    environment = Environment(
        bytecode_cache=Kept(),
        loader=jinja2.FileSystemLoader(directory),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    return environment


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
    literal = dialect.literal
    return filled([literal(value, dtype) for value in values], margin)


_FILTERS = {
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
    "string_literal": string_literal,
    "suffix": suffix,
    "text_bytes": text_bytes,
    "wrapped": wrapped,
}
