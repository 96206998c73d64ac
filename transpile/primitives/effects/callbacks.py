"""Callbacks: equations that call a Python function with values at run time.

`debug_callback` and `io_callback` are effects: never eliminated, merged with another one, repeated
or moved out of a loop or branch, and all of them happen in the order of the program. A
`pure_callback` is a value like any other, called where its results are read. `results` in the
params are the types of the results; `debug_callback` has none. A program knows a callback by its
site, which has the types of operands and results, and stops when a callback fails.

Under vmap, `debug_callback` and `io_callback` are called for each example, in a scan, and
`pure_callback` as its `vmap_method` says. The JVP of `debug_callback` calls with the primal values;
the others have no derivative but one that the user defines around them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from types import CodeType
from typing import Any, NoReturn

import numpy as np

from transpile.errors import CallbackResultError, UnsupportedError
from transpile.ir.graph import Equation, Graph, Var
from transpile.ir.primitive import Axis, Primitive, register
from transpile.ir.source_info import user_source
from transpile.ir.types import PYTHON_SCALARS, SHORT_NAMES, ArrayType, kind_letter, type_of
from transpile.primitives.control.graphs import chosen, others
from transpile.primitives.control.primitives import scan
from transpile.primitives.rules import bind_call
from transpile.pytree.extended_dtypes import flatten_arrays
from transpile.trace.trace import the_trace

# What a program prints by itself: text, and the numbers of operands.
Message = tuple[str | int, ...]


class Callback:
    """The function that a program calls with the values of an equation's operands.

    Callbacks with equal keys are equal. `message` is what a program without Python prints; None is
    nothing. `codes` are the code objects of the user's functions that a call enters. `failure` is
    the text of the error with which every call ends the program; "" for a function that returns.
    """

    __slots__ = ("__name__", "codes", "failure", "function", "key", "message")

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        key: Hashable,
        message: Message | None = None,
        codes: Iterable[CodeType] = (),
        failure: str = "",
    ) -> None:
        self.__name__ = name
        self.function = function
        self.key = key
        self.message = message
        self.codes = frozenset(codes)
        self.failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        # Code is for the guards of this process.
        return Callback, (self.__name__, self.function, self.key, self.message, (), self.failure)

    def __call__(self, *values: Any) -> Any:
        """Call the function with copies of the values; arrays without axes become scalars."""
        return self.function(*[np.array(x)[()] for x in values])

    def results(self, values: Sequence[Any], kinds: Sequence[ArrayType]) -> list[Any]:
        """Call the function, whose result is a pytree with leaves of these shapes and dtypes.

        Raises CallbackResultError for other ones; what the function raises is raised as it is.
        """
        found = self(*values)
        return _checked(self.__name__, found, kinds) if kinds else []

    def __repr__(self) -> str:
        return self.failure or f"{self.__name__}{self.message or ''}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Callback) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Same:
    """A key that compares a value by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


# The kinds of dtypes and of Python numbers: those of a kind fit into the later ones.
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _checked(name: str, found: Any, kinds: Sequence[ArrayType]) -> list[Any]:
    """The leaves of what a callback returned, as arrays of these types; Python numbers fit each
    dtype of their kind."""
    leaves, _ = flatten_arrays(found)
    if len(leaves) != len(kinds):
        raise CallbackResultError(
            f"the callback {name} returned {len(leaves)} array{'s' * (len(leaves) != 1)}, but "
            f"result_shape_dtypes has {len(kinds)}: {', '.join(map(_text, kinds)) or 'none'}"
        )
    arrays = []
    for position, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True)):
        array = np.asarray(leaf)
        fits = array.dtype == kind.dtype or (
            type(leaf) in PYTHON_SCALARS
            and _KINDS[array.dtype.kind] <= _KINDS[kind_letter(kind.dtype)]
        )
        if array.shape != kind.static_shape() or not fits:
            raise CallbackResultError(
                f"the callback {name} returned {_text(array)} as array {position} of its result, "
                f"but result_shape_dtypes says {_text(kind)}"
            )
        arrays.append(np.asarray(leaf, kind.dtype))
    return arrays


def _text(kind: Any) -> str:
    """A dtype and a shape, as errors show them."""
    name = kind.dtype.name if kind.dtype in SHORT_NAMES else str(kind.dtype).lstrip("|")
    return f"{name}[{','.join(map(str, kind.shape))}]"


def _call(*values: Any, callback: Callback) -> list[Any]:
    callback(*values)
    return []


def _call_for_results(
    *values: Any, callback: Callback, results: tuple[ArrayType, ...], **_: Any
) -> list[Any]:
    return callback.results(values, results)


def _no_types(*_: ArrayType, callback: Callback) -> tuple[ArrayType, ...]:
    return ()


def _result_types(
    *_: ArrayType, callback: Callback, results: tuple[ArrayType, ...], **__: Any
) -> tuple[ArrayType, ...]:
    return results


# -------------------------------------------------------------------------------------------- vmap


def _batch_debug(
    axis: Axis, batched: Sequence[bool], *operands: Any, callback: Callback
) -> tuple[list[Any], list[bool]]:
    one_by_one(debug_callback, axis, batched, operands, {"callback": callback})
    return [], []


def _batch_io(
    axis: Axis, batched: Sequence[bool], *operands: Any, **params: Any
) -> tuple[Any, Any]:
    if params["ordered"]:
        raise ValueError(f"{user_source()}: Cannot `vmap` ordered IO callback.")
    return _all_batched(one_by_one(io_callback, axis, batched, operands, params))


def _batch_pure(
    axis: Axis, batched: Sequence[bool], *operands: Any, **params: Any
) -> tuple[Any, Any]:
    method, results = params["vmap_method"], params["results"]
    batch: Any = axis.size
    if method in ("sequential", "sequential_unrolled"):
        return _all_batched(one_by_one(pure_callback, axis, batched, operands, params))
    if method is None:
        raise NotImplementedError(
            f"{user_source()}: vmap is only supported for the pure_callback primitive when "
            "vmap_method is one of 'sequential', 'sequential_unrolled', 'expand_dims', "
            f"'broadcast_all', or 'legacy_vectorized'. Got vmap_method={method}."
        )
    if method != "legacy_vectorized":
        size = batch if method == "broadcast_all" else 1
        operands = tuple(
            x if is_batched else np.broadcast_to(x, (size, *np.shape(x)))
            for x, is_batched in zip(operands, batched, strict=True)
        )
    wider = tuple(kind.with_shape((batch, *kind.shape)) for kind in results)
    return _all_batched(bind_call(pure_callback, *operands, **{**params, "results": wider}))


def _all_batched(values: list[Any]) -> tuple[Any, Any]:
    """Batched results as a rule gives them: one of a primitive with one result."""
    return (values[0], True) if len(values) == 1 else (values, [True] * len(values))


def one_by_one(
    primitive: Primitive,
    axis: Axis,
    batched: Sequence[bool],
    operands: Sequence[Any],
    params: dict[str, Any],
) -> list[Any]:
    """The results of a scan over the examples, which calls for each."""
    if not isinstance(axis.size, int):
        raise UnsupportedError(
            f"{user_source()}: a callback for each of {axis.size} examples is not supported: their "
            "number must be known while tracing"
        )
    kinds = [type_of(x).strong for x in operands]
    inner = [
        Var(kind.with_shape(kind.shape[1:]) if is_batched else kind)
        for kind, is_batched in zip(kinds, batched, strict=True)
    ]
    source = the_trace().origin or user_source()
    outputs = tuple(map(Var, params.get("results", ())))
    equation = Equation(primitive, tuple(inner), params, outputs, source)
    inputs = (*others(inner, batched), *chosen(inner, batched))
    body = Graph(inputs, (equation,), outputs, params["callback"].__name__, source=source)
    consts, xs = others(operands, batched), chosen(operands, batched)
    return bind_call(
        scan,
        *consts,
        *xs,
        graph=body,
        consts=len(consts),
        carry=0,
        length=axis.size,
        reverse=False,
    )


# ------------------------------------------------------------------------------------- derivatives


def _no_cotangents(_: Any, *operands: Any, callback: Callback) -> list[None]:
    return [None] * len(operands)


def _no_rule(message: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ValueError(f"{user_source()}: {message}")

    return refuse


_PURE = "Please use `transpile.{}` to use callbacks while taking gradients."

debug_callback = register(
    Primitive(
        "debug_callback",
        "callback",
        _call,
        _no_types,
        effect=True,
        jvp=lambda tangents, results, *operands, callback: [],
        transpose=_no_cotangents,
        batch=_batch_debug,
    )
)
pure_callback = register(
    Primitive(
        "pure_callback",
        "callback",
        _call_for_results,
        _result_types,
        jvp=_no_rule(f"Pure callbacks do not support JVP. {_PURE.format('custom_jvp')}"),
        transpose=_no_rule(
            f"Pure callbacks do not support transpose. {_PURE.format('custom_vjp')}"
        ),
        batch=_batch_pure,
    )
)
io_callback = register(
    Primitive(
        "io_callback",
        "callback",
        _call_for_results,
        _result_types,
        effect=True,
        jvp=_no_rule("IO callbacks do not support JVP."),
        transpose=_no_rule("IO callbacks do not support transpose."),
        batch=_batch_io,
    )
)
