"""Functions with loops whose subscripts are quotients, remainders, masks and shifts, drawn.

    f(x, y, w, k)   x, y, w: float arrays, k: int64 array, all of 5 elements or more

They give an array, a float, an integer and x, to which they assign.
"""

import random

from source_text import function_of

_HEAD = """\
def f(x, y, w, k):
    out = np.zeros(3 * len(x) + 9)
    total = 0.0
    count = 0
    for i in range({start}{stop}):
"""
_BEHIND = [
    "out[i] = {value} + 0.5",
    "out[{at} % 5] += {value}",
    "out[i // {c}] += {value}",
    "out[2 * i + 1] = {value} - out[2 * i]",
    "x[i % 5] = 0.5 * ({value})",
    "out[i] = 0.5 * out[i - {start}] + {value}",
    "total += {value}",
    "count += {integer}",
    "count += {value} > 0",
    "count = max(count, {integer})",
    "out[i + {c}] = {integer} / {c}",
]


def drawn_function(seed):
    """(function, source text)."""
    r = random.Random(seed)
    start = r.choice([0, 0, 1, 3])
    stop = r.choice(["len(x)", "len(x)", "len(x) - 1", "2 * len(x)", "60", "997"])

    def at():
        a, b = r.choice([1, 1, 1, 2, 3]), r.choice([0, 0, 1, 2, 7])
        c = r.choice([1, 2, 3, 4, 5])
        linear = r.choice([f"({a} * i + {b})", f"(i + {b})", "i"])
        return r.choice(
            [f"{linear} % {c}", f"{linear} & {r.choice([1, 3])}", f"({linear} // 7) % 5"]
        )

    def value():
        reads = [f"x[{at()}]", f"w[{at()}]", f"y[{at()}]", "float(i % 9)", f"float(k[{at()}])"]
        one, other = r.choice(reads), r.choice(reads)
        forms = ["{a} + {b}", "{a} * {b}", "max({a}, {b})", "{a} if {a} > {b} else 0.25"]
        return r.choice(forms).format(a=one, b=other)

    def integer():
        forms = [f"k[{at()}]", f"({at()}) // {r.choice([2, 3, 5])}", f"1 << ({at()})"]
        forms += [f"i >> {r.choice([0, 1, 3])}", f"(i * i) % {r.choice([7, 11])}"]
        return f"({r.choice(forms)} ^ {r.choice([0, 1, 5])})"

    lines = [_HEAD.format(start=f"{start}, " if start else "", stop=stop)]
    if stop in ("60", "997"):  # arrays of another length
        lines[0] = lines[0].replace("3 * len(x) + 9", "4000")
    if stop.startswith("2"):
        lines[0] = lines[0].replace("3 * len(x) + 9", "6 * len(x) + 9")
    for line in r.sample(_BEHIND, r.randrange(1, 4)):
        own = {"value": value(), "integer": integer(), "at": at(), "c": r.choice([2, 3, 4, 8])}
        found = line.format(**own, start=start or 1)
        if r.random() < 0.2:
            lines.append(f"        if {value()} > 0:\n            {found}\n")
        else:
            lines.append(f"        {found}\n")
    source = "".join([*lines, "    return out, total, count, x\n"])
    return function_of(source, f"<periodic {seed}>"), source
