"""Random graphs with loops and branches in them, and in these."""

from __future__ import annotations

import numpy as np
from graphs import LARGEST, MOST_ELEMENTS, GraphMaker

from transpile.ir.graph import Const, Equation, Graph, Source, Var
from transpile.ir.types import ArrayType
from transpile.primitives import axes as a
from transpile.primitives import elementwise as e
from transpile.primitives import indexing
from transpile.primitives.control import primitives as c
from transpile.trace.trace import evaluate

MOST_TURNS = 4
DEEPEST = 3


def of_type(kind):
    return lambda v: v.type.strong == kind


class LoopMaker(GraphMaker):
    """A graph with loops in the making; `depth` loops stand around it. Where it `reshapes`, so do
    its loops, and the next value of what they carry is another one in its shape."""

    def __init__(self, random, special, depth=0, *, reshapes=False):
        super().__init__(0, special)
        self.random = random
        self.depth = depth
        self.reshapes = reshapes

    def indices(self, shape, most, arrays):
        """Numbers there are, counters among them, or known ones: a body has the inputs it has."""
        if self.depth == 0:
            return super().indices(shape, most, arrays)
        found = []
        for _ in range(arrays):
            x = self.pick(lambda v: v.type.shape == shape and v.type.dtype == "i8")
            rng = np.random.default_rng(self.random.randrange(2**32))
            known = Const(np.asarray(rng.integers(-2, most + 2, shape)))
            found.append(known if x is None or self.random.random() < 0.2 else x)
        return found

    # ---------------------------------------------------------------------------------- bodies

    def body(self, kinds, values, names, carry, ys=0):
        """A graph of inputs of these types, whose first values are given: the next carry, which
        are the inputs from `carry` on, and further results."""
        child = LoopMaker(self.random, self.special, self.depth + 1, reshapes=self.reshapes)
        for kind, value, name in zip(kinds, values, names, strict=True):
            var = Var(kind, name)
            child.inputs.append(var)
            child.pool.append(var)
            child.values[var] = value
        child.fill(self.random.randint(1, 7))
        outputs = [child.successor(v) for v in child.inputs[carry]]
        outputs += [child.pick() for _ in range(ys)]
        return Graph(tuple(child.inputs), tuple(child.builder.equations), tuple(outputs), "body")

    def fill(self, equations):
        steps = [
            (self.unary, 2), (self.sums, 6), (self.select, 1), (self.broadcast, 2),
            (self.transpose, 1), (self.slice, 1), (self.reverse, 1), (self.pad, 1),
            (self.reduce, 2), (self.moving_slice, 2), (self.put_slices, 3), (self.gather, 1),
            (self.scatter, 1.5), (self.scan, 0.5), (self.count, 0.5), (self.compare, 1),
            (self.control, 1.5 if self.depth < DEEPEST else 0), (self.product, 0.5),
        ]  # fmt: skip
        if self.reshapes:
            steps += [(self.reshape, 1), (self.merge, 1)]
        functions, weights = zip(*steps, strict=True)
        for _ in range(10 * equations):
            if len(self.builder.equations) >= equations:
                break
            self.random.choices(functions, weights)[0]()

    def sums(self):
        x = self.pick(lambda v: v.type.dtype.kind != "b")
        if x is None:
            return None
        y = self.like(x)
        operands = (x, y) if self.random.random() < 0.5 else (y, x)
        return self.apply(self.random.choice([e.add, e.subtract, e.maximum, e.minimum]), *operands)

    def compare(self):
        x = self.pick(lambda v: not v.type.shape)
        return None if x is None else self.apply(e.less, x, self.constant(x.type.dtype))

    def successor(self, var):
        """What an iteration hands on in the place of an input: most often something new."""
        made = [v for v in self.pool if v not in self.inputs and of_type(var.type.strong)(v)]
        if self.reshapes and self.random.random() < 0.5 and (found := self.reshaped(var)):
            return found
        chance = self.random.random()
        if made and chance < 0.6:
            return self.random.choice(made)
        if var.type.ndim and var.type.size and chance < 0.8:
            starts = [*map(Const, np.zeros(var.type.ndim, np.int64))]
            places = self.indices((), max(var.type.shape), 1)
            starts[0] = places[0]
            sizes = (1, *var.type.shape[1:])
            row = self.apply(
                indexing.dynamic_slice, var, *self.indices((), 3, 1), *starts[1:], sizes=sizes
            )
            changed = (
                row if row is None or var.type.dtype.kind == "b" else self.apply(e.negative, row)
            )
            if changed is not None:
                result = self.apply(indexing.dynamic_update_slice, var, changed, *starts)
                if result is not None:
                    return result
        other = self.pick(of_type(var.type.strong))
        return other if other is not None and chance < 0.9 else var

    def reshaped(self, var):
        """A value with as many elements, in the shape of a variable; None where there is none."""
        kind, inputs = var.type.strong, set(self.inputs)
        made = [
            v
            for v in self.pool
            if v not in inputs and (v.type.dtype, v.type.size) == (kind.dtype, kind.size)
        ]
        if not made:
            return None
        x = self.random.choice(made)
        if x.type.ndim > 1 and self.random.random() < 0.7:
            order = list(range(x.type.ndim))
            self.random.shuffle(order)
            x = self.apply(a.transpose, x, permutation=tuple(order)) or x
        return x if x.type.shape == kind.shape else self.apply(a.reshape, x, shape=kind.shape)

    # ----------------------------------------------------------------------- loops and branches

    def operands(self, test=lambda v: True, most=3):
        found = [self.pick(test) for _ in range(self.random.randint(0, most))]
        return [v for v in found if v is not None]

    def kinds(self, atoms):
        return [x.type.strong for x in atoms]

    def given(self, atoms):
        return [x.value if isinstance(x, Const) else self.values[x] for x in atoms]

    def control(self):
        makers = [self.scan_loop, self.scan_loop, self.counted, self.branches, self.conditional]
        return self.random.choice(makers)()

    def several(self, primitive, inputs, params):
        """Append an equation of several results, if these stay exact."""
        types = primitive.result_types([x.type for x in inputs], params)
        if not types or any(t.size > MOST_ELEMENTS for t in types):
            return None
        outputs = tuple(Var(t) for t in types)
        source = Source("random.py", len(self.builder.equations) + 1, "f")
        equation = Equation(primitive, tuple(inputs), params, outputs, source)
        values = evaluate(equation, self.given(inputs))
        for kind, value in zip(types, values, strict=True):
            if kind.dtype.kind == "f" and value.size:
                finite = np.abs(value[np.isfinite(value)])
                largest = LARGEST[kind.dtype.str[1:]] / 64
                if finite.size and (finite.max() > largest or (finite * 256 % 1).any()):
                    return None
        self.builder.add(equation)
        self.values.update(zip(outputs, values, strict=True))
        self.pool += outputs
        return outputs[0]

    def scan_loop(self):
        consts, carry = self.operands(), self.operands()
        xs = self.operands(lambda v: v.type.ndim > 0 and 0 < v.type.shape[0] <= 9, 2)
        length = xs[0].type.shape[0] if xs else self.random.randint(0, MOST_TURNS)
        xs = [x for x in xs if x.type.shape[0] == length]
        if self.random.random() < 0.7:
            low = self.random.choice([0, 0, 1, -2])
            counter = self.apply(a.iota, shape=(length,), dimension=0, dtype=np.dtype("i8"))
            if low:
                counter = self.apply(e.add, counter, Const(np.int64(low)))
            xs.append(counter)
        if not carry and not xs:
            return None
        kinds = self.kinds([*consts, *carry])
        kinds += [x.type.with_shape(x.type.shape[1:]).strong for x in xs]
        firsts = [v[0] if length else np.zeros(v.shape[1:], v.dtype) for v in self.given(xs)]
        values = [*self.given([*consts, *carry]), *firsts]
        names = [self.random.choice(["i", "k", "acc", "t", ""]) for _ in kinds]
        where = slice(len(consts), len(consts) + len(carry))
        graph = self.body(kinds, values, names, where, self.random.randint(0, 2))
        params = {
            "graph": graph,
            "consts": len(consts),
            "carry": len(carry),
            "length": length,
            "reverse": self.random.random() < 0.3,
        }
        return self.several(c.scan, [*consts, *carry, *xs], params)

    def counted(self):
        consts, carry = self.operands(), self.operands() or [self.pick()]

        def few(v):
            return v.type.strong == ArrayType((), np.dtype("i8")) and abs(self.values[v]) <= 6

        bounds = [self.pick(few), self.pick(few)]
        low, high = (Const(np.int64(k)) if b is None else b for k, b in enumerate(bounds))
        kinds = [ArrayType((), np.dtype("i8")), *self.kinds([*consts, *carry])]
        values = [self.given([low])[0], *self.given([*consts, *carry])]
        where = slice(1 + len(consts), None)
        names = ["i", *["" for _ in kinds[1:]]]
        graph = self.body(kinds, values, names, where)
        params = {"graph": graph, "consts": len(consts)}
        return self.several(c.fori_loop, [low, high, *consts, *carry], params)

    def conditional(self):
        """A while loop over a counter of its own."""
        consts, carry = self.operands(), self.operands()
        number = ArrayType((), np.dtype("i8"))
        kinds = [*self.kinds([*consts, *carry]), number]
        values = [*self.given([*consts, *carry]), np.int64(0)]
        where = slice(len(consts), -1)
        graph = self.body(kinds, values, [""] * len(kinds), where)
        counter, after = graph.inputs[-1], Var(number)
        step = Equation(e.add, (counter, Const(np.int64(1))), {}, (after,))
        body = Graph(graph.inputs, (*graph.equations, step), (*graph.outputs, after), "body")
        inputs = tuple(Var(k) for k in kinds)
        holds = Var(ArrayType((), np.dtype(bool)))
        turns = Const(np.int64(self.random.randint(0, MOST_TURNS)))
        test = Equation(e.less, (inputs[-1], turns), {}, (holds,))
        condition = Graph(inputs, (test,), (holds,), "condition")
        start = Const(np.int64(0))
        params = {"condition": condition, "body": body, "consts": len(consts)}
        return self.several(c.while_, [*consts, *carry, start], params)

    def branches(self):
        operands = self.operands() or [self.pick()]
        index = self.pick(
            lambda v: not v.type.shape and v.type.dtype.kind in "bi" and v.type.dtype != "i4"
        )
        if index is None:
            return None
        count = 2 if index.type.dtype.kind == "b" else self.random.choice([2, 3])
        kinds, values = self.kinds(operands), self.given(operands)
        graphs = []
        for _ in range(count):
            names = ["" for _ in kinds]
            graphs.append(self.body(kinds, values, names, slice(0, len(kinds))))
        return self.several(c.cond, [index, *operands], {"branches": tuple(graphs)})

    def graph(self, equations):
        for _ in range(self.random.randint(2, 4)):
            self.new_input()
        self.fill(equations)
        for _ in range(20):
            if self.control() is not None:
                break
        made = [v for v in self.pool if v not in self.inputs]
        used = {x for q in self.builder.equations for x in q.inputs}
        outputs = [v for v in made if v not in used]
        if self.random.random() < 0.3 and made:
            outputs.append(self.random.choice(made))
        if len(outputs) > 1 and self.random.random() < 0.4:
            outputs = self.random.sample(outputs, len(outputs) // 2)
        outputs = outputs or [self.inputs[0]]
        return Graph(tuple(self.inputs), tuple(self.builder.equations), tuple(outputs), "random")


def random_loops(random, equations=None, *, reshapes=False):
    """A checked graph with loops in it, and values for its inputs."""
    maker = LoopMaker(random, special=random.random() < 0.2, reshapes=reshapes)
    graph = maker.graph(equations or random.randint(1, 12))
    graph.check()
    return graph, [maker.values[v] for v in maker.inputs]
