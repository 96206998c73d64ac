"""What a call costs beyond its arithmetic: small arrays in, a small array out."""

from benchmarks.cases import EVERYONE, Case

CALLS = 2000
ARGUMENTS = 10


def ten_arguments(xp, library):
    def total(a, b, c, d, e, f, g, h, i, j):
        return a + b + c + d + e + f + g + h + i + j

    return total


CASES = {
    "ten_arguments": Case(
        "one call, the sum of ten arrays of 4 float64",
        lambda random: tuple(random.random((ARGUMENTS, 4))),
        ten_arguments,
        CALLS,
        contestants=EVERYONE,
    )
}

# What the table of overheads has: a title, and the case.
LINES = {"one array": "small_call", "ten arrays": "ten_arguments"}
