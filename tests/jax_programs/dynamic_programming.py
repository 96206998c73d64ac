"""Dynamic programming: a folded RNA, aligned sequences, edit distances, shortest paths, a knapsack.

The tables are filled by nested `fori_loop`s and read with `dynamic_slice`; the ways back through
them are `while_loop`s that `switch` on what was chosen. A smooth maximum makes a gradient of the
score the probability that two letters are aligned.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax, nn, random

# Which letters pair: A-U, C-G and G-U, as 0, 1, 2, 3.
PAIRS = jnp.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])


@jax.jit
def nussinov(sequence, pairs):
    """best[i, j]: the most pairs within letters i to j, three letters apart at least."""
    n = sequence.shape[0]

    def cell(i, j, best):
        def split(k, most):
            left = lax.dynamic_slice(best, (i, k), (1, 1))[0, 0]
            right = lax.dynamic_slice(best, (k + 1, j), (1, 1))[0, 0]
            return jnp.maximum(most, left + right)

        inner = jnp.where(i + 1 <= j - 1, best[i + 1, j - 1], 0)
        paired = inner + pairs[sequence[i], sequence[j]]
        most = lax.fori_loop(i, j, split, jnp.where(j - i > 3, paired, 0))
        return lax.dynamic_update_slice(best, most[None, None], (i, j))

    def diagonal(length, best):
        return lax.fori_loop(0, n - length, lambda i, best: cell(i, i + length, best), best)

    return lax.fori_loop(1, n, diagonal, jnp.zeros((n, n), int))


@functools.partial(jax.jit, static_argnames="gap")
def needleman_wunsch(a, b, gap=-2):
    """(scores, moves) of the best alignments of all beginnings of two sequences."""
    n, m = len(a), len(b)
    scores = jnp.zeros((n + 1, m + 1), int)
    scores = scores.at[:, 0].set(gap * jnp.arange(n + 1)).at[0, :].set(gap * jnp.arange(m + 1))
    moves = jnp.zeros((n + 1, m + 1), int).at[1:, 0].set(1).at[0, 1:].set(2)

    def cell(flat, tables):
        scores, moves = tables
        i, j = flat // m + 1, flat % m + 1
        choices = jnp.array(
            [
                scores[i - 1, j - 1] + jnp.where(a[i - 1] == b[j - 1], 3, -1),
                scores[i - 1, j] + gap,
                scores[i, j - 1] + gap,
            ]
        )
        scores = scores.at[i, j].set(jnp.max(choices))
        return scores, moves.at[i, j].set(jnp.argmax(choices))

    return lax.fori_loop(0, n * m, cell, (scores, moves))


@jax.jit
def trace_back(moves):
    """The way through the table from its end: (places, how many of them there are)."""
    n, m = moves.shape
    back = [
        lambda i, j: (i - 1, j - 1),
        lambda i, j: (i - 1, j),
        lambda i, j: (i, j - 1),
    ]

    def step(state):
        i, j, path, length = state
        path = lax.dynamic_update_slice(path, jnp.array([[i, j]]), (length, 0))
        i, j = lax.switch(moves[i, j], back, i, j)
        return i, j, path, length + 1

    path = jnp.full((n + m, 2), -1)
    state = lax.while_loop(lambda s: (s[0] > 0) | (s[1] > 0), step, (n - 1, m - 1, path, 0))
    return state[2], state[3]


@jax.jit
def alignment_probabilities(similarity, gap):
    """The gradient of the smooth score by the similarities, row by row."""

    def score(similarity):
        m = similarity.shape[1]
        first = gap * jnp.arange(m + 1.0)

        def row(above, likeness):
            def cell(left, entry):
                diagonal, up, s = entry
                value = nn.logsumexp(jnp.stack([diagonal + s, up + gap, left + gap]))
                return value, value

            start = above[0] + gap
            _, rest = lax.scan(cell, start, (above[:-1], above[1:], likeness))
            return jnp.concatenate([start[None], rest]), None

        return lax.scan(row, first, similarity)[0][-1]

    return jax.value_and_grad(score)(similarity)


@jax.jit
def edit_distances(words, lengths):
    """The Levenshtein distance of every pair of words, (words, words)."""

    def pair(a, b, n, m):
        def row(i, last):
            substitution = last[:-1] + (a[i] != b)
            candidates = jnp.minimum(substitution, last[1:] + 1)
            # min over j' <= j of candidate[j'] + (j - j'), by a running minimum
            columns = jnp.arange(last.size)
            whole = jnp.concatenate([jnp.array([i + 1]), candidates]) - columns
            return lax.cond(i < n, lambda: lax.cummin(whole) + columns, lambda: last)

        return lax.fori_loop(0, a.size, row, jnp.arange(b.size + 1))[m]

    return jax.vmap(jax.vmap(pair, (None, 0, None, 0)), (0, None, 0, None))(
        words, words, lengths, lengths
    )


@jax.jit
def floyd_warshall(weights):
    def through(k, d):
        return jnp.minimum(d, d[:, k][:, None] + d[k])

    return lax.fori_loop(0, weights.shape[0], through, weights)


@functools.partial(jax.jit, static_argnums=2)
def knapsack(weights, values, capacity):
    """The most value within each capacity."""
    room = jnp.arange(capacity + 1)

    def consider(best, item):
        weight, value = item
        with_it = jnp.take(best, room - weight, mode="clip") + value
        return jnp.where(room >= weight, jnp.maximum(best, with_it), best), None

    return lax.scan(consider, jnp.zeros(capacity + 1), (weights, values))[0]


def main(seed=0):
    keys = random.split(random.key(seed), 6)
    rna = random.randint(keys[0], (40,), 0, 4)
    a, b = random.choice(keys[1], 4, (2, 30))
    scores, moves = needleman_wunsch(a, b)
    path, length = trace_back(moves)
    similarity = jnp.where(a[:12, None] == b[None, :12], 1.5, -0.5)
    value, aligned = alignment_probabilities(similarity, -1.0)
    words = random.randint(keys[2], (5, 9), 0, 3)
    lengths = random.randint(keys[3], (5,), 4, 10)
    edges = random.exponential(keys[4], (24, 24))
    weights = jnp.where(edges < 0.6, edges, jnp.inf)
    weights = jnp.where(jnp.eye(24, dtype=bool), 0.0, weights)
    sizes = random.randint(keys[5], (20,), 1, 15)
    return {
        "nussinov": nussinov(rna, PAIRS),
        "scores": scores,
        "path": path,
        "length": length,
        "smooth": value,
        "aligned": aligned,
        "edits": edit_distances(words, lengths),
        "shortest": floyd_warshall(weights),
        "knapsack": knapsack(sizes, jnp.sqrt(sizes), 60),
    }
