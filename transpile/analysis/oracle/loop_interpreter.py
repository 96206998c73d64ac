"""The interpreter of the loop language, element by element with NumPy's scalars; the tests' oracle.

It is as strict as C is careless. Errors here are: a subscript outside its axis, an element that is
read before it is written, two live temporaries in one place of the workspace, and iterations of a
parallel loop that meet in an element or a scalar. Parallel loops run from the last iteration to the
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transpile.analysis.oracle.index_evaluator import Indices
from transpile.analysis.oracle.shadow_memory import Memory, Team, Workspace
from transpile.errors import InternalError
from transpile.ir.dims import Index, Shape, evaluate, product
from transpile.ir.graph import Site
from transpile.ir.lapack_calls import Routine
from transpile.ir.loop_ir import (
    Alloc,
    Apply,
    Buffer,
    Call,
    Declare,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Literal,
    Load,
    Program,
    Ref,
    Statement,
    Store,
    Swap,
    Update,
    While,
    Within,
)
from transpile.ir.loop_rewrite import seen_by
from transpile.ir.primitive import TABLE
from transpile.library.convolution import elements, one_image, weight_places
from transpile.library.fft import KINDS

# What the functions of ordinary angles give for others: anything that will be noticed.
FUNCTIONS, LARGEST_ANGLE, FAR = ("sin", "cos", "tan"), 2.0**40, -777.0


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """The outputs of a program for these inputs, as arrays.

    Raises IndexError for a subscript out of range and InternalError for a program that is wrong in
    another way.
    """
    with np.errstate(all="ignore"):
        return _Run(program, values).outputs()


class _Run:
    def __init__(self, program: Program, values: Sequence[Any]) -> None:
        self.program = program
        self.sizes = _runtime_sizes(program.inputs, values)
        self.memories: dict[str, Memory] = {}
        for buffer, value in zip(program.inputs, values, strict=True):
            self._own(buffer).fill(value)
        for buffer in program.constants:
            self._own(buffer).fill(buffer.value)
        aliases = dict(program.aliases)
        for buffer in program.outputs:
            if buffer.name in aliases:
                self.memories[buffer.name] = self.memories[aliases[buffer.name]]
            else:
                self._own(buffer)
        shared = Workspace(program.workspace)
        offsets = program.offsets or (None,) * len(program.temporaries)
        for buffer, offset in zip(program.temporaries, offsets, strict=True):
            if offset is None:
                self._own(buffer)
            else:
                self.memories[buffer.name] = Memory(buffer, self.sizes, shared, offset)

    def _own(self, buffer: Buffer) -> Memory:
        size = evaluate(buffer.size_in_bytes, self.sizes)
        self.memories[buffer.name] = Memory(buffer, self.sizes, Workspace(size), 0)
        return self.memories[buffer.name]

    def outputs(self) -> list[Any]:
        for kernel in self.program.kernels:
            _KernelRun(self, kernel).body(kernel.body)
        results = []
        for buffer in self.program.outputs:
            memory = self.memories[buffer.name]
            shape = tuple(evaluate(d, self.sizes) for d in buffer.shape)
            elements = [memory.read(p) for p in range(memory.data.size)]
            results.append(np.array(elements, buffer.dtype).reshape(shape))
        return results


def _runtime_sizes(inputs: Sequence[Buffer], values: Sequence[Any]) -> dict[str, int]:
    """The value of each symbol in the inputs' shapes."""
    sizes: dict[str, int] = {}
    for buffer, value in zip(inputs, values, strict=True):
        for dim, extent in zip(buffer.shape, np.shape(value), strict=True):
            if str(dim).isidentifier():
                sizes.setdefault(str(dim), extent)
            if evaluate(dim, sizes) != extent:
                raise InternalError(f"{buffer.name} has {extent} where {dim} stands")
    return sizes


class _KernelRun:
    """The run of one kernel: its scalars, its local arrays and the indices of the loops."""

    def __init__(self, run: _Run, kernel: Kernel) -> None:
        self.indices = Indices(run.sizes)
        self.memories = dict(run.memories)
        self.shapes: dict[str, Shape] = {
            name: b.shape for name, b in seen_by(run.program, kernel).items()
        }
        self.scalars: dict[str, Any] = {}
        self.hidden: list[tuple[dict[str, Any], str, Any]] = []
        self.private: set[str] | None = None
        self.near = False
        self.teams: list[Team] = []

    # ------------------------------------------------------------------------------ statements

    def body(self, statements: tuple[Statement, ...]) -> None:
        """Run the statements of one scope; what they declare ends with it."""
        around, self.hidden = self.hidden, []
        for statement in statements:
            self.statement(statement)
        self.leave(around)

    def leave(self, around: list[tuple[dict[str, Any], str, Any]]) -> None:
        """End a scope."""
        for names, name, value in reversed(self.hidden):
            if value is None:
                del names[name]
            else:
                names[name] = value
        self.hidden = around

    def declare(self, names: dict[str, Any], name: str, value: Any) -> None:
        self.hidden.append((names, name, names.get(name)))
        names[name] = value

    def statement(self, statement: Statement) -> None:
        match statement:
            case For():
                self.loop(statement)
            case If():
                chosen = self.value(statement.condition)
                self.body(statement.body if chosen else statement.orelse)
            case While():
                self.repeat(statement)
            case Swap(first=first, second=second):
                names = self.memories
                names[first], names[second] = names[second], names[first]
            case Declare(name=name):
                self.declare(self.scalars, name, self.value(statement.value))
                if statement.symbol is not None:
                    self.declare(self.indices, name, int(self.scalars[name]))
                if self.private is not None:
                    self.private.add(name)
            case Update(target=target, op=op):
                self.update(target, op, self.value(statement.value))
            case Store(buffer=buffer, index=index):
                self.write(buffer, index, self.value(statement.value))
            case Alloc(buffer=buffer):
                size = evaluate(buffer.size_in_bytes, self.indices)
                memory = Memory(buffer, self.indices, Workspace(size), 0)
                self.declare(self.memories, buffer.name, memory)
                self.declare(self.shapes, buffer.name, buffer.shape)
            case Call():
                self.call(statement)

    def repeat(self, loop: While) -> None:
        """The test is a scope in which the condition is evaluated and then the body run."""
        goes_on = True
        while goes_on:
            around, self.hidden = self.hidden, []
            for statement in loop.test:
                self.statement(statement)
            goes_on = bool(self.value(loop.condition))
            if goes_on:
                self.body(loop.body)
            self.leave(around)

    def loop(self, loop: For) -> None:
        start, stop = self.index(loop.start), self.index(loop.stop)
        if loop.limit is not None:
            stop = min(stop, self.index(loop.limit))
        iterations = range(start, stop)
        if loop.parallel or (loop.simd and not loop.reductions):
            iterations = iterations[::-1]
        outer, outside = (self.private, self.near), self.indices.get(loop.symbol.name)
        self.near = self.near or loop.near
        if loop.parallel:
            self.private = {name for _, name in loop.reductions}
            self.teams.append(Team())
        for index in iterations:
            self.indices[loop.symbol.name] = index
            if loop.parallel:
                self.teams[-1].iteration = index
            self.body(loop.body)
        if loop.parallel:
            self.teams.pop()
        self.private, self.near = outer
        if outside is None:
            self.indices.pop(loop.symbol.name, None)
        else:
            self.indices[loop.symbol.name] = outside

    def read(self, buffer: str, index: Shape) -> Any:
        memory, position = self.memories[buffer], self.position(buffer, index)
        for team in self.teams:
            team.note(memory, position)
        return memory.read(position)

    def write(self, buffer: str, index: Shape, value: Any) -> None:
        memory, position = self.memories[buffer], self.position(buffer, index)
        for team in self.teams:
            team.note(memory, position)
            team.writers[memory, position] = team.iteration
        memory.write(position, value)

    def update(self, target: Ref | Load, op: str, value: Any) -> None:
        result = value
        if op != "set":
            result = _apply(op, target.dtype, (self.value(target), value))
        if isinstance(target, Load):
            self.write(target.buffer, target.index, result)
        elif self.private is not None and target.name not in self.private:
            raise InternalError(f"the parallel loop updates {target.name}, which all threads share")
        else:
            self.scalars[target.name] = result

    def call(self, call: Call) -> None:
        """What a call does, by the name of its function."""
        if call.routine is not None:
            self.library(call, call.routine)
            return None
        if call.site is not None:
            self.call_back(call, call.site)
            return None
        meanings = {
            "sort_": self.sort,
            "argsort_": self.sort,
            "cumsum_": self.cumulative_sum,
            "conv_planes_panels_": self.image_panels,
            "conv_planes_image_": self.image,
            "conv_": self.convolution,
            "fft_": self.transform,
            "matmul_batch_": self.stack,
            "matmul_panels_": self.panels,
            "matmul_rows_": self.rows,
            "matmul_": self.product,
            "transpose_tile_": self.transpose,
        }
        for prefix, meaning in meanings.items():
            if call.function.startswith(prefix):
                return meaning(call)
        raise InternalError(f"{call.function} has no meaning here")

    def product(self, call: Call) -> None:
        """matmul_T(m, n, k, &a, row, column, &b, row, column, &c, row, &workspace)."""
        m, n, k, a_row, a_column, b_row, b_column, c_row = map(self.index, _numbers(call))
        a, b, c, scratch = (x for x in call.args if isinstance(x, Load))
        left = self.matrix(a, (m, k), (a_row, a_column))
        right = self.matrix(b, (k, n), (b_row, b_column))
        for (i, j), value in np.ndenumerate(np.matmul(left, right)):
            self.put(c, i * c_row + j, value)
        self.memories[scratch.buffer].fill(0)

    def panels(self, call: Call) -> None:
        """matmul_panels_T(n, k, &b, row, column, &panels): here they are the matrix, row by row."""
        n, k, *steps = map(self.index, _numbers(call))
        b, panels = (x for x in call.args if isinstance(x, Load))
        matrix = self.matrix(b, (k, n), (steps[0], steps[1]))
        for position, value in enumerate(matrix.ravel()):
            self.put(panels, position, value)

    def rows(self, call: Call) -> None:
        """matmul_rows_T(m, n, k, &a, row, column, &b, row, &c, row); a row of 0: panels."""
        m, n, k, *steps, b_row, c_row = map(self.index, _numbers(call))
        a, b, c = (x for x in call.args if isinstance(x, Load))
        left = self.matrix(a, (m, k), (steps[0], steps[1]))
        right = self.matrix(b, (k, n), (b_row or n, 1))
        for (i, j), value in np.ndenumerate(np.matmul(left, right)):
            self.put(c, i * c_row + j, value)

    def put(self, first: Load, offset: int, value: Any) -> None:
        """Change the element that lies so far behind another one."""
        memory, position = self.memories[first.buffer], self.position(first.buffer, first.index)
        for team in self.teams:
            team.note(memory, position + offset)
            team.writers[memory, position + offset] = team.iteration
        memory.write(position + offset, value)

    def call_back(self, call: Call, site: Site) -> None:
        """The callback of a site, with copies of the arrays."""
        values = []
        for kind, address in zip(site.types, call.args, strict=True):
            shape = kind.static_shape()
            if isinstance(address, Load):
                values.append(self.block(address, shape))
            else:
                values.append(np.empty(shape, kind.dtype))
        site.callback(*values)

    def reader(self, first: Load) -> Callable[[int], Any]:
        """What reads the element that lies so far behind another one."""
        memory, begin = self.memories[first.buffer], self.position(first.buffer, first.index)
        return lambda offset: memory.read(begin + offset)

    def convolution(self, call: Call) -> None:
        """conv_FORM_T(&plan, operations, &x, &w, &out, &scratch)."""
        plan, x, w, out, scratch = (a for a in call.args if isinstance(a, Load))
        numbers = self.memories[plan.buffer].data
        for place, value in elements(numbers, self.reader(x), self.reader(w)):
            self.put(out, place, value)
        self.memories[scratch.buffer].fill(0)

    def image_panels(self, call: Call) -> None:
        """conv_planes_panels_T(&plan, &w, &offsets, &panels): here they are the weights."""
        plan, w, offsets, panels = (a for a in call.args if isinstance(a, Load))
        self.memories[offsets.buffer].fill(0)
        read = self.reader(w)
        for number, place in enumerate(weight_places(self.memories[plan.buffer].data)):
            self.put(panels, number, read(place))

    def image(self, call: Call) -> None:
        """conv_planes_image_T(&plan, &x, &offsets, &panels, &out, &copy)."""
        plan, x, _, panels, out, _ = (a for a in call.args if isinstance(a, Load))
        numbers = one_image(self.memories[plan.buffer].data)
        where = {place: k for k, place in enumerate(weight_places(numbers))}
        read = self.reader(panels)
        for place, value in elements(numbers, self.reader(x), lambda place: read(where[place])):
            self.put(out, place, value)

    def stack(self, call: Call) -> None:
        """matmul_batch_T(count, m, n, k, &a, step, row, column, &b, ..., &c, step, row, places,
        &workspace)."""
        sizes = list(map(self.index, _numbers(call)))
        count, m, n, k = sizes[:4]
        a_step, *a_steps, b_step, b_row, b_column, c_step, c_row, _ = sizes[4:]
        a, b, c, scratch = (x for x in call.args if isinstance(x, Load))
        begin = [self.position(x.buffer, x.index) for x in (a, b, c)]
        for i in range(count):
            left = self.matrix(a, (m, k), (a_steps[0], a_steps[1]), begin[0] + i * a_step)
            right = self.matrix(b, (k, n), (b_row, b_column), begin[1] + i * b_step)
            for (p, q), value in np.ndenumerate(np.matmul(left, right)):
                self.memories[c.buffer].write(begin[2] + i * c_step + p * c_row + q, value)
        self.memories[scratch.buffer].fill(0)

    def transform(self, call: Call) -> None:
        """fft_T(&plan, &factors, outer, inner, &x, outer, inner, own step, &out, ..., &scratch)."""
        plan, factors, x, out, scratch = (a for a in call.args if isinstance(a, Load))
        sizes = [self.index(a) for a in call.args if not isinstance(a, Load)]
        numbers, scale = self.memories[plan.buffer].data, self.memories[factors.buffer].data[1]
        first, to = self.position(x.buffer, x.index), self.position(out.buffer, out.index)
        for i, j in np.ndindex(sizes[0], sizes[1]):
            begin = first + i * sizes[2] + j * sizes[3]
            kind, n = KINDS[numbers[0]], int(numbers[2])
            count = n // 2 + 1 if kind == "irfft" else n
            operand = self.matrix(x, (1, count), (0, sizes[4]), begin)[0]
            params = {"fft_type": kind, "fft_lengths": (n,), "axes": (0,), "scale": scale}
            for k, value in enumerate(TABLE["fft"].numpy(operand, **params)):
                place = to + i * sizes[5] + j * sizes[6] + k * sizes[7]
                self.memories[out.buffer].write(place, value)
        self.memories[scratch.buffer].fill(0)

    def sort(self, call: Call) -> None:
        """sort_T or argsort_T(outer, n, inner, format, words, &x, &out, [again,] places, &scratch):
        all rows of x[outer][n][inner]."""
        sizes = [self.index(a) for a in call.args if not isinstance(a, Load)]
        shape = tuple(sizes[:3])
        x, out, scratch = (a for a in call.args if isinstance(a, Load))
        if call.function.startswith("sort"):
            found = np.sort(self.block(x, shape), axis=1, kind="stable")
        else:
            before = np.broadcast_to(np.arange(shape[1])[:, None], shape)
            if sizes[5]:
                before = self.block(out, shape)
            keys = np.take_along_axis(self.block(x, shape), before, 1)
            found = np.take_along_axis(before, np.argsort(keys, 1, kind="stable"), 1)
        begin = self.position(out.buffer, out.index)
        for position, value in enumerate(found.ravel(), begin):
            self.memories[out.buffer].write(position, value)
        self.memories[scratch.buffer].fill(0)

    def cumulative_sum(self, call: Call) -> None:
        """cumsum_T(rows, n, reverse, &x, &out, &scratch)."""
        rows, n, reverse = (self.index(a) for a in call.args if not isinstance(a, Load))
        x, out, scratch = (a for a in call.args if isinstance(a, Load))
        along = slice(None, None, -1 if reverse else 1)
        found = np.cumsum(self.block(x, (rows, n))[:, along], 1)[:, along]
        begin = self.position(out.buffer, out.index)
        for position, value in enumerate(found.ravel(), begin):
            self.memories[out.buffer].write(position, value)
        self.memories[scratch.buffer].fill(0)

    def transpose(self, call: Call) -> None:
        """transpose_tile_U(tile, rows, columns, &x, row, &out)."""
        tile, rows, columns, row = (self.index(a) for a in call.args if not isinstance(a, Load))
        x, out = (a for a in call.args if isinstance(a, Load))
        found = self.matrix(x, (min(rows, tile), min(columns, tile)), (row, 1))
        for (i, j), value in np.ndenumerate(found):
            self.put(out, j * tile + i, value)

    def library(self, call: Call, routine: Routine) -> None:
        """(sizes..., &operands..., &results..., &scratch): the NumPy meaning of the row."""
        places = [a for a in call.args if isinstance(a, Load)]
        count = len(routine.operands)
        operands = [self.block(a, s) for a, s in zip(places[:count], routine.operands, strict=True)]
        meaning = TABLE[routine.row].numpy(*operands, **dict(routine.params))
        found = [meaning] if isinstance(meaning, np.ndarray) else meaning
        for place, value in zip(places[count:-1], found, strict=True):
            first = self.position(place.buffer, place.index)
            for offset, element in enumerate(np.ravel(value)):
                self.memories[place.buffer].write(first + offset, element)
        self.memories[places[-1].buffer].fill(0)

    def block(self, first: Load, shape: Shape) -> Any:
        """The array in row-major order that begins at an element."""
        size = self.index(product(shape))
        read = self.reader(first)
        numbers = np.array([read(k) for k in range(size)], first.dtype)
        return numbers.reshape([self.index(d) for d in shape])

    def matrix(
        self, first: Load, shape: tuple[int, int], steps: tuple[int, int], start: int | None = None
    ) -> Any:
        """The matrix that begins at an element, or at `start`, and steps through its buffer."""
        memory = self.memories[first.buffer]
        start = self.position(first.buffer, first.index) if start is None else start
        matrix = np.empty(shape, first.dtype)
        for i, j in np.ndindex(*shape):
            position = start + i * steps[0] + j * steps[1]
            if position < 0:
                raise IndexError(f"{first.buffer} is read before its beginning")
            matrix[i, j] = memory.read(position)
        return matrix

    # ------------------------------------------------------------------- expressions, indices

    def value(self, expr: Expr) -> Any:
        match expr:
            case Apply(op="select", args=(test, x, y)):
                return self.value(x if self.value(test) else y)
            case Apply(op=op, args=args, dtype=dtype):
                values = [self.value(a) for a in args]
                if self.near and op in FUNCTIONS and abs(values[0]) > LARGEST_ANGLE:
                    return dtype.type(FAR)
                return _apply(op, dtype, values)
            case Load(buffer=buffer, index=index):
                return self.read(buffer, index)
            case Ref(name=name):
                return self.scalars[name]
            case Literal(value=value, dtype=dtype):
                return dtype.type(value)
            case IndexValue(index=index, dtype=dtype):
                return dtype.type(self.index(index))
            case Within(index=index, low=low, high=high):
                return np.bool_(self.index(low) <= self.index(index) < self.index(high))

    def index(self, index: Index) -> int:
        return self.indices.value(index)

    def position(self, buffer: str, index: Shape) -> int:
        """The place of an element in its buffer, each subscript being within its axis."""
        shape = self.shapes[buffer]
        position = 0
        for part, extent in zip(index, shape, strict=True):
            subscript, size = self.index(part), self.index(extent)
            if not 0 <= subscript < size:
                raise IndexError(
                    f"{buffer}[{', '.join(map(str, index))}]: {part} is {subscript}, "
                    f"outside an axis of {size}"
                )
            position = position * size + subscript
        return position


def _apply(op: str, dtype: np.dtype[Any], args: Sequence[Any]) -> Any:
    if op == "convert_element_type":
        return np.asarray(args[0]).astype(dtype)[()]
    if op == "float_from_bits":
        return np.asarray(args[0]).view(dtype)[()]
    return np.asarray(TABLE[op].numpy(*args), dtype)[()]


def _numbers(call: Call) -> list[Index]:
    return [x for x in call.args if not isinstance(x, Load)]
