"""Loops whose iterations each run a loop of their own, as one writes them in Python."""

import math

import numpy as np


def escape_times(x, y):
    """Mandelbrot's set, a row of pixels at a time."""
    counts = np.zeros((3, len(x)), np.int64)
    for i in range(3):
        for j in range(len(x)):
            a, b, k = 0.0, 0.0, 0
            while k < 40 and a * a + b * b <= 4.0:
                a, b = a * a - b * b + x[j], 2.0 * a * b + 0.3 * i
                k += 1
            counts[i, j] = k
    return counts


def complex_escapes(x, y):
    """The same by complex numbers, and a `break`."""
    out = np.zeros(len(x), np.int32)
    for i in range(len(x)):
        c = complex(x[i], y[i])
        z, n = 0j, 0
        for n in range(50):
            z = z * z + c
            if abs(z) > 2:
                break
        out[i] = n
    return out


def square_roots(x, y):
    """Newton's method until it has converged: a name that the loop binds first."""
    out = np.empty_like(x)
    for i in range(len(x)):
        a = abs(x[i]) + 1
        guess = a
        while True:
            better = 0.5 * (guess + a / guess)
            if abs(better - guess) < 1e-12 * better:
                break
            guess = better
        out[i] = better
    return out


def bisections(x, y):
    """A fixed number of steps, with a branch in each, and an outer element read in it."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        low, high = -10.0, 10.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            if middle**3 + middle > x[i]:
                high = middle
            else:
                low = middle
        out[i] = low
    return out


def longest_collatz(x, y):
    """What is behind the loop carries a dependence."""
    most, best = 0, 0
    for i in range(1, len(x)):
        n, steps = i, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > most:
            most, best = steps, i
    return best, most


def potentials(x, y):
    """Sums over all others, in the order of Python."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0.0
        for j in range(len(x)):
            if i != j:
                total += y[j] / math.sqrt((x[i] - x[j]) ** 2 + 1e-3)
        out[i] = total
    return out


def walks(x, y):
    """Integers that wrap around, two inner loops, and a mean in the order of Python."""
    total = 0.0
    for i in range(len(x)):
        state, price = i + 1, 1.0
        for _ in range(20):
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            price *= 1.0 + 0.02 * (state / 2147483648.0 - 0.5)
        while price > 0.9:
            price *= 0.97
        total += price * x[i]
    return total / len(x)


def in_place(x, y):
    """The argument is read before the loop and assigned to behind it."""
    for i in range(len(x)):
        a = x[i]
        while abs(a) > 0.5:
            a = 0.75 * a + 0.01 * a * abs(a)
        x[i] = a
    return x


def cycles(x, y):
    """The number of the iteration in the condition, and elements that depend on one another."""
    following = (np.arange(97) * 5 + 3) % 97
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        at, steps, total = following[i], 1, i
        while at != i:
            total = (total * 3 + at * at) & 1023
            at = following[at]
            steps += 1
        out[i] = steps + (total & 7)
    return out


def single(x, y):
    """Numbers of other widths beside one another."""
    out = np.zeros(len(x), np.float32)
    for i in range(len(x)):
        a, k = np.float32(x[i]), np.int32(0)
        is_small = False
        while not is_small and k < 30:
            a = a * np.float32(0.5) + a * a * np.float32(0.01)
            is_small = abs(a) < 0.01
            k += np.int32(1)
        out[i] = a + k
    return out


def supersampled(x, y):
    """Loops inside loops, of which the innermost one ends where its numbers say."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0
        for a in range(3):
            for b in range(2):
                real, imaginary, k = 0.0, 0.0, 0
                while real * real + imaginary * imaginary < 4 and k < 20 + a:
                    square = real * real - imaginary * imaginary
                    real, imaginary = square + x[i] + 0.1 * a, 2 * real * imaginary + 0.1 * b
                    k += 1
                total += k
        out[i] = total / 6
    return out


def nested_ends(x, y):
    """Both loops end where their numbers say."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        a, rounds = abs(x[i]) + 1, 0
        while a < 50:
            b = a
            while b > 1:
                b = 0.5 * b - 0.001 * b * b
                rounds += 1
            a = a * 1.5 + b
        out[i] = a + rounds
    return out


def hits(x, y):
    """Iterations count in one scalar, which is exact in any order."""
    count = 0
    for i in range(len(x)):
        state = i + 1
        for _ in range(20):
            state = (1103515245 * state + 12345) & 0x7FFFFFFF
            if state % 4 == 1:
                count += 1
    return count


def skipping(x, y):
    """A loop in a branch, from which an iteration may come back early."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] < 0:
            continue
        a, steps = x[i], 0
        while a > 0.01:
            a = 0.5 * a - 0.01 * a * a
            steps += 1
        out[i] = a + steps
    return out


def searches(x, y):
    """Each lane reads elements of its own, which do not exist for all numbers."""
    table = np.arange(50.0) * 0.1 - 2
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if table[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out


def first_larger(x, y):
    """Elements one after the other, which scalar code reads as fast."""
    table = np.cumsum(np.full(64, 0.1)) - 2
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        k = 0
        while k < len(table) and table[k] < x[i]:
            k += 1
        out[i] = k
    return out


def often_left(x, y):
    """A branch with a loop that always has all of its iterations."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        a = x[i]
        if a > 1.5:
            total = 0.0
            for k in range(100):
                total = total * 0.5 + math.sqrt(a + k * total)
            a = total
        out[i] = a
    return out


def probed(x, y):
    """The condition reads an element, at a place that the elements before have said."""
    table = np.cumsum(np.full(64, 0.1)) - 2
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        k, steps = 7, 0
        while steps < 40 and table[k] < 2 + x[i]:
            k = (5 * k + int(table[k] * 10) + steps * k) & 63
            steps += 1
        out[i] = k + steps
    return out


def nested_searches(x, y):
    """Lanes that have ended around the inner loop, at numbers that are no subscripts, ask again."""
    table = np.cumsum(np.full(64, 0.1)) - 2
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        k, steps = int(abs(x[i]) * 20), 0
        while k >= 0:
            while k < len(table) and table[k] < x[i]:
                k += 3
                steps += 1
            k -= 10**9 if steps > 5 else 5
            steps += 1
        out[i] = steps
    return out


def guarded_elements(x, y):
    """Elements that exist where a branch is taken."""
    table = np.cumsum(np.full(64, 0.1)) - 2
    out = np.zeros(len(x))
    for i in range(len(x)):
        k, total = int(abs(x[i]) * 10), 0.0
        while k < 90:
            if k < len(table):
                total += table[k]
            k += 7 if total * total < 2 else k + 5
        out[i] = total
    return out


def far_below(x, y):
    """A branch of the body has an element for numbers that the loop goes on with, no others."""
    table = np.cumsum(np.full(64, 0.1)) - 2
    out = np.zeros(len(x))
    for i in range(len(x)):
        k, total = int(abs(x[i]) * 20), 0.0
        while k >= 0:
            if k < len(table):
                total += table[k]
            k -= 10**9 if total > 3 else 7
        out[i] = total
    return out


def following(x, y):
    """An iteration begins with what the one before has found."""
    out = np.zeros(len(x))
    a = 1.0
    for i in range(len(x)):
        while a > 0.1:
            a *= 0.5
        a += abs(x[i])
        out[i] = a
    return out


def from_elements_behind(x, y):
    """An iteration reads what the one before has assigned to."""
    for i in range(1, len(x)):
        a = x[i - 1]
        while abs(a) > 0.5:
            a *= 0.75
        x[i] += a
    return x


def added_in_order(x, y):
    """A sum of floats is in the order of Python."""
    total = 0.0
    for i in range(len(x)):
        a = x[i]
        while abs(a) > 0.5:
            a *= 0.75
            total += a
    return total


def remainders(x, y):
    """Remainders would be computed lane by lane, of those that have ended too."""
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        a, found = i + 3, 0
        while a < 90:
            b, c = a, 36
            while c:
                b, c = c, b % c
            found += b
            a += 7
        out[i] = found
    return out


def quotients(x, y):
    """Integers are divided, which has no vector code."""
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        n, digits = i * 37, 0
        while n > 0:
            digits += n % 10
            n //= 10
        out[i] = digits
    return out


IN_LANES = (
    escape_times,
    complex_escapes,
    square_roots,
    bisections,
    longest_collatz,
    potentials,
    walks,
    in_place,
    cycles,
    single,
    supersampled,
    nested_ends,
    hits,
    skipping,
    searches,
    probed,
    guarded_elements,
)
NOT_IN_LANES = (
    first_larger,
    often_left,
    following,
    from_elements_behind,
    added_in_order,
    remainders,
    quotients,
)
# What lanes read that have ended must be there, whether such loops run in lanes or not.
GUARDED = (nested_searches, far_below)
