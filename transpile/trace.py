"""Tracing: a Python function is run once on tracers, and what they are asked to do is the graph.

A `Tracer` stands for an array. NumPy hands its calls to `__array_ufunc__` and `__array_function__`;
operators and methods end up in the same functions, which `transpile.numpy` registers here and which
append equations to the trace that is under way in this thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from transpile import errors
from transpile.dims import Dim
from transpile.graph import Atom, Const, Equation, Graph, Source, Var
from transpile.primitive import Primitive
from transpile.source import assigned_name, function_source, user_source
from transpile.types import PYTHON_SCALARS, ArrayType, check_dtype

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
UFUNC_METHODS: dict[str, Callable[..., Any]] = {}


@dataclass(eq=False)
class Trace:
    """A graph in the making.

    With `known` (the values of the inputs), Python may ask for the value of a tracer: it is
    computed there and then from the equations so far (the dynamic mode).
    """

    name: str
    source: Source
    inputs: list[Var] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    captures: list[tuple[Tracer, Var]] = field(default_factory=list)
    known: dict[Var, Any] | None = None
    active: bool = True
    refused: errors.TracerError | None = None

    def atom(self, value: Any) -> Atom:
        """The graph's atom for a tracer of this trace, an outer trace's tracer, or a value."""
        if not isinstance(value, Tracer):
            return value if isinstance(value, Const) else constant(value)
        if value.owner is self:
            return value.variable
        if not value.owner.active:
            raise _leaked(value)
        for tracer, var in self.captures:
            if tracer.variable is value.variable:
                return var
        captured = Var(value.type, value.variable.name)
        self.captures.append((value, captured))
        return captured

    def append(
        self, primitive: Primitive, inputs: Sequence[Any], params: dict[str, Any]
    ) -> list[Tracer]:
        """Add an equation and give its results."""
        atoms = tuple(self.atom(v) for v in inputs)
        try:
            types = primitive.result_types([a.type for a in atoms], params)
        except (TypeError, ValueError) as problem:
            kind = TypeError if isinstance(problem, TypeError) else ValueError
            raise kind(f"{user_source()}: {problem}") from problem
        outputs = tuple(Var(t) for t in types)
        self.equations.append(Equation(primitive, atoms, params, outputs, user_source()))
        return [Tracer(self, v) for v in outputs]

    def value(self, var: Var) -> Any:
        """The value of a Var, where the inputs are known."""
        if self.known is None:
            raise errors.InternalError("the values of this trace are not known")
        if var not in self.known:
            producers = {v: e for e in self.equations for v in e.outputs}
            needed, stack = [], [producers[var]]
            while stack:
                equation = stack.pop()
                needed.append(equation)
                stack += [
                    producers[a]
                    for a in equation.inputs
                    if isinstance(a, Var) and a not in self.known
                ]
            wanted = set(map(id, needed))
            for equation in self.equations:
                if id(equation) in wanted and equation.outputs[0] not in self.known:
                    results = evaluate(equation, [self._read(a) for a in equation.inputs])
                    self.known.update(zip(equation.outputs, results, strict=True))
        return self.known[var]

    def _read(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Const) else self.value(atom)


def evaluate(equation: Equation, values: Sequence[Any]) -> list[Any]:
    """The results of one equation, by the NumPy column of its row."""
    with np.errstate(all="ignore"):
        result = equation.primitive.numpy(*values, **equation.params)
    results = [result] if len(equation.outputs) == 1 else list(result)
    return [
        np.asarray(r, dtype=v.type.dtype) for r, v in zip(results, equation.outputs, strict=True)
    ]


def constant(value: Any, what: str = "a constant") -> Const:
    """The Const of a Python scalar or an array; other things raise a TypeError."""
    if type(value) in PYTHON_SCALARS:
        try:
            return Const(np.array(value, PYTHON_SCALARS[type(value)]), weak=True)
        except OverflowError:
            raise OverflowError(f"{value} does not fit into an int64") from None
    if isinstance(value, np.generic | np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        return Const(array.astype(check_dtype(array.dtype, what), copy=False))
    raise TypeError(
        f"{user_source()}: {what} is a {type(value).__name__}, which is not an array: {value!r}"
    )


# -------------------------------------------------------------------------- the trace under way


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


_stack = _Stack()


def current_trace() -> Trace | None:
    """The trace under way in this thread, or None."""
    return _stack.traces[-1] if _stack.traces else None


def bind(primitive: Primitive, *inputs: Any, **params: Any) -> Any:
    """Apply a primitive: one tracer, or a list where it has several results.

    Errors of the type rule carry the user's file and line.
    """
    trace = current_trace()
    if trace is None:
        for value in inputs:
            if isinstance(value, Tracer):
                raise _leaked(value)
        raise errors.InternalError(f"{primitive} was applied outside a trace")
    results = trace.append(primitive, inputs, params)
    return results[0] if len(results) == 1 else results


def trace_function(
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    names: Sequence[str],
    *,
    name: str | None = None,
    known: Sequence[Any] | None = None,
) -> tuple[Graph, Any]:
    """Run `function(*tracers)`, which returns (list of result leaves, anything), and give its
    graph.

    The second result is that `anything` (the callers pass the structure of the results).
    """
    source = function_source(function)
    trace = Trace(name or str(getattr(function, "__name__", "f")), source)
    trace.inputs = [Var(t, n) for t, n in zip(types, names, strict=True)]
    if known is not None:
        trace.known = dict(zip(trace.inputs, known, strict=True))
    _stack.traces.append(trace)
    try:
        leaves, extra = function(*[Tracer(trace, v) for v in trace.inputs])
        outputs = tuple(trace.atom(leaf) for leaf in leaves)
    except TypeError as problem:
        # np.zeros(traced) asks for an int, and says something else when it does not get one.
        if trace.refused is None or isinstance(problem, errors.TracerError):
            raise
        raise trace.refused from problem
    finally:
        _stack.traces.pop()
        trace.active = False
    if trace.captures:
        raise _leaked(trace.captures[0][0])
    return Graph(
        tuple(trace.inputs), tuple(trace.equations), outputs, trace.name, source=source
    ), extra


def _leaked(tracer: Tracer) -> errors.UnexpectedTracerError:
    trace = tracer.owner
    origin = next((e.source for e in trace.equations if tracer.variable in e.outputs), None)
    made = (
        f"It was computed at {origin} (`{origin.text}`)"
        if origin is not None
        else f"It is the argument {tracer.variable.name!r}"
    )
    return errors.UnexpectedTracerError(
        f"{user_source()}: a traced value {tracer!r} was used outside the function that it belongs "
        f"to, {trace.name}. {made}. A traced function must hand its values out through `return`, "
        f"not by storing them in a global, an attribute or a list of its surroundings."
    )


# -------------------------------------------------------------------------------------- Tracer

_WHAT_TO_DO = {
    "bool": (
        "TracerBoolConversionError",
        "For a choice between values use numpy.where(condition, a, b); for a choice that depends "
        "on a Python value of the call, make that argument static (static_argnums or "
        "static_argnames); `djit` (static=False) allows branches on values.",
    ),
    "int": (
        "TracerIntegerConversionError",
        "A number that decides a shape, a loop count or an index must be known while tracing: make "
        "that argument static (static_argnums or static_argnames), take it from a shape, or use "
        "`djit` (static=False).",
    ),
    "float": (
        "TracerFloatConversionError",
        "Stay with array operations (x.astype('float64') converts), make the argument static "
        "(static_argnums or static_argnames), or use `djit` (static=False).",
    ),
    "array": (
        "TracerArrayConversionError",
        "A NumPy function that has no traced form, or a library that is not NumPy, wanted the "
        "values. Use a function that transpile.numpy has (numpy.stack in the place of numpy.array, "
        "numpy.concatenate or numpy.where in the place of an assignment into an array), or compute "
        "this outside the traced function.",
    ),
}


class Tracer:
    """An array that is not there yet: it has a shape and a dtype, and notes what is done to it."""

    # Not `trace` and `var`: those are methods of an array.
    __slots__ = ("owner", "variable")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]  # as ndarray: == is elementwise
    __getitem__: Callable[..., Any]  # transpile.numpy gives it, with the other methods

    def __init__(self, owner: Trace, variable: Var) -> None:
        self.owner = owner
        self.variable = variable

    @property
    def type(self) -> ArrayType:
        """The array type."""
        return self.variable.type

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape."""
        return self.variable.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self.variable.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.variable.type.ndim

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.variable.type.size

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

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{user_source()}: len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError(f"{user_source()}: iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    # NumPy hands its calls over here.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return named(UFUNC_METHODS[method](ufunc, *inputs, **kwargs))

    def __array_function__(
        self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        implementation = FUNCTIONS.get(func)
        if implementation is None:
            raise errors.UnsupportedError(
                f"{user_source()}: {_public_name(func)} is not supported on traced arrays yet. "
                f"The functions that are stand in transpile.numpy."
            )
        return named(implementation(*args, **kwargs))

    # Python wants a value.

    def _concrete(self, kind: str, wanted: str) -> Any:
        if self.owner.active and self.owner.known is not None:
            return self.owner.value(self.variable)
        if not self.owner.active:
            raise _leaked(self)
        error, advice = _WHAT_TO_DO[kind]
        problem: errors.TracerError = getattr(errors, error)(
            f"{user_source()}: a traced value, {self!r}, was used as {wanted} in "
            f"`{user_source().text}`.\nIt comes from {_origin(self)}, in the function "
            f"{self.owner.name!r} ({self.owner.source}). While tracing, only its shape and dtype "
            f"are known. {advice}"
        )
        self.owner.refused = problem
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

    def item(self, *args: int) -> Any:
        """The value as a Python scalar; only where values are known."""
        return self._concrete("float", "a Python scalar").item(*args)

    def tolist(self) -> Any:
        """The values as Python lists; only where values are known."""
        return self._concrete("array", "a Python list").tolist()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise errors.UnsupportedError(
            f"{user_source()}: assignment into a traced array is not supported yet: "
            f"`{user_source().text}`. Build the result with numpy.where, numpy.concatenate or "
            f"numpy.pad instead."
        )


def _public_name(function: Any) -> str:
    """`numpy.linalg.solve`, `numpy.sort`: what a user calls a function of NumPy's."""
    return f"{getattr(function, '__module__', None) or 'numpy'}.{function.__name__}"


def _origin(tracer: Tracer) -> str:
    """Which arguments a value is computed from, for error messages."""
    producers = {v: e for e in tracer.owner.equations for v in e.outputs}
    arguments: dict[Var, None] = {}
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
            arguments[atom] = None
    ordered = [v.name for v in tracer.owner.inputs if v in arguments]
    if not ordered:
        return "a constant"
    listed = ", ".join(repr(name) for name in ordered)
    return f"the argument{'s' if len(ordered) > 1 else ''} {listed}"


def named(result: Any) -> Any:
    """Remember the name that the user's code gives to a result."""
    if isinstance(result, Tracer) and not result.variable.name:
        result.variable.name = assigned_name()
        equation = result.owner.equations[-1] if result.owner.equations else None
        if (
            equation is not None
            and equation.primitive.kind == "view"
            and equation.outputs[0] is result.variable
        ):
            viewed = equation.inputs[0]  # m = x.max(1, keepdims=True) names the maximum too
            if isinstance(viewed, Var) and not viewed.name:
                viewed.name = result.variable.name
    return result


def _operator(function: Any, reflected: bool = False) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) and not hasattr(other, "__array__"):
            return NotImplemented
        operands = (other, self) if reflected else (self, other)
        return named(UFUNC_METHODS["operator"](function, *operands))

    return method


def _unary_operator(function: Any) -> Callable[[Tracer], Any]:
    return lambda self: named(UFUNC_METHODS["operator"](function, self))


_OPERANDS = (Tracer, np.ndarray, np.generic, bool, int, float, complex, Dim)
_BINARY = {
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

for _name, _ufunc in _BINARY.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc))
    setattr(Tracer, f"__r{_name}__", _operator(_ufunc, reflected=True))
for _name, _ufunc in _COMPARE.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Tracer, f"__{_name}__", _unary_operator(_ufunc))


def add_method(name: str, function: Callable[..., Any]) -> None:
    """Give every tracer the method `name`, which calls `function(tracer, ...)`."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        return named(function(self, *args, **kwargs))

    method.__name__ = name
    method.__doc__ = function.__doc__
    setattr(Tracer, name, method)


def add_property(name: str, function: Callable[[Tracer], Any]) -> None:
    """Give every tracer the attribute `name`, computed by `function(tracer)`."""
    setattr(Tracer, name, property(lambda self: named(function(self))))
