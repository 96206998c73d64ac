"""Belief propagation: a noisy picture cleaned, a chain solved exactly, a code decoded.

Messages are logarithms of odds or of probabilities. On the grid they go round in a `while_loop`
until they stay as they are; on the chain forward and backward products are associative scans; the
graph of the code is a list of edges, and sums over neighbours are `segment_sum`s.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax, nn, ops, random
from jax.scipy.special import logsumexp


def through_edge(message, coupling):
    """What a neighbour that is told `message` says, in log odds."""
    return 2 * jnp.arctanh(jnp.tanh(coupling) * jnp.tanh(message / 2))


def shifted(message, axis, by):
    """The message that comes from the neighbour; none from beyond the border."""
    size = message.shape[axis]
    rolled = jnp.roll(message, by, axis=axis)
    edge = 0 if by == 1 else size - 1
    at = lax.broadcasted_iota(int, message.shape, axis)
    return jnp.where(at == edge, 0.0, rolled)


@functools.partial(jax.jit, static_argnames="damping")
def clean(evidence, coupling, damping=0.3):
    """The log odds of each pixel of a grid, the rounds it took, and the last change."""
    ways = ((0, 1), (0, -1), (1, 1), (1, -1))

    def round_of_messages(carry):
        messages, rounds, _ = carry
        total = evidence + sum(messages)
        sent = []
        for number, (axis, by) in enumerate(ways):
            back = messages[number ^ 1]  # what came from there is not sent back
            sent.append(shifted(through_edge(total - back, coupling), axis, by))
        updated = jax.tree.map(lambda m, s: damping * m + (1 - damping) * s, messages, tuple(sent))
        change = functools.reduce(
            jnp.maximum, [jnp.abs(a - b).max() for a, b in zip(messages, updated, strict=True)]
        )
        return updated, rounds + 1, change

    silence = (jnp.zeros_like(evidence),) * 4
    messages, rounds, change = lax.while_loop(
        lambda carry: (carry[2] > 1e-9) & (carry[1] < 500), round_of_messages, (silence, 0, 1.0)
    )
    return evidence + sum(messages), rounds, change


@jax.jit
def chain_marginals(log_transition, log_evidence):
    """(marginals, evidence) of a hidden Markov chain, by products of matrices, all at once."""

    def product(a, b):
        return logsumexp(a[..., :, :, None] + b[..., None, :, :], axis=-2)

    steps = log_transition + log_evidence[1:, None, :]
    ahead = lax.associative_scan(product, steps)
    behind = lax.associative_scan(lambda a, b: product(b, a), steps, reverse=True)
    forward = logsumexp(log_evidence[0][:, None] + ahead, axis=1)
    forward = jnp.concatenate([log_evidence[:1], forward])
    backward = jnp.concatenate([logsumexp(behind, axis=2), jnp.zeros_like(log_evidence[:1])])
    return nn.softmax(forward + backward, axis=-1), logsumexp(forward[-1])


@jax.jit
def chain_by_gradient(log_transition, log_evidence):
    """The same marginals: how the evidence changes with each of its terms."""

    def total(log_evidence):
        def step(alpha, evidence):
            alpha = logsumexp(alpha[:, None] + log_transition, axis=0) + evidence
            return alpha, None

        return logsumexp(lax.scan(step, log_evidence[0], log_evidence[1:])[0])

    return jax.grad(total)(log_evidence)


def make_code(key, bits, checks):
    """Edges (bit, check) of a random code in which each bit is in three checks."""
    order = jax.vmap(lambda k: random.permutation(k, checks)[:3])(random.split(key, bits))
    return jnp.repeat(jnp.arange(bits), 3), order.ravel()


@functools.partial(jax.jit, static_argnums=(3, 4))
def decode(bit, check, received, bits, checks):
    """The log odds of each bit being 0, and how many checks fail, after each of 30 rounds."""

    def sums(values, to, count):
        return ops.segment_sum(values, to, num_segments=count)

    def one_round(to_bit, _):
        to_check = (received + sums(to_bit, bit, bits))[bit] - to_bit
        log_size = jnp.log(jnp.abs(jnp.tanh(to_check / 2)) + 1e-12)
        negative = (to_check < 0).astype(int)
        size = jnp.exp(sums(log_size, check, checks)[check] - log_size)
        sign = 1 - 2 * ((sums(negative, check, checks)[check] - negative) % 2)
        to_bit = 2 * jnp.arctanh(jnp.clip(sign * size, -0.999999, 0.999999))
        odds = received + sums(to_bit, bit, bits)
        failed = sums((odds < 0)[bit].astype(int), check, checks) % 2
        return to_bit, jnp.sum(failed)

    to_bit, failed = lax.scan(one_round, jnp.zeros(bit.shape), length=30)
    return received + sums(to_bit, bit, bits), failed


def main(seed=0):
    keys = random.split(random.key(seed), 5)
    rows, columns = jnp.indices((24, 24))
    picture = jnp.where((rows - 12) ** 2 + (columns - 11) ** 2 < 60, 1.0, -1.0)
    noisy = picture + 0.9 * random.normal(keys[0], picture.shape)
    odds, rounds, change = clean(2 * noisy / 0.81, 0.7)
    log_transition = jnp.log(random.dirichlet(keys[1], jnp.ones(4), (4,)))
    log_evidence = nn.log_softmax(random.gumbel(keys[2], (50, 4)))
    marginals, evidence = chain_marginals(log_transition, log_evidence)
    bit, check = make_code(keys[3], 60, 40)
    received = 2 * (1 + 0.8 * random.normal(keys[4], (60,))) / 0.64
    decoded, failed = decode(bit, check, received, 60, 40)
    return {
        "odds": odds,
        "rounds": rounds,
        "converged": change < 1e-9,
        "wrong": jnp.array([jnp.sum(jnp.sign(x) != picture) for x in (noisy, odds)]),
        "marginals": marginals,
        "evidence": evidence,
        "by_gradient": chain_by_gradient(log_transition, log_evidence),
        "decoded": decoded,
        "failed": failed,
        "errors": jnp.array([(received < 0).sum(), (decoded < 0).sum()]),
    }
