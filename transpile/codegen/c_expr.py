"""Print scalar expressions as C, with the parentheses that precedence requires and no others.

An operation is its primitive's C column (`c_functions.py`) with the printed operands substituted.
Each text is returned with its precedence level, and is put in parentheses where the context needs a
higher one.
"""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Any

import numpy as np

from transpile.analysis.value_range import measured
from transpile.codegen.c_functions import (
    OPERANDS,
    as_float32,
    conversion,
    dtype_of_column,
    function,
    is_byte,
    parsed_column,
    unrounded,
    via,
)
from transpile.codegen.dialect import Dialect, suffix
from transpile.errors import InternalError
from transpile.ir.dims import Dim, Index, Monomial, Quotient, Symbol, bounds, sole_symbol
from transpile.ir.indices.polynomial_text import whole_units
from transpile.ir.loop_ir import Apply, Expr, IndexValue, Literal, Load, Ref, Within
from transpile.ir.types import INT32, INT64, SHORT_NAMES, UINT8, is_half
from transpile.symbols import c_helpers
from transpile.util.frozen_records import dataclass

DType = np.dtype[Any]

# C's precedence levels, the tightest last (ISO C11, section 6.5).
(
    CONDITIONAL,
    OR,
    AND,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    EQUALITY,
    RELATION,
    SHIFT,
    SUM,
    PRODUCT,
    UNARY,
    ATOM,
) = range(13)

_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.Mod: ("%", PRODUCT),
    ast.BitAnd: ("&", BIT_AND),
    ast.BitOr: ("|", BIT_OR),
    ast.BitXor: ("^", BIT_XOR),
    ast.Eq: ("==", EQUALITY),
    ast.NotEq: ("!=", EQUALITY),
    ast.Lt: ("<", RELATION),
    ast.LtE: ("<=", RELATION),
    ast.Gt: (">", RELATION),
    ast.GtE: (">=", RELATION),
    ast.And: ("&&", AND),
    ast.Or: ("||", OR),
}
_BITWISE = (BIT_AND, BIT_OR, BIT_XOR)


@dataclass
class Printer:
    """Prints expressions; `used` collects the helpers that they call.

    precise   as in the options
    indices   subscripts that have a name, as variables of the loops around
    values    the scalars that are passed by value
    as_bytes  the arrays of bools that are read as integers
    near      all angles are of ordinary magnitude, not only those in `ordinary`
    lanes     the expressions are those of a vector loop
    """

    dialect: Dialect
    precise: bool = False
    values: frozenset[str] = frozenset()
    as_bytes: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    indices: tuple[tuple[Index, str], ...] = ()
    near: bool = False
    lanes: bool = False
    ordinary: frozenset[Expr] = frozenset()

    def print(self, expr: Expr, level: int = 0) -> str:
        """The text of an expression, in parentheses where its precedence is below `level`."""
        text, own = self._print(expr)
        return f"({text})" if own < level else text

    def assigned(self, expr: Expr) -> str:
        """The text of an expression that is assigned to a variable of its dtype: an implicit
        conversion of C that is exact needs no cast there."""
        if isinstance(expr, Apply) and expr.op == "convert_element_type":
            source = UINT8 if self._is_byte(expr.args[0]) else expr.args[0].dtype
            if (
                not self._is_choice(expr.args[0], expr.dtype)
                and not _is_narrow(expr.args[0], expr.dtype)
                and not is_half(source)
                and not is_half(expr.dtype)
                and expr.dtype.kind not in "bc"
                and source.kind not in "c"
                and np.can_cast(source, expr.dtype, "safe")
                and not (source.kind in "iu" and source.itemsize == 8 and expr.dtype.kind == "f")
            ):
                return self.print(expr.args[0])
        return self.print(expr)

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Literal(value=value, dtype=dtype):
                text = self.dialect.literal(value, dtype)
                return text, UNARY if text.startswith("-") else ATOM
            case Ref(name=name):
                return name, ATOM
            case Load():
                return self.element(expr.buffer, expr.index), ATOM
            case IndexValue(index=index):
                return self._index(index)
            case Within():
                return self._within(expr)
            case Apply(op="convert_element_type"):
                return self._convert(expr)
            case Apply():
                dtype = dtype_of_column(expr)
                node = parsed_column(expr.op, dtype)
                if is_half(dtype) and not isinstance(node, ast.Name | ast.IfExp | ast.Call):
                    raise InternalError(f"widen_halves has left {expr.op} of {dtype.name}")
                return self._fill(node, expr, dtype)

    def element(self, buffer: str, index: tuple[Index, ...]) -> str:
        """An element of a buffer."""
        if not index:
            return buffer if buffer in self.values else f"*{buffer}"
        return buffer + "".join(f"[{self.index(i)}]" for i in index)

    def address(self, load: Load) -> str:
        """The address of an element; an array's first element is the array itself, and that of a
        buffer without axes its only one."""
        buffer, index = load.buffer, load.index
        if not index:
            return f"&{buffer}" if buffer in self.values else buffer
        if index[-1] == 0:
            return self.element(buffer, index[:-1]) if len(index) > 1 else buffer
        return f"&{self.element(buffer, index)}"

    # ------------------------------------------------------------------------- C columns

    def _fill(self, node: ast.expr, expr: Apply, dtype: DType) -> tuple[str, int]:
        """The text of a C column with the operands of `expr` in place of x, y, z."""
        match node:
            case ast.Name(id=name):
                return self._print(expr.args[OPERANDS.index(name)])
            case ast.Constant(value=value):
                return self._print(Literal(value, dtype))
            case ast.BinOp(left=left, op=op, right=right):
                return self._infix(type(op), left, right, expr, dtype)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._infix(type(op), left, right, expr, dtype)
            case ast.BoolOp(op=op, values=[left, right]):
                return self._infix(type(op), left, right, expr, dtype)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name()) if self._is_byte(expr.args[0]):
                return f"{self.print(expr.args[0])} == 0", EQUALITY
            case ast.UnaryOp(op=op, operand=operand):
                sign = {ast.USub: "-", ast.Not: "!", ast.Invert: "~"}[type(op)]
                inner = self._at(operand, expr, dtype, UNARY)
                if inner.startswith(sign):
                    inner = f"({inner})"
                return sign + inner, UNARY
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, own = self._fill(test, expr, dtype)
                parts = (
                    f"({condition})" if own < OR or own in _BITWISE else condition,
                    self._at(body, expr, dtype, CONDITIONAL),
                    self._at(orelse, expr, dtype, CONDITIONAL),
                )
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", CONDITIONAL
            case ast.Call(func=ast.Name(id=name), args=args):
                texts = [self._at(a, expr, dtype, 0) for a in args]
                is_near = self.near or measured(expr) in self.ordinary
                function = self.function(name, dtype, is_near)
                return f"{function}({', '.join(texts)})", ATOM
            case _:
                raise InternalError(
                    f"{expr.op} has a C column that no rule prints: {ast.unparse(node)}"
                )

    def _at(self, node: ast.expr, expr: Apply, dtype: DType, level: int) -> str:
        text, own = self._fill(node, expr, dtype)
        return f"({text})" if own < level else text

    def _infix(
        self, op: type, left: ast.expr, right: ast.expr, expr: Apply, dtype: DType
    ) -> tuple[str, int]:
        word, level = _OPERATORS[op]
        # Parentheses that compilers warn without: a == b & c, a && b || c, a < b < c, !a | b & c.
        inner = SHIFT if level in (EQUALITY, RELATION) else level
        if level in _BITWISE:
            inner = UNARY
        if level == OR:
            inner = BIT_OR
        first, own = self._operand(left, expr, dtype, level)
        if own < inner and not (own == level and level in _BITWISE):
            first = f"({first})"
        is_not = own == UNARY and first.startswith("!")
        second, own = self._operand(right, expr, dtype, level)
        if is_not and level in _BITWISE and own in _BITWISE:
            first = f"({first})"
        if own < min(inner + 1, ATOM):
            second = f"({second})"
        return f"{first} {word} {second}", level

    def _operand(self, node: ast.expr, expr: Apply, dtype: DType, level: int) -> tuple[str, int]:
        """The text of an operand. A bool that is read as an integer is compared with 0 beside `&`:
        so are other operands comparisons, and gcc vectorises no conjunction of the two."""
        text, own = self._fill(node, expr, dtype)
        if level in _BITWISE and isinstance(node, ast.Name):
            is_byte = self._is_byte(expr.args["xyz".index(node.id)])
            return (f"{text} != 0", EQUALITY) if is_byte else (text, own)
        return text, own

    def _is_byte(self, x: Expr) -> bool:
        """True for a bool that is read as an integer."""
        return isinstance(x, Load) and x.buffer in self.as_bytes

    def _function(self, name: str, arguments: list[str], dtype: DType) -> tuple[str, int]:
        return f"{self.function(name, dtype)}({', '.join(arguments)})", ATOM

    def function(self, name: str, dtype: DType, near: bool = False) -> str:
        """The C function for a name in a column and a dtype; a helper is added to `used`."""
        name = function(name, dtype, self.precise, near, self.lanes)
        name = self.dialect.helpers.get(name, name)
        if c_helpers.find(name) is not None:
            self.used.add(name)
        return name

    def _convert(self, expr: Apply) -> tuple[str, int]:
        (x,) = expr.args
        source, target = x.dtype, expr.dtype
        if is_half(source):
            return self._from_half(x, target)
        if target.kind == "b":
            test = "!= 0" if source.kind in "iu" else f"!= {self.dialect.literal(0, source)}"
            return f"{self.print(x, SHIFT)} {test}", EQUALITY
        if self._is_choice(x, target):
            return self._choice(x, target)
        if source.kind == "c" and target.kind != "c":
            # NumPy drops the imaginary part.
            real = self._function("real", [self.print(x)], source)[0]
            part = np.dtype(f"f{source.itemsize // 2}")
            if part == target:
                return real, ATOM
            return self._cast(real, part, target)
        if _is_narrow(x, target):
            return self._cast(
                f"({self.dialect.types[INT32]}){self.print(x, UNARY)}", source, target
            )
        return self._cast(self.print(x, UNARY), source, target, self.print(x))

    def _is_choice(self, x: Expr, target: DType) -> bool:
        """True where a bool becomes a float as `x ? 1.0 : 0.0`: few loops with a cast of it are
        vectorised by gcc. A bool that is read as an integer is one already."""
        return x.dtype.kind == "b" and _is_real(target) and not self._is_byte(x)

    def _choice(self, x: Expr, target: DType) -> tuple[str, int]:
        middle = via(x.dtype, target)
        if middle is not None:
            number = Apply("convert_element_type", (x,), middle)
            return self._convert(Apply("convert_element_type", (number,), target))
        test, own = self._print(x)
        test = f"({test})" if own < OR or own in _BITWISE else test
        one, zero = (self.dialect.literal(value, target) for value in (1, 0))
        return f"{test} ? {one} : {zero}", CONDITIONAL

    def _from_half(self, x: Expr, target: DType) -> tuple[str, int]:
        """A conversion from float16 or bfloat16, whose values are bits in C."""
        if via(x.dtype, target) is not None:
            return self._convert(Apply("convert_element_type", (as_float32(x),), target))
        exact = unrounded(x, target)
        if exact is not None and is_byte(exact):
            return self._print(exact)
        if exact is not None:
            return self._helper(f"round_{suffix(x.dtype)}", self.print(exact))
        return self._helper(conversion(x.dtype, target), self.print(x))

    def _helper(self, name: str, argument: str) -> tuple[str, int]:
        self.used.add(name)
        return f"{name}({argument})", ATOM

    def _cast(self, text: str, source: DType, target: DType, bare: str = "") -> tuple[str, int]:
        middle = via(source, target)
        if middle is not None:
            text, bare = self._cast(text, source, middle, bare)[0], ""
            source = middle
        helper = conversion(source, target)
        if helper:
            return self._helper(helper, bare or text)
        return f"({self.dialect.types[target]}){text}", UNARY

    # -------------------------------------------------------------------------- indices

    def _within(self, expr: Within) -> tuple[str, int]:
        index, low, high = (self._index(i) for i in (expr.index, expr.low, expr.high))
        tests = []
        smallest, largest = bounds(expr.index)
        if not (isinstance(expr.low, int) and smallest is not None and smallest >= expr.low):
            tests.append(f"{index[0]} >= {low[0]}")
        if not (isinstance(expr.high, int) and largest is not None and largest < expr.high):
            tests.append(f"{index[0]} < {high[0]}")
        return (" && ".join(tests) or "true"), (
            AND if len(tests) > 1 else RELATION if tests else ATOM
        )

    def index(self, index: Index, level: int = 0) -> str:
        """The text of a subscript, in parentheses where its precedence is below `level`."""
        text, own = self._index(index)
        return f"({text})" if own < level else text

    def _index(self, index: Index) -> tuple[str, int]:
        index = self._named(index)
        if isinstance(index, int):
            return str(index), UNARY if index < 0 else ATOM
        symbol = sole_symbol(index)
        if symbol is not None and symbol.unit == 1:
            return symbol.name, ATOM
        terms = list(index.terms)
        positive = [term for term in reversed(terms) if term[1] > 0]
        if terms[0][1] < 0 and positive:  # 80 - 16 * i, n - 1 - i
            terms.remove(positive[0])
            terms.insert(0, positive[0])
        text = ""
        for monomial, coefficient in terms:
            sign = "-" if coefficient < 0 else "+"
            term = self._term(monomial, abs(coefficient))
            text = f"{text} {sign} {term}" if text else (term if sign == "+" else f"-{term}")
        return text, SUM if len(terms) > 1 or text.startswith("-") else PRODUCT

    def _named(self, index: Index) -> Index:
        """The subscript with a named part replaced by the name, where that makes it shorter."""
        for whole, name in self.indices:
            for sign in (1, -1):
                rest = index - whole * sign
                if isinstance(index, Dim) and _length(rest) + _length(whole) == _length(index):
                    return rest + Dim.symbol(name) * sign
        return index

    def _term(self, monomial: Monomial, coefficient: int) -> str:
        coefficient, divisors = whole_units(monomial, coefficient)
        factors = [str(coefficient)] if coefficient != 1 or not monomial else []
        alone = not factors and len(monomial) == 1
        for atom, divisor in zip(monomial, divisors, strict=True):
            if isinstance(atom, Symbol):
                text = atom.name if divisor == 1 else f"{atom.name} / {divisor}"
                factors.append(text if alone or divisor == 1 else f"({text})")
                continue
            word = "/" if isinstance(atom, Quotient) else "%"
            low, least = bounds(atom.dividend)[0], bounds(atom.divisor)[0]
            if low is None or low < 0 or least is None or least < 1:
                name = self.function("floor_divide" if word == "/" else "remainder", INT64)
                factors.append(f"{name}({self.index(atom.dividend)}, {self.index(atom.divisor)})")
                continue
            text = (
                f"{self.index(atom.dividend, PRODUCT + 1)} {word} {self.index(atom.divisor, UNARY)}"
            )
            factors.append(text if alone else f"({text})")
        return " * ".join(factors)


def _is_real(dtype: DType) -> bool:
    """True for floats, halves among them."""
    return dtype.kind == "f" or is_half(dtype)


def _is_narrow(x: Expr, target: DType) -> bool:
    """True for a computed unsigned integer that is to be a float by way of int32: where gcc finds
    that it is 0 or 1, it makes a bool of it, whose cast it does not vectorise."""
    narrow = x.dtype.kind == "u" and x.dtype.itemsize < INT32.itemsize
    return narrow and _is_real(target) and not isinstance(x, Load)


def _length(index: Index) -> int:
    return len(index.terms) if isinstance(index, Dim) else int(index != 0)


def c_type(dialect: Dialect, dtype: DType) -> str:
    """The type of a dtype in a dialect."""
    if dtype not in dialect.types:
        raise InternalError(f"{dialect.name} has no type for {SHORT_NAMES.get(dtype, dtype.name)}")
    return dialect.types[dtype]
