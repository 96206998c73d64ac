"""Attributes that statements change, as Python has them."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest
from thorough import one_in

import transpile
from transpile import errors

X = np.arange(8.0)


class Counter:
    """Counts, and adds up."""

    def __init__(self):
        self.count = 0
        self.total = 0.0

    def add(self, x):
        self.count += 1
        if x > 1:
            self.total += x


@dataclass
class Particle:
    """Where one is, and how fast."""

    x: float
    v: float


class Generator:
    """A linear congruential generator."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state / 2**32


def counts(x, n):
    counter = Counter()
    for _ in range(n):
        counter.count += 1
    return counter.count


def counts_in_a_method(x, n):
    counter = Counter()
    for i in range(n):
        if x[i] > 0:
            counter.add(x[i])
    return counter.count, counter.total


def is_set_in_a_branch(x, n):
    counter = Counter()
    if n > 2:
        counter.count = 5
    return counter.count


def moves(x, n):
    particle = Particle(1.0, 0.0)
    while particle.x < 10 and particle.v < n:
        particle.v += 1
        particle.x += particle.v * 0.1
    return particle.x, particle.v


def draws(x, n):
    generator = Generator(n)
    hits = 0
    for i in range(n):
        for j in range(3):
            if x[i] > 6 or generator.next() < 0.5:
                x[int(generator.next() * 8)] += j
                hits += 1
    return hits, generator.state


def has_arrays(x, n):
    counter = Counter()
    counter.rows = np.zeros(8)
    for i in range(n):
        counter.rows[i % 3] += x[i]
        counter.rows = counter.rows * 2
    return counter.rows


def sorts_a_list(x, n):
    values = [x[n % 8], x[0] - n, x[3], 2 * x[1]]
    for i in range(4):
        for j in range(3 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values


def compensates(x, n):
    state = {"sum": 0, "rest": 0.0}
    for i in range(n):
        term = x[i] / 3 - state["rest"]
        total = state["sum"] + term
        state["rest"] = (total - state["sum"]) - term
        state["sum"] = total
    return state["sum"], state["rest"]


def bisects(x, n):
    calls, ends = [0], deque([0.0, 8.0], maxlen=2)

    def residual(t):
        calls[0] += 1
        return t * t - n

    while ends[1] - ends[0] > 1e-9:
        middle = (ends[0] + ends[1]) / 2
        if residual(middle) > 0:
            ends[1] = middle
        else:
            ends[0] = middle
    return calls[0], ends[0]


def windows(x, n):
    window, large = deque([0.0] * 3, maxlen=3), 0
    for i in range(n):
        window.append(x[i])
        if sum(window) > 6:
            large += 1
    return large


def exchanges_arrays(x, n):
    pair = [x * 1.0, np.zeros(8)]
    for _ in range(n):
        pair[0], pair[1] = pair[1] + np.sin(pair[0]), pair[0] * 0.5
        if pair[0][1] > 1:
            pair[0] = pair[0] * 0.1
    return pair


def attracts(x, n):
    bodies = [Particle(x[1], 0.0), Particle(x[2], 1.0), Particle(x[n], -1.0)]
    for _ in range(30):
        for body in bodies:  # longer than Python traces: no copies, though
            force = sum((o.x - body.x) / (abs(o.x - body.x) ** 3 + 0.1) for o in bodies)
            body.v += 0.01 * force
        for body in bodies:
            body.x += 0.01 * body.v
            if body.x > 3:
                body.v = -abs(body.v)
    return [body.v for body in bodies] + [body.x + n for body in bodies]


def updates_rows(x, n):
    rows = [[x[i], x[i + 1]] for i in range(3)]
    for _ in range(20):
        for row in rows:
            s = 0.0
            for other in rows:
                s += math.sin(other[0]) * other[1] + math.cos(other[1] * n)
            row[0] += 0.01 * s
            row[1] += 0.02 * s if s > 0 else 0.0
    return rows


@pytest.mark.parametrize(
    "function",
    [
        *(counts, counts_in_a_method, is_set_in_a_branch, moves, draws, has_arrays, sorts_a_list),
        *(compensates, bisects, windows, exchanges_arrays, attracts, updates_rows),
    ],
)
@one_in(3)
def test_attributes_are_state(function):
    compiled = transpile.jit(function)
    for n in (0, 3, 6):
        ours, theirs = X.copy(), X.copy()
        found = transpile.tree.leaves(compiled(ours, n))
        wanted = transpile.tree.leaves(function(theirs, n))
        for one, other in zip([*found, ours], [*wanted, theirs], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def has_no_value_before(x, n):
    counter = Counter()
    for i in range(n):
        counter.last = x[i]
    return counter.count


def changes_in_a_condition(x, n):
    generator = Generator(n)
    while generator.next() < 0.9:
        x[0] += 1
    return x


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (has_no_value_before, "whether counter.last has a value behind `for i in range.n.:`"),
        (changes_in_a_condition, "changes generator.state. Change it in the body"),
    ],
)
def test_what_cannot_be_state_is_an_error(function, text):
    with pytest.raises(errors.UnsupportedError, match=rf"test_python_attributes.py:\d+: .*{text}"):
        transpile.jit(function).lower(X, 3)


class Account:
    """A sum of money, of which no more is taken than there is."""

    def __init__(self, balance):
        self.balance = balance
        self.refused = 0

    def withdraw(self, amount):
        if amount > self.balance:
            self.refused += 1
            return False
        self.balance -= amount
        return True


def transfers(amounts, start):
    accounts = [Account(start), Account(2 * start)]
    named = {"third": (Account(start / 2),)}
    for k in range(len(amounts)):
        if accounts[0].withdraw(amounts[k]):
            accounts[1].balance += amounts[k]
        elif accounts[1].withdraw(amounts[k] / 2):
            named["third"][0].balance += amounts[k] / 2
        else:
            break
    return [(a.balance, a.refused) for a in (*accounts, *named["third"])]


def test_objects_in_containers_are_changed_by_branches_and_loops():
    amounts = np.array([5.0, 3.0, 9.0, 1.0, 30.0, 2.0])
    compiled = transpile.jit(transfers)
    for start in (1.0, 6.0, 10.0, 40.0):
        np.testing.assert_allclose(compiled(amounts, start), transfers(amounts, start))


def chooses_by_number(x, n):
    bodies = [Particle(x[k], 0.0) for k in range(3)]
    k = 0
    while x[k] < n:
        k += 1
    body = bodies[k]
    body.v += 1.0
    return bodies[2].v


def chooses_the_least(x, n):
    bodies = [Particle(x[k] * n, 0.0) for k in range(3)]
    least = min(bodies, key=lambda body: body.x)
    least.v += 1.0
    return bodies[0].v


def chooses_in_order(x, n):
    bodies = [Particle(x[k] * n, 0.0) for k in range(3)]
    sorted(bodies, key=lambda body: body.x)[0].v += 1.0
    return bodies[0].v


def chooses_a_row(x, n):
    rows = [[x[0], x[1]], [x[2], x[3]]]
    row = rows[0]
    if n > 1:
        row = rows[1]
    row[0] += 10.0
    return rows


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (chooses_by_number, "what `body = bodies.k.` takes is changed later"),
        (chooses_the_least, "changed later"),
        (chooses_in_order, "changed later"),
        (chooses_a_row, "'row' is changed later"),
    ],
)
def test_what_a_traced_value_chooses_is_no_copy_to_change(function, text):
    """The one that is in the list would silently stay as it is."""
    with pytest.raises(errors.UnsupportedError, match=text):
        transpile.jit(function)(X, 2)


def reads_what_it_chooses(x, n):
    bodies = [Particle(x[k] * n, x[k] - 1) for k in range(3)]
    fresh = [0.0, 1.0]
    if n > 1:
        fresh = [x[3], x[4]]
    fresh[0] += 1.0
    return max(bodies, key=lambda body: body.x).v, fresh


def test_what_a_traced_value_chooses_is_read():
    compiled = transpile.jit(reads_what_it_chooses)
    for n in (1, 2, -1):
        assert compiled(X, n) == reads_what_it_chooses(X, n)


def adds_a_key(x, n):
    best = {}
    for i in range(n):
        if x[i] > 2:
            best["x"] = x[i]
    return best


def appends_in_an_operand(x, n):
    met = []
    return n > 1 and met.append("a") is None, len(met)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (adds_a_key, "changes the dict 'best'"),
        (appends_in_an_operand, "to a list, .* no tuple or list"),
    ],
)
def test_a_container_keeps_its_elements(function, text):
    with pytest.raises(errors.CarryError, match=text):
        transpile.jit(function)(X, np.array(3))
