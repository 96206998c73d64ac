"""Functions with nested loops, branches, jumps, helpers and arrays that they assign to, as text.

All that is drawn ends and stays in range: `while` has a counter, subscripts are taken modulo the
length, integers that are kept are taken modulo a prime. What may go wrong nevertheless, an unbound
variable or a number that is not finite, shows when Python runs the function, and is not drawn.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

# Lengths of the arrays, by name and kind: `a` and `b` of floats, `k` of integers, `m` of rows, `s`
# of single floats, `h` of short integers.
FLOATS, INTEGERS, ROWS = {"a": 6, "b": 5}, {"k": 5}, {"m": (3, 4)}
SINGLES, SHORTS = {"s": 4}, {"h": 4}
PARAMETERS = ("x", "y", "n", *FLOATS, *INTEGERS, *ROWS, *SINGLES, *SHORTS)
MOST_DEEP = 3
LOOPS = ("counted", "counted", "items", "while")


@dataclass(frozen=True)
class Program:
    """A function `program` of PARAMETERS, as text, and its arguments."""

    seed: int
    text: str

    def arguments(self):
        """Its arguments, new ones each time."""
        rng = np.random.default_rng(self.seed)
        numbers = [round(float(v), 2) for v in rng.normal(size=2) * 2]
        arrays = [np.round(rng.normal(size=length) * 2, 2) for length in FLOATS.values()]
        arrays += [rng.integers(-9, 10, length) for length in INTEGERS.values()]
        arrays += [np.round(rng.normal(size=shape) * 2, 2) for shape in ROWS.values()]
        arrays += [rng.integers(-9, 9, size).astype(np.float32) for size in SINGLES.values()]
        arrays += [rng.integers(-9, 10, size).astype(np.int32) for size in SHORTS.values()]
        return [*numbers, int(rng.integers(-3, 9)), *arrays]


def draw(seed):
    """The program of a seed."""
    rng = random.Random(seed)
    helpers = [f"helper{i}" for i in range(rng.randrange(3))]
    functions = [_Function(rng, helpers[:i], name) for i, name in enumerate(helpers)]
    functions.append(_Function(rng, helpers, "program"))
    return Program(seed, "import numpy as np\n" + "".join(f.text() for f in functions))


class _Function:
    """A function while it is drawn: its lines, and which names have which kind of value."""

    def __init__(self, rng, helpers, name):
        self.rng = rng
        self.helpers = helpers
        self.name = name
        self.is_helper = name != "program"
        self.lines = []
        self.count = 0
        self.floats = ["x", "y"]
        self.integers = ["n"]
        self.fixed = set()
        self.rows = {} if self.is_helper else dict(ROWS)
        self.of_floats = {"a": 3} if self.is_helper else dict(FLOATS)
        self.of_singles = {} if self.is_helper else dict(SINGLES)
        self.of_integers = {} if self.is_helper else {**INTEGERS, **SHORTS}
        self.views = {}
        self.of_lists = {}

    def text(self):
        """The definition."""
        names = "x, y, n, a" if self.is_helper else ", ".join(PARAMETERS)
        self.block(1, loops=0, least=2 if self.is_helper else 4)
        self.line(1, self.result())
        return f"\n\ndef {self.name}({names}):\n" + "".join(self.lines)

    def line(self, depth, text):
        self.lines.append("    " * depth + text + "\n")

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def one(self, *choices):
        return self.rng.choice(choices)

    def chance(self, probability):
        return self.rng.random() < probability

    def result(self):
        if self.is_helper:
            return f"return {self.number()}"
        return f"return {self.number()}, {self.integer()}"

    # ------------------------------------------------------------------------------ expressions

    def number(self, depth=2):
        """A float, or what Python widens to one."""
        if depth == 0 or self.chance(0.25):
            leaf = self.one("name", "name", "element", "literal", "integer")
            if leaf == "name":
                return self.rng.choice(self.floats)
            if leaf == "element":
                return self.element()
            return self.integer(0) if leaf == "integer" else f"{self.rng.uniform(-3, 3):.2f}"
        one, other = self.number(depth - 1), self.number(depth - 1)
        forms = [
            f"({one} + {other})",
            f"({one} - {other})",
            f"{one} * {self.rng.uniform(-1, 1):.2f}",
            f"({one} / (1 + abs({other})))",
            f"({one} if {self.truth()} else {other})",
            f"abs({one})",
            f"({one} and {other})",
            f"({one} or {other})",
            f"np.sqrt(abs({one}))",
        ]
        if self.helpers:
            array, length = self.rng.choice(list(self.of_floats.items()))
            part = array if length == 3 else f"{array}[{self.rng.randrange(length - 2)}:][:3]"
            forms += [f"{self.rng.choice(self.helpers)}({one}, {other}, {self.integer(0)}, {part})"]
        return self.rng.choice(forms)

    def integer(self, depth=1):
        """An integer that is small."""
        if depth == 0 or self.chance(0.3):
            leaf = self.one("name", "name", "literal", "element")
            if leaf == "element" and self.of_integers:
                name = self.rng.choice(list(self.of_integers))
                return f"{name}[{self.index(self.of_integers[name], 0)}]"
            return self.rng.choice(self.integers) if leaf == "name" else str(self.rng.randrange(7))
        one, other = self.integer(depth - 1), self.integer(depth - 1)
        return self.one(
            f"({one} + {other}) % 97",
            f"({one} - {other}) % 97",
            f"{one} * {other} % 97",
            f"({one} // {self.rng.randrange(2, 5)})",
            f"({one} if {self.truth()} else {other})",
            f"({one} or {other})",
            f"({one} and {other})",
        )

    def truth(self, depth=1):
        """A condition."""
        form = self.one("integers", "floats", "chain", "and", "or", "not")
        if depth == 0 or form in ("integers", "floats", "chain"):
            sign = self.one("<", "<=", ">", ">=", "!=", "==")
            if form == "floats":
                return f"{self.number(0)} {self.one('<', '>')} {self.number(1)}"
            if form == "chain":
                return f"{self.integer(0)} <= {self.integer(0)} < {self.integer(0)}"
            return f"{self.integer(0)} {sign} {self.integer(0)}"
        if form == "not":
            return f"not ({self.truth(depth - 1)})"
        return f"({self.truth(depth - 1)} {form} {self.truth(depth - 1)})"

    def index(self, length, depth=1):
        """A subscript in range."""
        return f"({self.integer(depth)}) % {length}"

    def element(self):
        """An element of an array of floats, or of a list."""
        name = self.rng.choice([*self.of_floats, *self.rows, *self.of_lists, *self.of_lists])
        if name in self.of_lists:
            return f"{name}[{self.index(self.of_lists[name])}]"
        if name in self.rows:
            rows, columns = self.rows[name]
            return f"{name}[{self.index(rows, 0)}, {self.index(columns, 0)}]"
        return f"{name}[{self.index(self.of_floats[name], 0)}]"

    # ------------------------------------------------------------------------------- statements

    def block(self, depth, loops, least=1):
        """Some statements; what follows a jump is not drawn."""
        known = list(self.floats), list(self.integers)
        arrays, lists = dict(self.of_floats), dict(self.of_lists)
        for _ in range(self.rng.randrange(least, least + 3)):
            if self.statement(depth, loops):
                break
        for names, before in zip((self.floats, self.integers), known, strict=True):
            names[:] = [name for name in names if name in before or self.chance(0.2)]
        self.of_floats, self.of_lists = arrays, lists

    def statement(self, depth, loops):
        """One statement; True for a jump."""
        simple = [self.assign, self.assign, self.update, self.store, self.store, self.swap]
        simple += [self.slices, self.view, self.view, self.whole, self.part, self.pair, self.array]
        simple += [self.list, self.list]
        nested = [self.branch, self.branch, self.loop, self.loop, self.other, self.function]
        if depth > 2 and self.chance(0.12 if loops else 0.08):
            jumps = ["break", "continue"] if loops and not self.chance(0.15) else [self.result()]
            self.line(depth, self.rng.choice(jumps))
            return True
        can_nest = depth <= MOST_DEEP - self.is_helper
        form = self.rng.choice(nested if can_nest and self.chance(0.45) else simple)
        form(depth, loops)
        return False

    def assign(self, depth, _):
        if self.chance(0.4):
            name, value = self.target(self.integers, "i"), f"({self.integer()}) % 97"
            kind = self.integers
        else:
            name, value = self.target(self.floats, "f"), self.number()
            kind = self.floats
        self.line(depth, f"{name} = {value}")
        if name not in kind:
            kind.append(name)

    def target(self, names, prefix):
        free = [name for name in names if name not in self.fixed]
        return self.new(prefix) if not free or self.chance(0.3) else self.rng.choice(free)

    def update(self, depth, _):
        free = [name for name in self.floats if name not in self.fixed]
        if not free:
            return self.store(depth, _)
        sign = self.one("+=", "-=")
        return self.line(depth, f"{self.rng.choice(free)} {sign} {self.number(1)}")

    def store(self, depth, _):
        if self.of_integers and self.chance(0.3):
            name = self.rng.choice(list(self.of_integers))
            at = self.index(self.of_integers[name])
            return self.line(depth, f"{name}[{at}] = ({self.integer()}) % 97")
        target = self.element()
        if self.of_singles and self.chance(0.2):  # whose elements are no variables: see `joined`
            name, length = self.rng.choice(list(self.of_singles.items()))
            target = f"{name}[{self.index(length)}]"
        return self.line(depth, f"{target} {self.one('=', '+=', '-=')} {self.number(1)}")

    def swap(self, depth, _):
        one, other = self.element(), self.element()
        free = [name for name in self.floats if name not in self.fixed]
        if len(free) > 1 and self.chance(0.5):
            one, other = self.rng.sample(free, 2)
        self.line(depth, f"{one}, {other} = {other}, {one}")

    def slices(self, depth, _):
        name, length = self.rng.choice(list(self.of_floats.items()))
        width = self.rng.randrange(1, length)
        start, other = (
            self.rng.randrange(length - width + 1),
            self.rng.randrange(length - width + 1),
        )
        value = self.one(f"{name}[{other}:{other + width}]", self.number(1))
        sign = self.one("=", "+=", "-=")
        self.line(depth, f"{name}[{start}:{start + width}] {sign} {value}")

    def whole(self, depth, _):
        name = self.rng.choice([*self.of_floats, *self.rows, *self.of_singles])
        self.line(depth, f"{name} {self.one('+=', '-=')} {self.number(1)}")

    def view(self, depth, loops):
        """A view that keeps its name in the statements that follow."""
        if self.rows and self.chance(0.6):
            array, (rows, columns) = self.rng.choice(list(self.rows.items()))
            if self.chance(0.7):
                taken, length = f"{array}[{self.index(rows)}]", columns
            else:
                taken, length = f"{array}[:, {self.index(columns)}]", rows
        else:
            array, length = self.rng.choice(list(self.of_floats.items()))
            start = str(self.rng.randrange(length - 2))
            if self.chance(0.5):
                start = self.index(length - 2, 0)
            taken, length = f"{array}[{start}:{start} + 3]", 3
        same = [v for v, size in self.views.items() if size == length and v in self.of_floats]
        name = self.rng.choice(same) if same and self.chance(0.4) else self.new("v")
        self.line(depth, f"{name} = {taken}")
        self.of_floats[name] = self.views[name] = length

    def part(self, depth, _):
        """A slice whose bounds are values."""
        bound = self.rng.choice(self.integers) if self.chance(0.7) else self.integer(1)
        form = self.one(
            f":{bound}", f"{bound}:", f"{bound}::-1", f"::{self.one(2, -2)}", f"-1:{bound}:-1"
        )
        sign = self.one("=", "+=", "-=")
        if self.rows and self.chance(0.5):
            array, (rows, _) = self.rng.choice(list(self.rows.items()))
            target = f"{array}[{self.index(rows)}, {form}]"
            other = f"{array}[{self.index(rows)}, {form}]"
        else:
            array = self.rng.choice(list(self.of_floats))
            target, other = f"{array}[{form}]", f"{array}[{form}]"
        value = self.one(self.number(1), f"{other} * 0.5", f"{other}.sum() * 0.25")
        self.line(depth, f"{target} {sign} {value}")

    def pair(self, depth, _):
        """Two variables of one assignment."""
        free = [name for name in self.floats if name not in self.fixed]
        if not free:
            return self.store(depth, _)
        name, other = self.rng.choice(free), self.new("i")
        self.line(depth, f"{name}, ({other}, _) = {self.number(1)}, ({self.integer()}, 0)")
        self.integers.append(other)
        return None

    def array(self, depth, _):
        """An array of its own, or one that is another by now."""
        names = list(self.of_floats)
        name = self.rng.choice(names)
        length = self.of_floats[name]
        alike = [v for v in names if self.of_floats[v] == length]
        form = self.one("copy", "new", "exchange", "choice", "computed")
        other = self.rng.choice(alike)
        if form == "exchange" and other != name:
            return self.line(depth, f"{name}, {other} = {other}, {name}")
        value = {
            "new": f"np.zeros({length})",
            "computed": f"{name} * {self.rng.uniform(-1, 1):.2f}",
            "choice": f"({name} if {self.truth()} else {other})",
        }.get(form, f"{other}.copy()")
        target = self.one(self.new("w"), self.rng.choice(alike))
        self.line(depth, f"{target} = {value}")
        self.of_floats[target] = length
        return None

    def list(self, depth, _):
        """A list of its own, which may be nested, or one with another name."""
        form = self.one("filled", "listed", "rows", "sum", "other", "sort")
        names = [*self.of_lists]
        if form in ("sum", "other", "sort") and not names:
            form = "filled"
        if form == "sort":
            return self.line(depth, f"{self.rng.choice(names)}.{self.one('sort', 'reverse')}()")
        if form == "sum":
            taken = self.one("sum", "max", "min")
            free = [name for name in self.floats if name not in self.fixed]
            if free:
                text = f"{self.rng.choice(free)} = {taken}({self.rng.choice(names)})"
                return self.line(depth, text)
            form = "filled"
        name, length = self.new("l"), self.rng.randrange(2, 5)
        if form == "other":
            other = self.rng.choice(names)
            length = self.of_lists[other]
            name = name if "[" in other else self.one(name, other)  # rows are not assigned whole
            alike = [each for each in names if self.of_lists[each] == length]
            text = self.one(self.rng.choice(alike), f"{other}[:]", f"list({other})")
        elif form == "listed":
            text = f"[{', '.join(self.number(1) for _ in range(length))}]"
        else:
            text = f"[{self.one('0', '0.0', self.number(0))}] * {length}"
        if form == "rows":
            rows = self.rng.randrange(2, 4)
            self.line(depth, f"{name} = [{text} for _ in range({rows})]")
            self.of_lists[f"{name}[{self.index(rows)}]"] = length
            return None
        self.line(depth, f"{name} = {text}")
        self.of_lists[name] = length
        return None

    def other(self, depth, loops):
        """`match`, or `try` with `finally`."""
        if self.chance(0.5):
            self.line(depth, f"match ({self.integer()}) % 4:")
            for case in self.rng.sample(["0", "1 | 2", "3"], 2) + ["_"] * self.chance(0.5):
                self.line(depth + 1, f"case {case}:")
                self.block(depth + 2, loops)
            return
        self.line(depth, "try:")
        self.block(depth + 1, loops)
        self.line(depth, "finally:")
        self.assign(depth + 1, loops)

    def function(self, depth, loops):
        """A function inside, which is called at once."""
        if depth > 1:
            return self.branch(depth, loops)
        name, given, result = self.new("g"), self.new("z"), self.new("f")
        self.line(depth, f"def {name}({given}):")
        known = list(self.floats), list(self.integers), dict(self.of_floats)
        fixed = set(self.fixed)
        self.fixed |= {*self.floats, *self.integers}
        self.floats.append(given)
        self.line(depth + 1, f"if {self.truth()}:")
        self.line(depth + 2, f"return {self.number(1)}")
        self.store(depth + 1, loops)
        self.line(depth + 1, f"return {self.number()}")
        self.floats, self.integers, self.of_floats = known
        self.fixed = fixed
        self.line(depth, f"{result} = {name}({self.number(0)})")
        self.floats.append(result)
        return None

    def branch(self, depth, loops):
        self.line(depth, f"if {self.truth()}:")
        self.block(depth + 1, loops)
        if self.chance(0.3):
            self.line(depth, f"elif {self.truth()}:")
            self.block(depth + 1, loops)
        if self.chance(0.5):
            self.line(depth, "else:")
            self.block(depth + 1, loops)

    def loop(self, depth, loops):
        form = self.rng.choice(LOOPS)
        if form == "while":
            counter = self.new("c")
            self.line(depth, f"{counter} = 0")
            test = f"{counter} < {self.trips()}"
            self.line(
                depth, f"while {test} and {self.truth()}:" if self.chance(0.5) else f"while {test}:"
            )
            self.line(depth + 1, f"{counter} += 1")
            self.integers.append(counter)
            self.fixed.add(counter)
        elif form == "counted":
            counter = self.new("j")
            bounds = self.one(self.trips(), f"1, {self.trips()}", f"{self.trips()}, 0, -1")
            self.line(depth, f"for {counter} in range({bounds}):")
            self.integers.append(counter)
        else:
            self.items(depth)
        self.block(depth + 1, loops + 1)
        if self.chance(0.25):
            self.line(depth, "else:")
            self.block(depth + 1, loops)

    def items(self, depth):
        item, name = self.new("e"), self.rng.choice(list(self.of_floats))
        header = f"for {item} in {name}:"
        form = self.one("array", "enumerate", "zip", "reversed")
        if form == "enumerate":
            number = self.new("j")
            header = f"for {number}, {item} in enumerate({name}):"
            self.integers.append(number)
        elif form == "zip":
            other = self.new("e")
            header = f"for {item}, {other} in zip({name}, {self.rng.choice(list(self.of_floats))}):"
            self.floats.append(other)
        elif form == "reversed":
            header = f"for {item} in reversed({name}):"
        self.line(depth, header)
        self.floats.append(item)

    def trips(self):
        """How often a loop runs at most: a number, or what the arguments say."""
        return str(self.rng.randrange(1, 5)) if self.chance(0.3) else f"{self.integer(0)} % 5"
