"""Render the Jinja templates of C.

Templates get nodes of programs. Expressions and subscripts are printed by a scope (`scope.py`);
filters print types, the brackets of a shape, literals, and break lines.
"""

from __future__ import annotations

import marshal
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile.codegen.c_expr import c_type
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
from transpile.disk_cache.cache_ownership import recall, remember
from transpile.errors import InternalError
from transpile.intrinsics.callbacks import Callback
from transpile.ir.calls import Call
from transpile.ir.dims import Shape
from transpile.ir.loop_ir import DType, For, If, Statement, Swap, While
from transpile.ir.loop_rewrite import walk
from transpile.util.data_files import data_directory
from transpile.util.hashing import blake2b
from transpile.util.lazy.imports import Later, importing

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")


def filled_in(template: str, **values: Any) -> str:
    """The text of a template with these values. Jinja takes locks, hence `importing`: no fork may
    divide it."""
    return importing(lambda: str(_environment().get_template(template).render(**values)))


@cache
def _environment() -> Any:
    """The environment of the templates, with two changes for speed. Functions are called and
    attributes read as in Python: Jinja's own ways, which try several things, take half of the time
    in which a long program is printed. And compiled templates are kept in the cache directory, in
    one file for this Python, this Jinja and these texts: compiling them takes as long as importing
    Jinja."""
    directory = data_directory("templates")
    kept_as = f"template-{_digest(str(directory), jinja2.__version__)}.json"

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
            self.codes: dict[str, str] = {}
            with suppress(OSError, ValueError):
                self.codes = recall(kept_as)

        def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            checksum, _, code = self.codes.get(bucket.key, "").partition(" ")
            if checksum == bucket.checksum:  # Jinja's own way to read it takes three times as long
                bucket.code = marshal.loads(b64decode(code))

        def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
            code = b64encode(marshal.dumps(bucket.code)).decode()
            self.codes[bucket.key] = f"{bucket.checksum} {code}"
            remember(kept_as, self.codes)

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


def _digest(*words: str) -> str:
    """Sixteen digits, other ones for each Python."""
    text = "\n".join((sys.version, *words))
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


# The statements with a macro in `statement.j2`.
_PRINTED = frozenset(["For", "If", "While", "Declare", "Update", "Store", "Alloc", "Swap"])


def _node(statement: Statement) -> str:
    """The name of a statement's macro: its class; `Call` for all intrinsics except callbacks."""
    if isinstance(statement, Call):
        return "Callback" if isinstance(statement, Callback) else "Call"
    name = type(statement).__name__
    if name not in _PRINTED:
        raise InternalError(f"no macro prints {statement}")
    return name


def _is_one_line(body: tuple[Statement, ...]) -> bool:
    """True if a body needs no braces."""
    return len(body) == 1 and not isinstance(body[0], For | If | While | Swap)


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
    "comment": comment_text,
    "comment_line": comment_line,
    "ctype": _ctype,
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
