"""The templates of C, filled in.

They are given nodes of programs. What they cannot say themselves they ask of a scope (`scope.py`),
or of a filter: the name of a type, the brackets of a shape, where a line is broken.
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
from transpile.util.lazy_imports import Later, importing

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = Later("jinja2")


def filled_in(template: str, **values: Any) -> str:
    """A template with these values. Jinja has locks, which a forked child must find free."""
    return importing(lambda: str(_environment().get_template(template).render(**values)))


@cache
def _environment() -> Any:
    """Ours calls functions and reads attributes as Python does: Jinja's own ways of both, which try
    several things, take half of the time that a long program is printed in. And templates that are
    compiled stay in the cache directory, all in one file, as they were for this Python, this Jinja
    and these texts: compiling them takes as long as reading Jinja itself."""
    directory = data_directory("templates")
    kept_as = f"template-{_digest(str(directory), jinja2.__version__)}.json"

    class Context(jinja2.runtime.Context):
        def call(
            self,
            function: Callable[..., Any],
            /,
            *args: Any,
            _loop_vars: object = None,  # for functions that ask for the context; none of ours does
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


# The statements that `statement.j2` has macros for.
_PRINTED = frozenset(["For", "If", "While", "Declare", "Update", "Store", "Alloc", "Swap"])


def _node(statement: Statement) -> str:
    """The name of a node's class, which has a macro; routines that are called are all `Call`."""
    if isinstance(statement, Call):
        return "Callback" if isinstance(statement, Callback) else "Call"
    name = type(statement).__name__
    if name not in _PRINTED:
        raise InternalError(f"no macro prints {statement}")
    return name


def _is_one_line(body: tuple[Statement, ...]) -> bool:
    """Tell whether a body needs no braces."""
    return len(body) == 1 and not isinstance(body[0], For | If | While | Swap)


def _is_uneven(loop: For) -> bool:
    """Tell whether iterations are long, or take different times."""
    return any(isinstance(s, While | Call) for s in walk(loop.body))


def _brackets(shape: Shape) -> str:
    return "".join([f"[{extent}]" for extent in shape])


def _ctype(dtype: DType, dialect: Dialect) -> str:
    return c_type(dialect, dtype)


def _real(dtype: DType) -> DType:
    """The dtype of the parts of complex numbers; that of real ones is their own."""
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
