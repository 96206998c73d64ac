"""Functions with a loop, whose iterations run loops of their own over numbers, drawn at random.

    f(x, y, k, m)   x, y: floats of one length, k: int64 of the same length, m: an integer

They give the array `out`, a float `total`, an integer `count`, and assign to x. The values of
floats stay below 9, those of integers below 1024.
"""

import math
import random

from source_text import function_of

_HEAD = """\
def f(x, y, k, m):
    out = np.zeros((len(x), 4))
    total = 0.0
    count = 0
    for i in range({start}len(x)):
        p = x[i]
        q = 0.5
        u = k[i]
        v = {v}
        flag = x[i] > 0
        z = complex(x[i], y[i])
"""
_BEHIND = (
    ["out[i, 0] = p"],
    ["out[i, 1] = q"],
    ["out[i, 2] = u + v"],
    ["out[i, 3] = z.real - z.imag"],
    ["out[v % len(x), 3] += q"],
    ["x[i] = p"],
    ["total += q * p"],
    ["count += int(p > q)"],
    ["count += flag"],
    ["if u > count:", "    count = u", "    total = p"],
)


def drawn_function(seed):
    """(function, source text)."""
    source = _Drawn(random.Random(seed)).function()
    return function_of(source, f"<drawn {seed}>", math=math), source


class _Drawn:
    def __init__(self, random):
        self.random = random
        self.loops = 0

    def function(self):
        start = self.random.choice(["", "", "1, ", "3, "])
        lines = [_HEAD.format(start=start, v=self.random.choice(["0", "i"]))]
        if self.random.random() < 0.3:
            lines += self.block(8, 1)
        if self.random.random() < 0.2:
            lines += [f"        if {self.test()}:", "            continue"]
        for _ in range(self.random.choice([1, 1, 1, 2])):
            lines += self.loop(8)
            if self.random.random() < 0.4:
                lines += self.block(8, 1)
        for part in self.random.sample(_BEHIND, self.random.randrange(1, 6)):
            lines += [" " * 8 + line for line in part]
        return "\n".join([*lines, "    return out, total, count, x"]).replace("\n\n", "\n")

    def loop(self, indent):
        """A loop that ends, at a counter if not before."""
        before = " " * indent
        self.loops += 1
        counter, most = f"c{self.loops}", self.random.randrange(1, 25)
        match self.random.randrange(4):
            case 0:
                head = [f"{counter} = 0", f"while {counter} < {most} and {self.test()}:"]
                body = [f"    {counter} += 1"]
                inside = self.block(indent + 4, self.random.randrange(1, 5), leaves=True)
            case 1:
                head, body = [f"for {counter} in range({most}):"], []
                inside = self.block(indent + 4, self.random.randrange(1, 4), leaves=True)
            case 2:
                end = self.random.choice(["m", "7", "20"])
                head, body = [f"for {counter} in range({end}):"], []
                inside = self.block(indent + 4, self.random.randrange(1, 5))
            case _:
                head = [f"{counter} = 0", "while True:"]
                body = [f"    {counter} += 1"]
                inside = self.block(indent + 4, self.random.randrange(1, 3))
                inside += [f"{before}    if {counter} > {most} or {self.test()}:"]
                inside += [f"{before}        break"]
        return [before + line for line in (*head, *body)] + inside

    def block(self, indent, count, leaves=False, depth=2):
        lines = []
        before = " " * indent
        for _ in range(count):
            chance = self.random.random()
            if chance < 0.25 and depth:
                lines.append(f"{before}if {self.test()}:")
                lines += self.block(indent + 4, self.random.randrange(1, 3), leaves, depth - 1)
                if self.random.random() < 0.5:
                    lines.append(f"{before}else:")
                    lines += self.block(indent + 4, self.random.randrange(1, 3), leaves, depth - 1)
            elif chance < 0.3 and depth == 2 and self.loops < 3:
                lines += self.loop(indent)
            elif chance < 0.4 and leaves:
                word = self.random.choice(["break", "break", "continue"])
                lines += [f"{before}if {self.test()}:", f"{before}    {word}"]
            else:
                lines += [before + line for line in self.assignment()]
        return lines

    def assignment(self):
        name = self.random.choice("pq")
        match self.random.randrange(10):
            case 0 | 1 | 2 | 3:
                return [f"{name} = {self.number()}", f"{name} = max(-9.0, min(9.0, {name}))"]
            case 4 | 5 | 6:
                return [f"{self.random.choice('uv')} = ({self.integer()}) & 1023"]
            case 7:
                return [f"flag = {self.test()}"]
            case 8:
                values = ["z * z * 0.5 + q", "z * 1j", "z.conjugate() - 0.25", "complex(p, z.imag)"]
                too_large = "if abs(z.real) + abs(z.imag) > 4:"
                return [f"z = {self.random.choice(values)}", too_large, "    z = 0.5 + 0.25j"]
            case _:
                return [f"{name} += 0.125 * {self.leaf()}"]

    def leaf(self):
        reads = ["y[0]", "y[u & 3]", "y[min(v, len(y) - 1)]"]
        return self.random.choice(["p", "q", "x[i]", "y[i]", "1.0", "-2.0", *reads])

    def number(self, depth=2):
        if not depth or self.random.random() < 0.3:
            return self.leaf()
        a, b = self.number(depth - 1), self.number(depth - 1)
        forms = ["({a} + {b})", "({a} - {b})", "(0.5 * {a} * {b})", "abs({a})", "min({a}, {b})"]
        forms += ["math.sqrt(abs({a}))", "({a} / (1.5 + abs({b})))", "({a} if {c} else {b})"]
        c = f"{self.leaf()} < {self.leaf()}"
        return self.random.choice(forms).format(a=a, b=b, c=c)

    def integer(self, depth=2):
        if not depth or self.random.random() < 0.3:
            return self.random.choice(["u", "v", "m", str(self.random.randrange(-3, 9))])
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        forms = ["({a} + {b})", "({a} - {b})", "({a} * 3)", "({a} & 255)", "({a} // 2)"]
        forms += ["({a} % 8)", "({a} ^ {b})", "(({a} & 31) % (({b} & 7) + 1))"]
        return self.random.choice(forms).format(a=a, b=b)

    def test(self, depth=1):
        order = self.random.choice(["<", "<=", ">", ">="])
        match self.random.randrange(5):
            case 0 | 1:
                return f"{self.number(1)} {order} {self.number(1)}"
            case 2 | 3:
                order = self.random.choice([order, "==", "!="])
                return f"{self.integer(1)} {order} {self.integer(1)}"
            case _ if depth:
                word = self.random.choice(["and", "or"])
                return f"({self.test(depth - 1)} {word} {self.test(depth - 1)})"
            case _:
                return "flag"
