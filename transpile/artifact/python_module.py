"""Print the Python module of a C library: functions that call it with NumPy's arrays.

It imports ctypes and NumPy, and nothing of transpile. A function has the arguments of the one that
was compiled. Runtime sizes are solved for here, so that the module has a line for each of them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transpile.artifact.description import ArrayDescription, FunctionDescription
from transpile.codegen.plan.tensors import solved_sizes
from transpile.codegen.templates.filling import filled_in
from transpile.errors import UnsupportedError
from transpile.ir.indices.lengths import LIST_IS_LONGER
from transpile.util.frozen_records import dataclass


@dataclass(frozen=True)
class _Function:
    """A function as the template prints it; texts are Python's.

    order    the runtime sizes in the order of C's parameters
    sizes    (name, expression of the shapes of `_inputs`) of each runtime size
    result   what it returns
    updates  (argument, its new value) where the function assigns to arguments
    lengths  (name, its value) of lengths of results that depend on values
    rooms    (size, value of the length, error) of the sizes that say for which length there is
             memory: the function is called again where that was too little
    ordered  (argument, argument) that may not share memory
    rows     the arguments that have to lie in row-major order
    """

    name: str
    version: int
    source: str
    parameters: tuple[str, ...]
    order: tuple[str, ...]
    sizes: tuple[tuple[str, str], ...]
    inputs: tuple[ArrayDescription, ...]
    outputs: tuple[ArrayDescription, ...]
    result: str
    result_type: str
    updates: tuple[tuple[str, str], ...]
    lengths: tuple[tuple[str, str], ...]
    rooms: tuple[tuple[str, str, str], ...]
    ordered: tuple[tuple[str, str], ...]
    rows: tuple[str, ...]

    @property
    def assigned(self) -> list[str]:
        """The parameters that are assigned to."""
        return [path for path, _ in self.updates]

    @property
    def arrays(self) -> list[str]:
        """The parameters that are arrays, and no containers of them."""
        return [array.path for array in self.inputs]


def python_module(
    file: str, library: str, functions: Sequence[FunctionDescription]
) -> tuple[str, str]:
    """The texts of NAME.py and NAME.pyi for the library in a file. UnsupportedError for a function
    that such a module cannot call: one that exchanges values with other devices, or with arguments
    of a user's class."""
    printed = [_printed(function) for function in functions]
    dtypes = {a.dtype.name for f in functions for a in (*f.inputs, *f.outputs)}
    values = {
        "library": library,
        "file": file,
        "functions": printed,
        "bfloat16": "bfloat16" in dtypes,
    }
    module, stubs = (
        filled_in(
            f"artifact/{name}.j2",
            **values,
            tuple_of=_tuple,
            quoted=_quoted,
            list_is_longer=LIST_IS_LONGER,
        )
        for name in ("module.py", "module.pyi")
    )
    return module, stubs


def _tuple(items: Sequence[object]) -> str:
    """A tuple in Python's syntax."""
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def _quoted(text: str) -> str:
    """A text in Python's syntax, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _printed(function: FunctionDescription) -> _Function:
    if function.communicates:
        raise UnsupportedError(
            f"{function.name} exchanges values with other devices, which a Python module of a "
            "library cannot: call it from C"
        )
    roots = dict.fromkeys(_root(function, path) for path in function.paths)
    paths = {array.name: array.path for array in function.inputs}
    places = {array.name: f"_outputs[{k}]" for k, array in enumerate(function.outputs)}
    lengths = {name: places[output] for name, output in function.lengths}
    changed = {array.name: paths[array.origin] for array in function.outputs if array.origin}
    return _Function(
        function.name,
        function.version,
        function.source,
        tuple(roots),
        tuple(size.name for size in function.sizes),
        tuple(_sizes(function)),
        function.inputs,
        function.outputs,
        _expression(function, function.results, {**places, **changed}),
        _type(function.results, {a.name: a.dtype.name for a in function.outputs}),
        tuple((paths[a.origin], places[a.name]) for a in function.outputs if a.origin),
        tuple(lengths.items()),
        tuple((room, lengths[length], error) for room, length, error in function.rooms),
        function.ordered,
        function.rows,
    )


def _root(function: FunctionDescription, path: str) -> str:
    """The parameter that a leaf is a part of: `params` for `params['w']`."""
    try:
        node: ast.expr = ast.parse(path, mode="eval").body
    except SyntaxError:
        node = ast.Constant(None)
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnsupportedError(
            f"{function.name} takes {path}, which a Python module cannot find without the class "
            "that the argument has: pass dicts, lists, tuples and arrays"
        )
    return node.id


def _sizes(function: FunctionDescription) -> Iterator[tuple[str, str]]:
    """How each size follows from shapes; there is room for nothing at first."""
    rooms = [room for room, _, _ in function.rooms]
    yield from ((room, "0") for room in rooms)
    extents = [
        (f"_inputs[{number}].shape[{axis}]", extent)
        for number, array in enumerate(function.inputs)
        for axis, extent in enumerate(array.shape)
    ]
    sizes = [size for size in function.sizes if size.name not in rooms]
    yield from solved_sizes(function.name, sizes, extents, str, "//")


def _expression(function: FunctionDescription, results: Any, places: Mapping[str, str]) -> str:
    """The structure of a result in Python's syntax, with the places of the outputs."""

    def printed(results: Any) -> str:
        match results:
            case str():
                return places[results]
            case None:
                return "None"
            case dict():
                return f"{{{', '.join(f'{k!r}: {printed(v)}' for k, v in results.items())}}}"
            case list():
                return f"[{', '.join(map(printed, results))}]"
        if type(results) is tuple:
            return _tuple([printed(v) for v in results])
        raise UnsupportedError(
            f"{function.name} returns a {type(results).__name__}, which a Python module without "
            "its class cannot make: return dicts, lists, tuples and arrays"
        )

    return printed(results)


def _type(results: Any, dtypes: Mapping[str, str]) -> str:
    """The type of a result, for the stubs."""
    match results:
        case str():
            known = dtypes[results] != "bfloat16"
            return f"NDArray[{f'np.{_scalar(dtypes[results])}' if known else 'Any'}]"
        case None:
            return "None"
        case dict():
            return "dict[Any, Any]"
        case list():
            return "list[Any]"
    parts = ", ".join(_type(part, dtypes) for part in results)
    return f"tuple[{parts or '()'}]"


def _scalar(dtype: str) -> str:
    """The name of NumPy's scalar type, by which its arrays are annotated."""
    return "bool_" if dtype == "bool" else dtype
