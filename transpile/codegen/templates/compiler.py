"""Compile the templates, which are written in Jinja's language, to functions of Python.

Jinja parses a template. What it makes of the syntax tree itself needs all of Jinja at run time,
which takes longer to import than a usual program takes to print. So the functions are made here:

    {% macro m(a, b=1) %}...{% endmacro %}    def m(a, b=1): the text
    what else the template has                def main(given): the text, with these values

They run in a namespace with the filters and with `macros_of(template)`, what `{% from %}` imports,
and they count lines as the template does: tracebacks show these.

What the language means here: names must have values; `x.y` is Python's attribute, `x[y]` Python's
item; a choice without `else` is the empty text; a name that a loop sets is the loop's own. Only
what our templates use is known, TemplateError for the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any

from transpile.errors import InternalError
from transpile.util.lazy.imports import Later, importing

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes
else:
    jinja2 = Later("jinja2")
    nodes = Later("jinja2.nodes")

MAIN = "main"  # the function for the text of a whole template


class TemplateError(InternalError):
    """A template has what is not known here."""


def compiled(text: str, path: str) -> CodeType:
    """The code of the module with the functions of a template."""

    def parse() -> Any:
        language = jinja2.Environment(
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
        )
        return language.parse(text)

    # Jinja takes locks: no fork may divide it.
    writer = _Writer(path)
    writer.template(importing(parse))
    tree = ast.parse("\n".join(writer.lines), path)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            at: Any = node
            at.lineno = at.end_lineno = writer.numbers[at.lineno - 1]
            at.col_offset = at.end_col_offset = 0
    return compile(tree, path, "exec", dont_inherit=True)


_OPERATORS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
_TESTS: dict[str, str] = {
    "none": "{} is None",
    "string": "isinstance({}, str)",
    "sequence": "isinstance({}, list | tuple)",
}
_COUNTS = {"index0": "{0}", "index": "{0} + 1", "first": "{0} == 0", "last": "{0} == len({1}) - 1"}
_BUILTIN = ("range",)


class _Scope:
    """The names that a function, or a loop in it, has set: by each its name in Python."""

    def __init__(self, above: _Scope | None = None, counter: tuple[str, str] | None = None) -> None:
        self.names: dict[str, str] = {}
        self.above = above
        self.counter = counter  # the variables with the number of the turn, and with all items

    def find(self, name: str) -> str | None:
        """A name of this scope or of one around it."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.above
        return None


class _Writer:
    """Writes the functions as lines of Python, and the number of the template's line of each."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[str] = []
        self.numbers: list[int] = []
        self._depth = 0
        self._line = 1
        self._variables = 0
        self._module = _Scope()
        self._scope = self._module
        self._is_main = False

    def template(self, tree: nodes.Template) -> None:
        """Write the functions of a template."""
        inner = (nodes.FromImport, nodes.Macro)
        for node in tree.body:
            if isinstance(node, nodes.Macro):
                self._module.names[node.name] = f"macro_{node.name}"
        for node in tree.body:
            if isinstance(node, inner):
                self._at(node)
                self._import(node) if isinstance(node, nodes.FromImport) else self._macro(node)
        self._is_main = True
        self._write(f"def {MAIN}(given):")
        with self._function():
            self._statements([node for node in tree.body if not isinstance(node, inner)])

    # ---------------------------------------------------------------------------- statements

    def _at(self, node: nodes.Node) -> None:
        self._line = node.lineno

    def _write(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)
        self.numbers.append(self._line)

    @contextmanager
    def _block(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def _function(self) -> Iterator[None]:
        """The body of a function, which returns the text that its statements write."""
        self._scope = _Scope(self._module)
        with self._block():
            self._write("texts = []")
            self._write("write = texts.append")
            yield
            self._write("return ''.join(texts)")
        self._scope = self._module

    def _import(self, node: nodes.FromImport) -> None:
        if not isinstance(node.template, nodes.Const) or node.with_context:
            raise self._unknown(node)
        self._write(f"imported = macros_of({node.template.value!r})")
        for name in node.names:
            if not isinstance(name, str):
                raise self._unknown(node)
            self._module.names[name] = f"macro_{name}"
            self._write(f"macro_{name} = imported['macro_{name}']")

    def _macro(self, node: nodes.Macro) -> None:
        names = [argument.name for argument in node.args]
        defaults = [f"={self._constant(value)}" for value in node.defaults]
        padding = [""] * (len(names) - len(defaults))
        listed = ", ".join(
            f"v_{name}{default}" for name, default in zip(names, padding + defaults, strict=True)
        )
        self._write(f"def macro_{node.name}({listed}):")
        with self._function():
            self._scope.names.update({name: f"v_{name}" for name in names})
            self._statements(node.body)

    def _constant(self, value: nodes.Node) -> str:
        """A default, which Python evaluates once."""
        if isinstance(value, nodes.Const | nodes.Tuple):
            return self._print(value)
        raise self._unknown(value)

    def _statements(self, body: Sequence[nodes.Node]) -> None:
        for node in body:
            self._at(node)
            write = self._kinds().get(type(node).__name__)
            if write is None:
                raise self._unknown(node)
            write(node)

    def _kinds(self) -> dict[str, Callable[[Any], None]]:
        return {"Output": self._output, "For": self._for, "If": self._if, "Assign": self._assign}

    def _output(self, node: nodes.Output) -> None:
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                self._write(f"write({part.data!r})")
            else:
                self._at(part)
                self._write(f"write({self._text(part)})")

    def _if(self, node: nodes.If) -> None:
        branches = [(node.test, node.body), *((b.test, b.body) for b in node.elif_)]
        for number, (test, body) in enumerate(branches):
            self._at(test)
            self._write(f"{'elif' if number else 'if'} {self._print(test)}:")
            with self._block():
                self._write("pass")
                self._statements(body)
        if node.else_:
            self._write("else:")
            with self._block():
                self._statements(node.else_)

    def _for(self, node: nodes.For) -> None:
        if node.recursive:
            raise self._unknown(node)
        items, number = self._variable("items"), self._variable("number")
        outer, iterated = self._scope, self._print(node.iter)
        self._scope = _Scope(outer, (number, items))
        target = self._target(node.target)
        if node.test is not None:
            iterated = f"[{target} for {target} in {iterated} if {self._print(node.test)}]"
        self._write(f"{items} = list({iterated})")
        self._write(f"for {number}, {target} in enumerate({items}):")
        with self._block():
            self._statements(node.body)
        self._scope = outer
        if node.else_:
            self._write(f"if not {items}:")
            with self._block():
                self._statements(node.else_)

    def _assign(self, node: nodes.Assign) -> None:
        value = self._print(node.node)
        self._write(f"{self._target(node.target)} = {value}")

    def _target(self, node: nodes.Node) -> str:
        """Names that are set, as Python has them; each has a variable of its own in its scope."""
        if isinstance(node, nodes.Tuple):
            return f"({', '.join(map(self._target, node.items))},)"
        if not isinstance(node, nodes.Name):
            raise self._unknown(node)
        if node.name not in self._scope.names:
            self._scope.names[node.name] = self._variable(f"v_{node.name}")
        return self._scope.names[node.name]

    def _variable(self, stem: str) -> str:
        self._variables += 1
        return f"{stem}_{self._variables}"

    # --------------------------------------------------------------------------- expressions

    def _text(self, node: nodes.Node) -> str:
        return f"str({self._print(node)})"

    def _print(self, node: nodes.Node | None) -> str:
        """An expression of Python, in parentheses where that may matter."""
        printed = getattr(self, f"_{type(node).__name__.lower()}_", None)
        if printed is None:
            raise self._unknown(node)
        text: str = printed(node)
        return text

    def _const_(self, node: nodes.Const) -> str:
        return repr(node.value)

    def _name_(self, node: nodes.Name) -> str:
        known = self._scope.find(node.name)
        if known is not None:
            return known
        if node.name in _BUILTIN:
            return node.name
        if not self._is_main:  # a macro has no values but its own
            raise self._unknown(node)
        return f"given[{node.name!r}]"

    def _getattr_(self, node: nodes.Getattr) -> str:
        if isinstance(node.node, nodes.Name) and node.node.name == "loop":
            return f"({_COUNTS[node.attr].format(*self._counter(node))})"
        return f"{self._print(node.node)}.{node.attr}"

    def _counter(self, node: nodes.Node) -> tuple[str, str]:
        scope: _Scope | None = self._scope
        while scope is not None:
            if scope.counter is not None:
                return scope.counter
            scope = scope.above
        raise self._unknown(node)

    def _getitem_(self, node: nodes.Getitem) -> str:
        return f"{self._print(node.node)}[{self._print(node.arg)}]"

    def _slice_(self, node: nodes.Slice) -> str:
        ends = (node.start, node.stop, node.step)
        return ":".join(self._print(end) if end is not None else "" for end in ends)

    def _call_(self, node: nodes.Call) -> str:
        return f"{self._print(node.node)}({self._arguments(node)})"

    def _arguments(self, node: Any) -> str:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise self._unknown(node)
        named = [f"{word.key}={self._print(word.value)}" for word in node.kwargs]
        if isinstance(node, nodes.Call) and self._is_macro(node.node):
            named = [f"v_{word}" for word in named]
        return ", ".join([*map(self._print, node.args), *named])

    def _is_macro(self, node: nodes.Node) -> bool:
        return isinstance(node, nodes.Name) and self._print(node).startswith("macro_")

    def _filter_(self, node: nodes.Filter) -> str:
        value = self._print(node.node)
        arguments = [*map(self._print, node.args)]
        words: dict[Any, str] = {word.key: self._word(word.value) for word in node.kwargs}
        if node.name == "map" and words.keys() == {"attribute"}:
            return f"[item.{words['attribute']} for item in {value}]"
        if words:
            raise self._unknown(node)
        if node.name == "map":
            applied = self._applied(self._word(node.args[0]), "item", arguments[1:])
            return f"[{applied} for item in {value}]"
        if node.name == "selectattr":
            return f"[item for item in {value} if item.{self._word(node.args[0])}]"
        return self._applied(node.name, value, arguments)

    def _word(self, node: nodes.Node) -> str:
        """A name that stands in the template as a text."""
        if not isinstance(node, nodes.Const) or not isinstance(node.value, str):
            raise self._unknown(node)
        return node.value

    def _applied(self, name: str, value: str, arguments: list[str]) -> str:
        """A filter of a value: one of Jinja's, or one of ours, a function of the namespace."""
        listed = ", ".join(arguments)
        jinjas = {
            "first": f"{value}[0]",
            "format": f"({value} % ({listed},))",
            "join": f"{listed}.join(map(str, {value}))",
            "length": f"len({value})",
            "list": f"list({value})",
            "replace": f"{value}.replace({listed})",
            "string": f"str({value})",
        }
        return jinjas.get(name) or f"filter_{name}({', '.join([value, *arguments])})"

    def _test_(self, node: nodes.Test) -> str:
        if node.name not in _TESTS:
            raise self._unknown(node)
        return f"({_TESTS[node.name].format(self._print(node.node))})"

    def _condexpr_(self, node: nodes.CondExpr) -> str:
        otherwise = self._print(node.expr2) if node.expr2 is not None else "''"
        return f"({self._print(node.expr1)} if {self._print(node.test)} else {otherwise})"

    def _compare_(self, node: nodes.Compare) -> str:
        parts = [f"{_OPERATORS[part.op]} {self._print(part.expr)}" for part in node.ops]
        return f"({' '.join([self._print(node.expr), *parts])})"

    def _concat_(self, node: nodes.Concat) -> str:
        return f"({' + '.join(map(self._text, node.nodes))})"

    def _tuple_(self, node: nodes.Tuple) -> str:
        return f"({''.join(f'{self._print(item)}, ' for item in node.items)})"

    def _dict_(self, node: nodes.Dict) -> str:
        pairs = [f"{self._print(pair.key)}: {self._print(pair.value)}" for pair in node.items]
        return f"{{{', '.join(pairs)}}}"

    def _not_(self, node: nodes.Not) -> str:
        return f"(not {self._print(node.node)})"

    def _neg_(self, node: nodes.Neg) -> str:
        return f"(-{self._print(node.node)})"

    def _binary(self, operator: str, node: nodes.BinExpr) -> str:
        return f"({self._print(node.left)} {operator} {self._print(node.right)})"

    def _and_(self, node: nodes.And) -> str:
        return self._binary("and", node)

    def _or_(self, node: nodes.Or) -> str:
        return self._binary("or", node)

    def _add_(self, node: nodes.Add) -> str:
        return self._binary("+", node)

    def _sub_(self, node: nodes.Sub) -> str:
        return self._binary("-", node)

    def _mul_(self, node: nodes.Mul) -> str:
        return self._binary("*", node)

    def _floordiv_(self, node: nodes.FloorDiv) -> str:
        return self._binary("//", node)

    def _unknown(self, node: Any) -> TemplateError:
        return TemplateError(f"{self.path}:{self._line}: {node} is not known")
