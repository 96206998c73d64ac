"""The tracer: an abstract array, with a shape and a dtype, whose operations append equations.

NumPy dispatches its functions to `__array_ufunc__` and `__array_function__`; operators and methods
end in the same implementations, which `transpile.numpy` registers here. They append to the active
trace (`transpile.trace.trace`). Where Python asks for a value that a trace does not have, the error
says from which arguments it comes, and what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from transpile import errors
from transpile.ir.dims import Dim
from transpile.ir.graph import Atom, Var
from transpile.ir.source_info import assigned_name, user_source
from transpile.ir.types import ArrayType
from transpile.pytree.extended_dtypes import has_extended_type
from transpile.trace.bytecode.handlers import tests_of_arithmetic
from transpile.trace.conversion_hints import format_hint, hint, uncounted
from transpile.util.interrupt_safety import THREAD
from transpile.util.lazy.registry import Rest, Table
from transpile.util.users_code import is_users_call

if TYPE_CHECKING:  # a trace makes tracers; a tracer asks its trace
    from transpile.trace.trace import Trace

# Loads the implementations of rarely used NumPy functions; `transpile.numpy` fills it.
RARE_FUNCTIONS = Rest()
FUNCTIONS: Table[Any, Callable[..., Any]] = Table(RARE_FUNCTIONS)
UFUNC_METHODS: Table[str, Callable[..., Any]] = Table(RARE_FUNCTIONS)
_RARE_PROTOCOLS = ("__array_namespace__", "__dlpack__", "__dlpack_device__")
UNKNOWN: Any = object()  # stands for a value that is abstract while tracing


def leaked(tracer: Tracer) -> errors.UnexpectedTracerError:
    """The error for a tracer that has outlived its trace."""
    trace = tracer.owner
    equation = trace.producers.get(tracer.variable)
    made = (
        f"It was computed at {equation.source} (`{equation.source.text}`)"
        if equation is not None
        else f"It is the argument {tracer.variable.name!r}"
    )
    return errors.UnexpectedTracerError(
        f"{user_source()}: a traced value {tracer!r} was used outside the function that it belongs "
        f"to, {trace.name}. {made}. A traced function must hand its values out through `return`, "
        f"not by storing them in a global, an attribute or a list of its surroundings."
    )


_WHAT_TO_DO = {
    "bool": (
        "TracerBoolConversionError",
        "For a choice between values use numpy.where(condition, a, b), for one between functions "
        "lax.cond, for a loop lax.while_loop; for a choice that depends on a Python value of the "
        "call, make that argument static (static_argnums or static_argnames); `djit` "
        "(static=False) allows branches on values.",
    ),
    "int": (
        "TracerIntegerConversionError",
        "A number that decides a shape, a loop count or an index must be known while tracing: make "
        "that argument static (static_argnums or static_argnames), take it from a shape, or use "
        "`djit` (static=False). lax.fori_loop counts to a traced number, and a list becomes an "
        "array that one can index by transpile.numpy.array.",
    ),
    "text": (
        "TracerIntegerConversionError",
        "The text of a number can be printed and be a part of an error's message. To compute with "
        "its digits take them by // and %, make the argument static (static_argnums or "
        "static_argnames), or have Python run a loop whose number it is, by transpile.unroll.",
    ),
    "float": (
        "TracerFloatConversionError",
        "Stay with array operations (x.astype('float64') converts), make the argument static "
        "(static_argnums or static_argnames), or use `djit` (static=False). Traced values can be "
        "assigned to an array that the function makes (numpy.zeros, numpy.array, x.copy()), not to "
        "one of its surroundings, nor to what arithmetic on known arrays gives: assign to "
        "numpy.array(array).",
    ),
    "array": (
        "TracerArrayConversionError",
        "A NumPy function that has no traced form, or a library that is not NumPy, wanted the "
        "values. Use a function that transpile.numpy has (numpy.stack in the place of "
        "numpy.array), or compute this outside the traced function. To index an array that is not "
        "traced by a traced number, write transpile.numpy.asarray(array)[i]. Traced values "
        "can be assigned to an array that the function makes (numpy.zeros, numpy.array, x.copy()), "
        "not to one of its surroundings, nor to what arithmetic on known arrays gives: assign to "
        "numpy.array(array).",
    ),
}


class TracedText(str):
    """The text of a traced value, `Traced<f64[3]>`, for messages and prints. What reads its
    characters, or compares it, needs the value, and raises the error of that."""

    pieces: tuple[Any, ...]  # texts and traced values

    @classmethod
    def of(cls, *pieces: Any) -> TracedText:
        """The text of these in a row."""
        made = cls("".join([x if isinstance(x, str) else repr(x) for x in pieces]))
        made.pieces = pieces
        return made

    def __add__(self, other: str) -> TracedText:
        return TracedText.of(*self.pieces, *getattr(other, "pieces", (other,)))

    def __radd__(self, other: str) -> TracedText:
        return TracedText.of(other, *self.pieces)

    def known(self) -> str:
        """The text, only where its values are known."""
        return "".join([x if isinstance(x, str) else x.known_text() for x in self.pieces])


def _reading(name: str, convert: Callable[[str], Any] = str) -> Callable[..., Any]:
    """The method of a text that reads its characters."""

    def method(self: TracedText, *args: Any) -> Any:
        return getattr(convert(self.known()), name)(*args)

    method.__name__ = name
    return method


for _name in (
    *("__len__", "__iter__", "__getitem__", "__contains__", "__hash__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("count", "find", "rfind", "index", "rindex", "startswith", "endswith", "isdigit"),
    *("isdecimal", "isnumeric", "split", "rsplit", "partition", "rpartition", "replace"),
    *("strip", "lstrip", "rstrip", "zfill", "encode", "translate"),
):
    setattr(TracedText, _name, _reading(_name))
for _name, _kind in (("__int__", int), ("__float__", float)):
    setattr(TracedText, _name, _reading(_name, _kind))


class Tracer:
    """An abstract array: a shape and a dtype, and the Var that holds its value in the graph."""

    # Not `trace` and `var`: those are methods of an array.
    __slots__ = ("_variable", "owner")
    __array_priority__ = 1000.0
    __getitem__: Callable[..., Any]  # transpile.numpy gives these, with the other methods
    __setitem__: Callable[..., None]

    def __init__(self, owner: Trace, variable: Var) -> None:
        self.owner = owner
        self._variable = variable

    @property
    def variable(self) -> Var:
        """The Var of the array's current value, which an assignment into the array, or into one
        that it is a view of, replaces."""
        return self.owner.newest(self._variable) if self.owner.written else self._variable

    @variable.setter
    def variable(self, variable: Var) -> None:
        self._variable = variable

    @property
    def original(self) -> Var:
        """The Var of the array's first value."""
        return self._variable

    @property
    def type(self) -> ArrayType:
        """The array type: shape, dtype, and whether it is weak."""
        return self._variable.type  # an assignment changes values, never the type

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape: a tuple of ints and runtime sizes."""
        return self._variable.type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        UFUNC_METHODS["set_shape"](self, shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self._variable.type.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        UFUNC_METHODS["set_dtype"](self, dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._variable.type.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self._variable.type.size

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Traced<{self.type}>"

    def __str__(self) -> str:
        return TracedText.of(self)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if not self.owner.active:
            raise leaked(self)
        value = self.owner.value(self.variable)
        if value is not UNKNOWN:
            return format(value[()], spec)
        raise errors.TracerError(
            f"{user_source()}: a traced value, {self!r}, has no digits to be formatted by "
            f"{spec!r} in `{user_source().text}`. {format_hint(spec)}"
        )

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:  # which gives a Python int
            return round(self._concrete("int", "a Python int").item())
        return np.round(self, digits)

    def __trunc__(self) -> int:  # without it math.trunc is a TypeError, and nothing is converted
        return int(self._concrete("int", "a Python int").item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{user_source()}: len() of unsized object")
        if not isinstance(self.shape[0], int):
            raise errors.TracerIntegerConversionError(uncounted(self))
        return int(self.shape[0])

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError(f"{user_source()}: iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        """Import the rarely used methods, then look the name up again."""
        is_public = not name.startswith("_") or name in _RARE_PROTOCOLS
        if is_public and RARE_FUNCTIONS.complete():
            return getattr(self, name)
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise AttributeError(
                f"{user_source()}: a traced value, {self!r}, has no {name!r}, which only an array "
                f"in memory has. {hint()}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # NumPy's dispatch protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return named(UFUNC_METHODS[method](ufunc, *inputs, **kwargs))

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if has_extended_type(types):  # PRNG keys, which handle tracers themselves
            return NotImplemented
        implementation = FUNCTIONS.get(func)
        if implementation is None:
            name = _public_name(func)
            raise errors.UnsupportedError(
                f"{user_source()}: {name} is not supported on traced arrays yet. The functions "
                "that are stand in transpile.numpy."
            )
        return named(implementation(*args, **kwargs))

    def __hash__(self) -> int:
        # As arrays have none: == is elementwise.
        problem = errors.ConcretizationTypeError(
            f"{user_source()}: unhashable type: a traced value, {self!r}, is no key of a dict, no "
            f"element of a set and no argument of a function with functools.cache, in "
            f"`{user_source().text}`. For integers below n take an array: seen = numpy.zeros(n, "
            f"bool) and `if seen[v]`, or counts = numpy.zeros(n, int) and counts[v] += 1. "
            f"Else take its name or its position as the key; make an argument that decides what is "
            f"computed static (static_argnums or static_argnames)."
        )
        if self.dtype.kind in "iub":
            errors.blame(problem, arguments_of(self))
        raise problem

    # Conversions to Python values, which need a concrete value.

    def _concrete(self, kind: str, wanted: str) -> Any:
        if not self.owner.active:
            raise leaked(self)
        is_discrete = kind in ("bool", "int", "text")  # whose derivative is zero anyway
        varies = not is_discrete and self.owner.varies(self.variable)
        value = UNKNOWN if varies else self.owner.value(self.variable)
        if value is not UNKNOWN:
            return value
        error, advice = _WHAT_TO_DO[kind]
        reason = "While tracing, only its shape and dtype are known."
        if varies:
            reason = (
                "A derivative goes through it, which a number or an array that is not traced would "
                "lose; where it is to be lost, write lax.stop_gradient(x)."
            )
        problem: errors.TracerError = getattr(errors, error)(
            f"{user_source()}: a traced value, {self!r}, was used as {wanted} in "
            f"`{user_source().text}`.\nIt comes from {_origin(self)}, in the function "
            f"{self.owner.name!r} ({self.owner.source}). {reason} {hint() or advice}"
        )
        errors.blame(problem, arguments_of(self))
        self.owner.refused = problem
        if THREAD.refusals is not None:
            THREAD.refusals.append(problem)
        raise problem

    def __bool__(self) -> bool:
        return bool(self._concrete("bool", "a Python bool (`if`, `while`, `and`, `or`, `not`)"))

    def __int__(self) -> int:
        return int(self._concrete("int", "a Python int"))

    def __index__(self) -> int:
        return self._concrete("int", "an index or a Python int").__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self._concrete("float", "a Python float"))

    def __complex__(self) -> complex:
        return complex(self._concrete("float", "a Python complex"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._concrete("array", "a NumPy array"), dtype)

    def known_text(self) -> str:
        """The value's text, only where it is known; that of a tracer behind its trace, where no
        program depends on it."""
        if not self.owner.active:
            return repr(self)
        return str(self._concrete("text", "a text, whose characters are read,"))

    def known(self, kind: str, wanted: str) -> Any:
        """The value, only where it is known: "a Python scalar" of the kind "float"."""
        return self._concrete(kind, wanted)


def _public_name(function: Any) -> str:
    """The name under which users know a NumPy function, `numpy.linalg.solve`."""
    return f"{getattr(function, '__module__', None) or 'numpy'}.{function.__name__}"


def _origin(tracer: Tracer) -> str:
    """The arguments that a value depends on, for error messages."""
    arguments = _arguments(tracer)
    if not arguments:
        return "a constant"
    ordered = [v.name for v in tracer.owner.inputs if v in arguments and v.name]
    if not ordered:
        return "an argument"
    listed = ", ".join(repr(name) for name in ordered)
    return f"the argument{'s' if len(ordered) > 1 else ''} {listed}"


def arguments_of(tracer: Tracer) -> frozenset[str]:
    """The names of the arguments that a value is computed from; none for a value of a body."""
    return frozenset() if tracer.owner.is_region else frozenset(v.name for v in _arguments(tracer))


def _arguments(tracer: Tracer) -> set[Var]:
    """The inputs of its trace that a value depends on."""
    producers = tracer.owner.producers
    arguments: set[Var] = set()
    seen: set[Var] = set()
    stack: list[Atom] = [tracer.variable]
    while stack:
        atom = stack.pop()
        if not isinstance(atom, Var) or atom in seen:
            continue
        seen.add(atom)
        if atom in producers:
            stack += producers[atom].inputs
        elif atom in tracer.owner.inputs:
            arguments.add(atom)
    return arguments


def named(result: Any) -> Any:
    """Name a result's Var after the variable that the user's code assigns it to."""
    if isinstance(result, Tracer) and not result.variable.name and not result.owner.origin:
        result.variable.name = assigned_name()
        equation = result.owner.producers.get(result.variable)
        if equation is not None and equation.primitive.kind == "view":
            viewed = equation.inputs[0]  # m = x.max(1, keepdims=True) names the maximum too
            if isinstance(viewed, Var) and not viewed.name:
                viewed.name = result.variable.name
    return result


def _operator(function: Any, reflected: bool = False) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) and not hasattr(other, "__array__"):
            is_array = isinstance(other, list | tuple | range) and not self.type.weak
            # An integer without axes repeats a list, as in NumPy.
            if not is_array or (function is np.multiply and not self.shape):
                return NotImplemented
        operands = (other, self) if reflected else (self, other)
        return named(UFUNC_METHODS["operator"](function, *operands))

    return method


def _checked(name: str, function: Any, reflected: bool = False) -> Callable[[Tracer, Any], Any]:
    """An operator of which Python's numbers may raise exceptions (`jit(check_arithmetic=True)`);
    what the package itself computes is not tested."""
    plain = _operator(function, reflected)

    def method(self: Tracer, other: Any) -> Any:
        result = plain(self, other)
        is_asked = self.type.weak or (THREAD.python is not None and THREAD.python.handlers)
        if is_asked and is_users_call() and result is not NotImplemented:
            tests = tests_of_arithmetic()
            if tests is not None:
                operands = (other, self) if reflected else (self, other)
                tests.check_operator(name, *operands, result)
        return result

    return method


def _unary_operator(function: Any) -> Callable[[Tracer], Any]:
    return lambda self: named(UFUNC_METHODS["operator"](function, self))


_OPERANDS = (Tracer, np.ndarray, np.generic, bool, int, float, complex, Dim)
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "divmod": np.divmod,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

_CHECKED = ("floordiv", "mod", "divmod", "truediv", "pow", "lshift", "rshift")
for _name, _ufunc in BINARY.items():
    _made = partial(_checked, _name) if _name in _CHECKED else _operator
    setattr(Tracer, f"__{_name}__", _made(_ufunc))
    setattr(Tracer, f"__r{_name}__", _made(_ufunc, reflected=True))
for _name, _ufunc in _COMPARE.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Tracer, f"__{_name}__", _unary_operator(_ufunc))


def add_method(name: str, function: Callable[..., Any]) -> None:
    """Give every tracer the method `name`, which calls `function(tracer, ...)`. That a mask `where`
    is None means that there is none, as in JAX."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        if "where" in kwargs and kwargs["where"] is None:
            del kwargs["where"]
        return named(function(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = function.__doc__
    setattr(Tracer, name, method)


def add_property(name: str, function: Callable[[Tracer], Any], setter: Any = None) -> None:
    """Give every tracer the attribute `name`, computed by `function(tracer)`; an assignment to it
    is `setter(tracer, value)`."""
    method = property(lambda self: named(function(self)), setter, doc=function.__doc__)
    setattr(Tracer, name, method)
