"""What `benchmarks.cliffs` and its peers have in common: how large programs are, and the clock."""

import time

MOST_ELEMENTS = 2_000_000
TURN = 1e-3  # seconds of calls that are measured as one
LONGEST = 5.0  # seconds after which no further round begins


def best_times(functions, arguments, rounds):
    """The least seconds of a call of each function, measured in turns: in so many rounds, or as
    many as there is time for."""
    counts, best = [], []
    begin = time.perf_counter()
    for function in functions:
        start = time.perf_counter()
        function(*arguments)
        taken = time.perf_counter() - start
        counts.append(max(1, min(10_000, int(TURN / taken))))
        best.append(taken)
    for _ in range(rounds):
        if time.perf_counter() - begin > LONGEST:
            break
        for k, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(counts[k]):
                function(*arguments)
            best[k] = min(best[k], (time.perf_counter() - start) / counts[k])
    return best
