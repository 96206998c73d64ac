"""`jax.experimental.checkify`: checks of values at run time as results of a function.

`checkify(f)` traces `f` and gives `(error, result)`; `error` is a pytree of arrays, which passes
through `jit`, `vmap`, loops and branches. Of several checks that fail, it has the first in the
order of the program. See `transpile.transforms.checks` for how the graph is changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from transpile import tree_util
from transpile.errors import (
    BatchedError,
    CheckError,
    CheckFailure,
    DivisionByZeroError,
    FailedCheckError,
    NaNError,
    OOBError,
)
from transpile.functional.flatten_fun import argument_names, flatten_function
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, type_of
from transpile.primitives.effects import checks as primitives
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.bytecode.call_resolution import resolved
from transpile.trace.trace import bind, current_trace
from transpile.trace.tracebacks import api_boundary
from transpile.trace.tracer import Tracer
from transpile.transforms.checks import DIVISION, INDEX, NAN, USER, Check, checked, failure_of
from transpile.transforms.checks import values_of as _values_of

__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]

ErrorCategory = type[CheckFailure]
JaxRuntimeError = CheckError

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks

_CATEGORIES = {
    FailedCheckError: USER,
    DivisionByZeroError: DIVISION,
    OOBError: INDEX,
    NaNError: NAN,
}


@tree_util.register_pytree_node_class
class Error:
    """Which check failed first, if one did: a number, and the values that messages show.

    Its leaves are arrays; under `vmap` they have an axis for the examples.
    """

    __slots__ = ("_checks", "_code", "_values")

    def __init__(self, checks: tuple[Check, ...], code: Any, values: Sequence[Any]) -> None:
        self._checks = checks
        self._code = code
        self._values = tuple(values)

    def get(self) -> str | None:
        """The message of the check that failed; None where none did."""
        error = self.get_exception()
        return None if error is None else str(error)

    def get_exception(self) -> Exception | None:
        """The exception for the check that failed; None where none did. For a batch a BatchedError
        with a line for each example."""
        codes = np.asarray(self._code)
        found: dict[tuple[int, ...], Exception] = {}
        for index in np.ndindex(codes.shape):
            number = int(codes[index])
            if number:
                values = [np.asarray(x)[index] for x in self._values]
                shown = _values_of(self._checks, number, values)
                found[index] = failure_of(self._checks[number - 1], shown)
        if codes.shape and found:
            lines = (f"at mapped index {', '.join(map(str, k))}: {e}" for k, e in found.items())
            return BatchedError("\n".join(lines))
        return found.get(())

    def throw(self) -> None:
        """Raise a CheckError with the message, if a check failed. In a traced function this is
        `check_error`."""
        check_error(self)

    def __str__(self) -> str:
        return f"Error({self.get()})"

    __repr__ = __str__

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Check, ...]]:
        """The number and the values."""
        return (self._code, *self._values), self._checks

    @classmethod
    def tree_unflatten(cls, checks: tuple[Check, ...], leaves: Sequence[Any]) -> Error:
        """The error with these leaves."""
        code, *values = leaves
        return cls(checks, code, values)


init_error = Error((), np.int32(0), ())


def checkify(
    f: Callable[..., Any], errors: Iterable[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """A function that gives `(error, f(*args, **kwargs))`.

    errors  sets of checks, or unions of them: `user_checks` (those by `check`), `nan_checks` (an
            operation gives NaN), `div_checks` (a divisor is zero), `index_checks` (an index is out
            of range), `float_checks`, `automatic_checks`, `all_checks`

    The error is that of the first check that failed: `error.get()` is its message or None, and
    `error.throw()` raises it. Arguments are pytrees; leaves that are no arrays are passed on.
    Derivative rules of users are not checked. Raises what tracing raises.
    """
    unknown = [c for c in errors if c not in _CATEGORIES]
    if unknown:
        raise TypeError(f"{user_source()}: checkify knows no errors {unknown}")
    enabled = frozenset(_CATEGORIES[c] for c in errors)

    @functools.wraps(f)
    @api_boundary
    def checked_function(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, structure = flatten_arrays((args, kwargs))
        is_array = [_is_array(x) for x in leaves]

        def on_arrays(*arrays: Any) -> Any:
            given = iter(arrays)
            values = [next(given) if a else x for x, a in zip(leaves, is_array, strict=True)]
            args, kwargs = structure.unflatten(values)
            return resolved(f)(*args, **kwargs)

        arrays = [x for x, a in zip(leaves, is_array, strict=True) if a]
        names = argument_names(f, args, None) if not kwargs and all(is_array) else None
        functools.update_wrapper(on_arrays, f)
        flat, values = flatten_function(on_arrays, arrays, names=names)
        closed, checks = checked(flat.closed, enabled)
        found = flat.run(closed, values)
        count = len(flat.closed.graph.outputs)
        code, *shown = found[count:] or [np.int32(0)]
        return Error(checks, code, shown), flat.out_tree.unflatten(found[:count])

    return checked_function


def _is_array(leaf: Any) -> bool:
    is_number = type(leaf) in PYTHON_SCALARS or isinstance(leaf, np.generic | np.ndarray)
    return is_number or isinstance(leaf, Tracer) or hasattr(leaf, "__array__")


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that a bool is true. `checkify` makes a value of the failure; outside of traced
    functions it raises a CheckError, and in a program that is compiled it is refused.

    msg       the message, a format of `fmt_args` and `fmt_kwargs`, pytrees of arrays and numbers
    debug     only `checkify` looks at it: elsewhere it does nothing

    Raises TypeError for a `pred` that is no bool, and for values that are no arrays.
    """
    name = "debug_check" if debug else "check"
    is_bool = isinstance(pred, bool | np.bool_)
    if not is_bool and (getattr(pred, "shape", None) != () or pred.dtype != np.bool_):
        raise TypeError(f"{name} takes a scalar pred as argument, got {pred}")
    leaves, structure = flatten_arrays((fmt_args, fmt_kwargs))
    for leaf in leaves:
        if not _is_array(leaf):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{leaf!r} of type {type(leaf)}."
            )
    kinds = tuple(type_of(x).strong for x in leaves)
    one = Check(USER, msg, user_source(), kinds, structure)
    _bind((one,), np.where(pred, np.int32(0), np.int32(1)), leaves, debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check` under `checkify`; elsewhere it does nothing."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise a CheckError where an error has a failure. In a traced function that is a check, which
    `checkify` makes a value of: the inverse of `checkify`."""
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    code, values = error._code, list(error._values)
    if not any(isinstance(x, Tracer) for x in (code, *values)) and current_trace() is None:
        failure = error.get_exception()
        if failure is not None:
            raise CheckError(str(failure)) from failure
        return
    for _ in np.shape(code):
        which = np.argmax(code.reshape(code.shape[0], -1).max(axis=1) != 0)
        code, values = code[which], [x[which] for x in values]
    if error._checks:
        _bind(error._checks, code, values, debug=False)


def _bind(checks: tuple[Check, ...], code: Any, values: Sequence[Any], debug: bool) -> None:
    if current_trace() is None:
        primitives.check.numpy(code, *values, checks=checks, debug=debug)
    else:
        bind(primitives.check, code, *values, checks=checks, debug=debug)
