"""StableHLO's operations as instructions: regions become computations, and what a loop or a branch
reads of its surroundings becomes part of the tuple that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from transpile.hlo.module import Computation, Instruction
from transpile.hlo.parse.assemble import Assembler, Body, Parsed
from transpile.hlo.parse.cursor import Cursor
from transpile.hlo.parse.mlir import parse_file
from transpile.hlo.parse.mlir_attributes import FunctionType, Symbol, array_types
from transpile.hlo.parse.mlir_operations import File, Function, Operation, Region
from transpile.hlo.parse.stablehlo_forms import FORMS, NAMES, FormError
from transpile.ir.types import ArrayType

_BLANK = re.compile(r"\s+")
_INTEGER = re.compile(r"\d{1,9}")
_ARGUMENT = re.compile(r"a(\d{1,9})_(\d+)")
_NUMBERED = re.compile(r"%a?(\d{1,9})\b")
_RETURNS = ("return", "func.return", "stablehlo.return", "mhlo.return")
_CALLS = ("call", "func.call")
# What says something to a compiler for several devices, and nothing about values.
_IDENTITIES = ("sdy.sharding_constraint", "sdy.reshard")
_COMPOSITES = ("stablehlo.composite", "mhlo.composite")

Values = dict[str, Instruction]


def parse_stablehlo(text: str, file_name: str = "module.mlir") -> Parsed:
    """The module of a text; its entry is the function `main`, or the only public one.

    Raises HloError.
    """
    file, cursor = parse_file(text)
    return _Translator(file, cursor, file_name).module()


class _Translator:
    """The functions that are done, and those that are left."""

    def __init__(self, file: File, cursor: Cursor, file_name: str) -> None:
        self.file, self.cursor, self.file_name = file, cursor, file_name
        numbers = [int(n) for n in _NUMBERED.findall(cursor.text)]
        self.assembler = Assembler(max(numbers, default=0))
        self.done: dict[str, Computation] = {}
        self.regions: dict[tuple[str, str], Computation] = {}

    def module(self) -> Parsed:
        functions = self.file.functions
        if not functions:
            self.cursor.fail("there is no function")
        main = functions.get("main") or next(iter(functions.values()))
        for function in self._ordered(main):
            body, values = self._begin(function)
            root = self._body(body, values, _region(function), alone=function is not main)
            self.done[function.name] = self.assembler.finish(function.name, body, root)
        aliases = [
            (a["tf.aliasing_output"], position)
            for position, a in enumerate(main.attributes)
            if isinstance(a.get("tf.aliasing_output"), int)
        ]
        return self.assembler.parsed(self.file.name, sorted(aliases))

    def _ordered(self, main: Function) -> list[Function]:
        """The functions that are called from the main one, callees first."""
        ordered: dict[str, Function] = {}
        active: dict[str, None] = {main.name: None}
        stack = [(main, self._callees(main))]
        while stack:
            function, rest = stack[-1]
            callee = next(rest, None)
            if callee is None:
                stack.pop()
                active.pop(function.name)
                ordered[function.name] = function
            elif callee.name in active:
                self.cursor.fail(f"@{callee.name} calls itself", callee.position)
            elif callee.name not in ordered:
                active[callee.name] = None
                stack.append((callee, self._callees(callee)))
        return list(ordered.values())

    def _callees(self, function: Function) -> Iterator[Function]:
        if function.region is None:
            self.cursor.fail(f"@{function.name} has no body", function.position)
        regions = [function.region]
        while regions:
            for operation in regions.pop().operations:
                regions += operation.regions
                for name in _callees_of(operation):
                    if name not in self.file.functions:
                        self._fail(operation, f"there is no function @{name}")
                    yield self.file.functions[name]

    def _begin(self, function: Function) -> tuple[Body, Values]:
        body, values = Body(self.assembler), {}
        self._at(body, function.position)
        for position, (name, kind) in enumerate(_region(function).arguments):
            self._check_array(kind, function.position, f"@{function.name}")
            values[name] = body.add("parameter", kind, number=position)
        return body, values

    def _check_array(self, kind: Any, position: int, what: str) -> None:
        if not isinstance(kind, ArrayType):
            self.cursor.fail(f"{what}: arguments are arrays", position)

    # --------------------------------------------------------------------------------- operations

    def _body(self, body: Body, values: Values, region: Region, *, alone: bool) -> Instruction:
        """The instructions of a region; its result, which is a tuple unless it is one array that
        may stand alone."""
        last = region.operations[-1] if region.operations else None
        if last is None or last.name not in _RETURNS:
            self.cursor.fail("this region returns nothing", last.position if last else 0)
        for operation in region.operations[:-1]:
            self._operation(body, values, operation)
        self._at(body, last.position)
        given = [self._value(values, n, last) for n in last.operands]
        return given[0] if alone and len(given) == 1 else body.tuple(given)

    def _fail(self, operation: Operation, message: str) -> NoReturn:
        self.cursor.fail(f"{operation.name}: {message}", operation.position)

    def _at(self, body: Body, position: int) -> None:
        """What is added to the body stands at a position."""
        source = self.cursor.source(self.file_name, self.file.name, position)
        body.at(self.cursor.where(position), source)

    def _value(self, values: Values, name: str, operation: Operation) -> Instruction:
        found = values.get(name)
        if found is None and name.endswith("#0"):
            found = values.get(name[:-2])
        if found is None:
            self._fail(operation, f"there is no value %{name} here")
        return found

    def _operation(self, body: Body, values: Values, operation: Operation) -> None:
        self._at(body, operation.position)
        operands = [self._value(values, n, operation) for n in operation.operands]
        self._check_operands(operation, operands)
        results: Sequence[Instruction]
        if operation.name in _IDENTITIES:
            results = operands
        else:
            results = self._results(body, values, operation, operands)
        if len(results) != len(operation.results):
            self._fail(operation, f"it has {len(results)} results, not {len(operation.results)}")
        for name, result in zip(operation.results, results, strict=True):
            if name in values:
                self._fail(operation, f"there are two values %{name}")
            values[name] = result

    def _check_operands(self, operation: Operation, operands: Sequence[Instruction]) -> None:
        """Raise an error where operands have other types than are written."""
        if not isinstance(operation.types, FunctionType):
            return
        written, given = list(operation.types.operands), [o.type for o in operands]
        is_short = len(written) == 1 < len(given)  # one type for all
        if not is_short and written != given:
            self._fail(operation, "the operands have other types than are written")

    def _results(
        self, body: Body, values: Values, operation: Operation, operands: list[Instruction]
    ) -> Sequence[Instruction]:
        name = _short(operation.name)
        if name == "while":
            return self._while(body, values, operation, operands)
        if name in ("if", "case"):
            return self._branches(body, values, operation, operands)
        types = self._result_types(operation)
        if name == "constant":
            return [self._constant(body, operation)]
        callee = _callee(operation)
        if callee is not None:
            return self._call(body, operation, operands, types, self.done[callee])
        computations = [self._computation(values, operation, r) for r in operation.regions]
        computations += [self.done[called] for called in _callees_of(operation)]
        if name == "reduce" and operation.words:
            computations = [self._applied(operation, operands)]
        form = FORMS.get(name)
        if form is None and operation.name.split(".")[0] not in ("stablehlo", "chlo", "mhlo"):
            self._fail(operation, "this operation is not supported")
        try:
            attributes = form(operation, operands, computations) if form else {}
        except FormError as problem:
            self._fail(operation, str(problem))
        layout = attributes.pop("layout", None)
        kind = types[0] if len(types) == 1 and name != "tuple" else tuple(types)
        opcode = NAMES.get(name, name.replace("_", "-"))
        done = body.add(
            opcode, kind, *operands, as_number=_number(operation), layout=layout, **attributes
        )
        return [done] if len(types) == 1 else body.elements(done)

    def _result_types(self, operation: Operation) -> list[ArrayType]:
        """The types that are written: behind an arrow, else the last one, or all."""
        types = operation.types
        if isinstance(types, FunctionType):
            return array_types(types.results)
        found = array_types(types or ())
        every = operation.name.endswith((".optimization_barrier",)) or len(operation.results) > 1
        return found if every else found[-1:]

    def _constant(self, body: Body, operation: Operation) -> Instruction:
        value: Any = operation.words[0] if operation.words else operation.attributes.get("value")
        if not hasattr(value, "dtype") or isinstance(value, ArrayType):
            self._fail(operation, "a constant has elements and a type")
        kind = ArrayType(value.shape, value.dtype)
        return body.add("constant", kind, as_number=_number(operation), literal=value)

    def _call(
        self,
        body: Body,
        operation: Operation,
        operands: list[Instruction],
        types: list[ArrayType],
        callee: Computation,
    ) -> Sequence[Instruction]:
        expected = [p.type for p in callee.parameters]
        if [o.type for o in operands] != expected:
            self._fail(operation, f"@{callee.name} takes operands of other types")
        kind = callee.root.type
        done = body.add("call", kind, *operands, as_number=_number(operation), to_apply=callee)
        results = [done] if isinstance(kind, ArrayType) else body.elements(done)
        if [r.type for r in results] != types:
            self._fail(operation, f"@{callee.name} gives results of other types")
        return results

    # ------------------------------------------------------------------------------------ regions

    def _computation(self, values: Values, operation: Operation, region: Region) -> Computation:
        """The computation of a region whose arguments are parameters; constants of the surroundings
        are copied into it. Regions of one text that read nothing else are one computation."""
        key = (operation.name, _BLANK.sub(" ", self.cursor.text[slice(*region.span)]))
        if key in self.regions and not region.free:
            return self.regions[key]
        body, inner = Body(self.assembler), Values()
        self._at(body, operation.position)
        for name, kind in region.arguments:
            self._check_array(kind, operation.position, operation.name)
            number = _argument(name)[0]
            inner[name] = body.add("parameter", kind, as_number=number, number=len(inner))
        for name in region.free:
            outer = self._value(values, name, operation)
            if outer.opcode != "constant":
                self._fail(operation, f"its region reads %{name}, which is no constant")
            inner[name] = body.copy(outer)
        root = self._body(body, inner, region, alone=True)
        done = self.assembler.finish(_short(operation.name), body, root)
        self.regions[key] = done
        return done

    def _applied(self, operation: Operation, operands: Sequence[Instruction]) -> Computation:
        """The computation of a reduction that applies an operation, by its name."""
        body = Body(self.assembler)
        self._at(body, operation.position)
        start = operands[-1].type if operands else None
        if not isinstance(start, ArrayType) or len(operands) != 2:
            self._fail(operation, "an operation is applied to one array")
        parameters = [body.add("parameter", start, number=k) for k in range(2)]
        name = _short(operation.words[0]).replace("_", "-")
        return self.assembler.finish(name, body, body.add(name, start, *parameters))

    def _of_tuple(
        self, operation: Operation, name: str, region: Region, given: Sequence[tuple[str, Any]]
    ) -> tuple[Body, Values, list[Instruction]]:
        """A body whose parameter is a tuple, and the parts of it by their names."""
        body = Body(self.assembler)
        self._at(body, operation.position)
        kind = tuple(t for _, t in given)
        number = _argument(region.arguments[0][0])[0] if region.arguments else None
        parts = body.elements(body.add("parameter", kind, as_number=number, number=0))
        names = [n for n, _ in given]
        return body, dict(zip(names, parts, strict=True)), parts

    def _while(
        self, body: Body, values: Values, operation: Operation, operands: list[Instruction]
    ) -> Sequence[Instruction]:
        """A loop whose tuple is (*carry, *what its regions read of their surroundings)."""
        if len(operation.regions) != 2:
            self._fail(operation, "a loop has a condition and a body")
        test, step = operation.regions
        for region in (test, step):
            if [k for _, k in region.arguments] != [o.type for o in operands]:
                self._fail(operation, "a region takes other types than the loop has")
        free = list(dict.fromkeys([*test.free, *step.free]))
        outer = [self._value(values, n, operation) for n in free]
        rest = [(n, o.type) for n, o in zip(free, outer, strict=True)]
        start = body.tuple([*operands, *outer])
        first, inner, _ = self._of_tuple(operation, "condition", test, [*test.arguments, *rest])
        root = self._body(first, inner, test, alone=True)
        condition = self.assembler.finish("condition", first, root)
        second, inner, parts = self._of_tuple(operation, "body", step, [*step.arguments, *rest])
        done = self._body(second, inner, step, alone=False)
        if free:
            done = second.tuple([*done.operands, *parts[len(operands) :]])
        if done.type != start.type:
            self._fail(operation, "the body gives other types than it takes")
        following = self.assembler.finish("body", second, done)
        self._at(body, operation.position)
        loop = body.add(
            "while", start.type, start,
            as_number=_number(operation), condition=condition, body=following,
        )  # fmt: skip
        return body.elements(loop)[: len(operands)]

    def _branches(
        self, body: Body, values: Values, operation: Operation, operands: list[Instruction]
    ) -> Sequence[Instruction]:
        """Each branch is given the tuple of what it reads."""
        if not operation.regions or len(operands) != 1:
            self._fail(operation, "a branch has an index and regions")
        branches, given = [], []
        for number, region in enumerate(operation.regions):
            outer = [self._value(values, n, operation) for n in region.free]
            rest = [(n, o.type) for n, o in zip(region.free, outer, strict=True)]
            inner, named, _ = self._of_tuple(operation, "branch", region, rest)
            root = self._body(inner, named, region, alone=False)
            branches.append(self.assembler.finish(f"branch_{number}", inner, root))
            self._at(body, operation.position)
            given.append(body.tuple(outer))
        attributes: dict[str, Any] = {"branch_computations": tuple(branches)}
        if _short(operation.name) == "if":
            if len(branches) != 2:
                self._fail(operation, "an if has two regions")
            attributes = {"true_computation": branches[0], "false_computation": branches[1]}
        types = tuple(self._result_types(operation))
        if any(b.root.type != types for b in branches):
            self._fail(operation, "a region gives other types than are written")
        done = body.add(
            "conditional", types, operands[0], *given, as_number=_number(operation), **attributes
        )
        return body.elements(done)


def _short(name: str) -> str:
    """The name of an operation without its dialect."""
    return name.split(".", 1)[-1]


def _region(function: Function) -> Region:
    assert function.region is not None
    return function.region


def _callee(operation: Operation) -> str | None:
    """The function that an operation calls."""
    if operation.name in _CALLS:
        found = operation.attributes.get("callee", operation.words[0] if operation.words else None)
        return found.name if isinstance(found, Symbol) else ""
    if operation.name in _COMPOSITES:
        found = operation.attributes.get("decomposition")
        return found.name if isinstance(found, Symbol) else ""
    return None


def _callees_of(operation: Operation) -> list[str]:
    """The functions that an operation calls, or hands to a library."""
    callee = _callee(operation)
    if callee is not None:
        return [callee]
    handed = operation.attributes.get("called_computations", [])
    return [f.name for f in handed if isinstance(f, Symbol)] if isinstance(handed, list) else []


def _number(operation: Operation) -> int | None:
    """The number by which the text calls the results."""
    name = operation.results[0].split("#")[0] if operation.results else ""
    return int(name) if _INTEGER.fullmatch(name) else None


def _argument(name: str) -> tuple[int | None, int]:
    """The number of the instruction that an argument of a region is, or is part of."""
    found = _ARGUMENT.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else (None, 0)
