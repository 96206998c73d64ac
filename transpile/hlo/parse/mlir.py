"""Operations in MLIR's syntax: the generic form, and the short forms in which they are printed.

    %3 = stablehlo.slice %1 [0:2, 1:3] : (tensor<4x4xf32>) -> tensor<2x2xf32>
    %4 = "stablehlo.sort"(%3) <{dimension = 0 : i64}> ({ ... }) : (tensor<2x2xf32>) -> ...

Both become an `Operation`. What a short form has beside operands and named attributes is kept in
order in `words`; which attribute that is, `stablehlo_forms` knows.
"""

from __future__ import annotations

import re
from typing import Any

from transpile.hlo.parse.cursor import Cursor
from transpile.hlo.parse.mlir_attributes import (
    STRING,
    Attributes,
    FunctionType,
    Opaque,
    is_type,
    parse_function_type,
    parse_type,
    parse_types,
    string_value,
)
from transpile.hlo.parse.mlir_operations import File, Function, Operation, Region, Slice

VALUE = re.compile(r"%([\w$.\-]+)(?:#(\d+))?")
_COUNT = re.compile(r":\s*(\d+)")
_NAME = re.compile(r"[A-Za-z_][\w$.]*")
_BLOCK = re.compile(r"\^[\w$.\-]+")
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_ALIAS = re.compile(r"[#!]([\w$.\-]+)\s*=")
_VISIBILITY = re.compile(r"public|private|nested")
_RESOURCES = re.compile(r"\{-#(.*?)#-\}", re.DOTALL)
_RESOURCE = re.compile(r'([\w$.\-]+)\s*:\s*"0x([0-9A-Fa-f]*)"')
MOST_RESULTS = 10_000


def parse_file(text: str) -> tuple[File, Cursor]:
    """The functions of a text, and the cursor, which knows lines."""
    parser = _Parser(text)
    return parser.file(), parser.cursor


class _Parser:
    def __init__(self, text: str) -> None:
        self.resources: dict[str, bytes] = {}
        blob = _RESOURCES.search(text)
        self.cursor = Cursor(text[: blob.start()] if blob else text)
        self.attributes = Attributes(self.cursor)
        if blob:
            for name, digits in _RESOURCE.findall(blob[1]):
                if len(digits) % 2 == 0:  # the first four bytes are the alignment
                    self.attributes.resources[name] = bytes.fromhex(digits)[4:]

    # --------------------------------------------------------------------------------- functions

    def file(self) -> File:
        """A module, or functions without one."""
        c = self.cursor
        found = File("module", {})
        self._aliases()
        if c.take("builtin.module") or self._keyword("module"):
            if c.at("@"):
                found.name = self.attributes.symbol().name
            if self._keyword("attributes"):
                self.attributes.dictionary()
            c.need("{")
            self._functions(found)
            c.need("}")
        elif c.at('"builtin.module"'):
            self._generic_module(found)
        else:
            self._functions(found)
        self._location()
        self._aliases()
        if not c.is_at_end:
            c.expected("the end")
        return found

    def _keyword(self, word: str) -> bool:
        c = self.cursor
        end = c.position + len(word)
        is_longer = c.text[end : end + 1].isalnum() or c.text[end : end + 1] == "_"
        return not is_longer and c.take(word)

    def _aliases(self) -> None:
        c = self.cursor
        while (found := c.match(_ALIAS)) is not None:
            value = self.attributes.value()
            self.attributes.named[found[1]] = value

    def _functions(self, file: File) -> None:
        c = self.cursor
        while not c.at("}") and not c.is_at_end:
            begin = c.position
            if self._keyword("func.func") or self._keyword("func"):
                self._add(file, self._function(begin))
            elif c.at("sdy.mesh") or c.at("#"):  # how arrays are spread over devices
                self._skip_declaration()
            elif c.at('"func.func"'):
                self._add(file, self._of_generic(self._operation()))
            else:
                c.expected("a function")

    def _skip_declaration(self) -> None:
        c = self.cursor
        if c.at("#"):
            self._aliases()
            return
        c.needed(_NAME, "a name")
        self.attributes.symbol()
        c.need("=")
        c.balanced()
        if c.at("{"):
            self.attributes.dictionary()
        self._location()

    def _add(self, file: File, function: Function) -> None:
        if function.name in file.functions:
            self.cursor.fail(f"there are two functions @{function.name}", function.position)
        file.functions[function.name] = function

    def _function(self, begin: int) -> Function:
        c = self.cursor
        c.match(_VISIBILITY)
        name = self.attributes.symbol().name
        region = Region()
        attributes = []
        c.need("(")
        while not c.at(")"):
            region.arguments.append(self._argument())
            attributes.append(self._optional_dictionary())
            self._location()
            if not c.take(","):
                break
        c.need(")")
        results = self._results() if c.take("->") else []
        if self._keyword("attributes"):
            self.attributes.dictionary()
        if not c.at("{"):
            return Function(name, begin, None, results, attributes)
        self._body(region)
        self._location()
        return Function(name, begin, region, results, attributes)

    def _optional_dictionary(self) -> dict[str, Any]:
        return self.attributes.dictionary() if self.cursor.at("{") else {}

    def _argument(self) -> tuple[str, Any]:
        c = self.cursor
        found = c.match(VALUE)
        if found is None or found[2]:
            c.expected("an argument")
        c.need(":")
        return found[1], parse_type(c)

    def _results(self) -> list[Any]:
        c = self.cursor
        if not c.take("("):
            return [parse_type(c)]
        found = []
        while not c.at(")"):
            found.append(parse_type(c))
            self._optional_dictionary()
            if not c.take(","):
                break
        c.need(")")
        return found

    def _generic_module(self, file: File) -> None:
        operation = self._operation()
        name = operation.attributes.get("sym_name")
        file.name = name if isinstance(name, str) else file.name
        for region in operation.regions:
            for inner in region.operations:
                if inner.name == "func.func":
                    self._add(file, self._of_generic(inner))
                elif inner.name != "sdy.mesh":
                    self.cursor.fail(f"{inner.name} is no function", inner.position)

    def _of_generic(self, operation: Operation) -> Function:
        """A function in the generic form."""
        given, at = operation.attributes, operation.position
        name, kind = given.get("sym_name"), given.get("function_type")
        if not isinstance(name, str) or not isinstance(kind, FunctionType):
            self.cursor.fail("a function has a name and a type", at)
        attributes = given.get("arg_attrs")
        listed = attributes if isinstance(attributes, list) else []
        region = operation.regions[0] if operation.regions else None
        found = [a if isinstance(a, dict) else {} for a in listed]
        return Function(name, at, region, list(kind.results), found)

    # -------------------------------------------------------------------------------- operations

    def _body(self, region: Region) -> None:
        """`{ operations }`, into a region; `free` is filled."""
        c = self.cursor
        begin = c.position
        c.enter()
        c.need("{")
        if c.match(_BLOCK) is not None:
            if c.take("("):
                while not c.at(")"):
                    region.arguments.append(self._argument())
                    self._location()
                    if not c.take(","):
                        break
                c.need(")")
            c.need(":")
        while not c.at("}"):
            if c.at("^"):
                c.fail("regions of several blocks are not supported")
            if c.is_at_end:
                c.expected("'}'")
            region.operations.append(self._operation())
        c.need("}")
        c.leave()
        region.span = (begin, c.position)
        self._find_free(region)

    def _find_free(self, region: Region) -> None:
        known = {name for name, _ in region.arguments}
        for operation in region.operations:
            used = [*operation.operands, *(n for r in operation.regions for n in r.free)]
            for name in used:
                if name not in known:
                    region.free[name] = None
            known.update(operation.results)

    def _operation(self) -> Operation:
        c = self.cursor
        begin = c.position
        results = self._result_names()
        if c.at('"'):
            found = c.match(STRING)
            if found is None:
                c.fail("this string is not closed")
            operation = Operation(string_value(found[1]), begin, results)
            self._generic(operation)
        else:
            operation = Operation(c.needed(_NAME, "an operation"), begin, results)
            self._pretty(operation)
        self._location()
        return operation

    def _result_names(self) -> list[str]:
        c = self.cursor
        names: list[str] = []
        if not c.at("%"):
            return names
        while (found := c.match(VALUE)) is not None:
            count = c.match(_COUNT)
            if count is None:
                names.append(found[1])
            elif len(count[1]) > 5 or int(count[1]) > MOST_RESULTS:
                c.fail(f"more than {MOST_RESULTS} results are not supported")
            else:
                names += [f"{found[1]}#{k}" for k in range(int(count[1]))]
            if not c.take(","):
                break
        c.need("=")
        return names

    def _location(self) -> None:
        if self._keyword("loc"):
            self.cursor.balanced()

    def _value(self) -> str | None:
        """The name of a value, if one is next: `3`, or `3#1`."""
        found = self.cursor.match(VALUE)
        if found is None:
            return None
        return f"{found[1]}#{found[2]}" if found[2] else found[1]

    def _generic(self, operation: Operation) -> None:
        c = self.cursor
        c.need("(")
        while not c.at(")"):
            name = self._value()
            if name is None:
                c.expected("an operand")
            operation.operands.append(name)
            if not c.take(","):
                break
        c.need(")")
        if c.take("<"):
            operation.attributes |= self.attributes.dictionary()
            c.need(">")
        if c.take("("):
            while not c.at(")"):
                region = Region()
                self._body(region)
                operation.regions.append(region)
                if not c.take(","):
                    break
            c.need(")")
        operation.attributes |= self._optional_dictionary()
        c.need(":")
        operation.types = parse_function_type(c)

    # --------------------------------------------------------------------------------- short forms

    def _pretty(self, operation: Operation) -> None:
        if operation.name in ("stablehlo.reduce", "mhlo.reduce"):
            self._reduce(operation)
        elif operation.name in ("stablehlo.while", "mhlo.while"):
            self._while(operation)
        elif operation.name.endswith(".constant"):
            operation.attributes |= self._optional_dictionary()
            operation.words.append(self.attributes.value())
        else:
            self._items(operation)
            self._types(operation)

    def _items(self, operation: Operation) -> None:
        """Operands, named attributes and words, up to the colon before the types."""
        c = self.cursor
        depth = 0
        while not c.at(":") and not c.is_at_end:
            before = c.position
            if c.take("("):
                depth += 1
            elif c.take(")"):
                depth -= 1
                if depth < 0:
                    c.fail("this parenthesis closes nothing", before)
            elif not c.take(",") and not self._item(operation):
                return
        if depth:
            c.expected("')'")

    def _item(self, operation: Operation) -> bool:
        """One of them; False where the operation ends without types."""
        c = self.cursor
        value = self._value()
        if value is not None:
            operation.operands.append(value)
            return True
        if c.at("}") or self._at_operation():
            return False
        if c.at("["):
            operation.words.append(Slice(c.balanced()))
        elif c.at("{"):
            operation.attributes |= self.attributes.dictionary()
        elif c.at("<"):
            c.balanced()
        elif (found := c.match(_NAMED)) is not None:
            operation.attributes[found[1]] = self._named(found[1])
        elif c.at("@") or c.at('"') or c.at("#") or c.at("dense"):
            operation.words.append(self.attributes.value(typed=False))
        else:
            operation.words.append(c.needed(_NAME, "an operand"))
        return True

    def _at_operation(self) -> bool:
        """True on an operation without operands behind one without types: `return` and others."""
        c = self.cursor
        return c.text.startswith(("%", "^"), c.position)

    def _named(self, name: str) -> Any:
        """The value of `name =`; two lists with an x between them are a pair."""
        c = self.cursor
        if name == "dim_numbers":
            return self._labels()
        if c.at("<"):
            return Opaque(name, c.balanced())
        value = self.attributes.value(typed=False)
        if isinstance(value, list) and self._keyword("x"):
            return (value, self.attributes.value(typed=False))
        return value

    def _labels(self) -> Opaque:
        """`[b, 0, f]x[0, i, o]->[b, 0, f]`."""
        c = self.cursor
        parts = []
        for separator in ("x", "->", ""):
            if not c.at("["):
                c.expected("'['")
            parts.append(f"[{c.balanced()}]{separator}")
            if separator:
                c.need(separator)
        return Opaque("conv", "".join(parts))

    def _types(self, operation: Operation) -> None:
        c = self.cursor
        if not c.take(":"):
            return
        if c.at("("):
            operation.types = parse_function_type(c)
            return
        listed = [parse_type(c)]
        while c.take(","):
            listed.append(parse_type(c))
        if c.take("->"):
            operation.types = FunctionType(tuple(listed), tuple(parse_types(c)))
        else:
            operation.types = listed

    def _reduce(self, operation: Operation) -> None:
        """`(%x init: %a), (%y init: %b) applies OP across dimensions = [0] : types`, or with a
        region behind them: `reducer(%p: t, %q: t) (...) { ... }`."""
        c = self.cursor
        starts = []
        while c.take("("):
            operation.operands.append(self._needed_value())
            c.need("init")
            c.need(":")
            starts.append(self._needed_value())
            c.need(")")
            c.take(",")
        operation.operands += starts
        if self._keyword("applies"):
            operation.words.append(c.needed(_NAME, "an operation"))
        c.need("across")
        c.need("dimensions")
        c.need("=")
        operation.attributes["dimensions"] = self.attributes.value(typed=False)
        operation.attributes |= self._optional_dictionary()
        self._types(operation)
        if not operation.words:
            begin = c.position
            c.need("reducer")
            pairs = []
            while c.take("("):
                first = self._argument()
                self._location()
                c.need(",")
                pairs.append((first, self._argument()))
                self._location()
                c.need(")")
            region = Region([p for p, _ in pairs] + [q for _, q in pairs])
            self._body(region)
            region.span = (begin, c.position)
            operation.regions.append(region)

    def _needed_value(self) -> str:
        name = self._value()
        if name is None:
            self.cursor.expected("an operand")
        return name

    def _while(self, operation: Operation) -> None:
        """`(%a = %x, %b = %y) : types cond { ... } do { ... }`."""
        c = self.cursor
        names = []
        c.need("(")
        while not c.at(")"):
            names.append(self._needed_value())
            c.need("=")
            operation.operands.append(self._needed_value())
            if not c.take(","):
                break
        c.need(")")
        self._types(operation)
        types = operation.types if isinstance(operation.types, list) else []
        if names and (len(types) != len(names) or not all(map(is_type, types))):
            c.fail(f"this loop has {len(names)} values and {len(types)} types", operation.position)
        if self._keyword("attributes"):
            self.attributes.dictionary()
        for word in ("cond", "do"):
            c.need(word)
            region = Region(list(zip(names, types, strict=True)))
            self._body(region)
            operation.regions.append(region)
        operation.types = FunctionType(tuple(types), tuple(types))
