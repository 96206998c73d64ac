"""k-means, with starts that are far apart, several at once, and the best of them.

Lloyd's iterations are a `while_loop` whose carry is a dict; `vmap` runs it for all starts; sums
over clusters are `segment_sum`s.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, nn, random
from jax.ops import segment_max, segment_sum


def make_points(key, clusters, count):
    """Points of the plane around drawn centres, and the cluster of each."""
    centre_key, label_key, noise_key = random.split(key, 3)
    centres = random.uniform(centre_key, (clusters, 2), minval=-6.0, maxval=6.0)
    labels = random.randint(label_key, (count,), 0, clusters)
    noise = random.normal(noise_key, (count, 2)) * jnp.linspace(0.8, 1.6, clusters)[labels, None]
    return centres[labels] + noise, labels


def squared_distances(points, centres):
    """(points, centres)."""
    return jnp.sum((points[:, jnp.newaxis] - centres) ** 2, axis=-1)


def spread_out(key, points, k):
    """k of the points, each drawn by its squared distance from those before (k-means++)."""
    first, rest = random.split(key)
    centres = jnp.zeros((k, points.shape[1]))
    centres = centres.at[0].set(points[random.randint(first, (), 0, len(points))])

    def add(i, carry):
        centres, nearest = carry
        chosen = random.categorical(random.fold_in(rest, i), jnp.log(nearest))
        centres = centres.at[i].set(points[chosen])
        return centres, jnp.minimum(nearest, squared_distances(points, points[chosen][None])[:, 0])

    nearest = squared_distances(points, centres[:1])[:, 0]
    centres, _ = lax.fori_loop(1, k, add, (centres, nearest))
    return centres


def lloyd(points, centres, most=100):
    """Centres that are the means of what is nearest to them."""
    k = centres.shape[0]

    def moves(state):
        return jnp.logical_and(state["moved"] > 1e-12, state["steps"] < most)

    def step(state):
        labels = jnp.argmin(squared_distances(points, state["centres"]), axis=1)
        counts = segment_sum(jnp.ones(len(points)), labels, num_segments=k)
        sums = segment_sum(points, labels, k)
        centres = jnp.where(counts[:, None] > 0, sums / counts[:, None], state["centres"])
        moved = jnp.max(jnp.abs(centres - state["centres"]))
        return {"centres": centres, "moved": moved, "steps": state["steps"] + 1}

    state = {"centres": centres, "moved": jnp.array(jnp.inf), "steps": 0}
    return lax.while_loop(moves, step, state)


def describe(points, state):
    """What a clustering is like."""
    centres = state["centres"]
    distances = squared_distances(points, centres)
    labels = distances.argmin(axis=1)
    return {
        "centres": centres,
        "labels": labels,
        "inertia": jnp.take_along_axis(distances, labels[:, None], axis=1).sum(),
        "radius": jnp.sqrt(segment_max(distances.min(axis=1), labels, len(centres))),
        "steps": state["steps"],
    }


@partial(jax.jit, static_argnames=["k", "starts"])
def k_means(key, points, k, starts):
    """The best clustering of several, its clusters ordered, and the inertias of all."""

    def attempt(key):
        return describe(points, lloyd(points, spread_out(key, points, k)))

    found = jax.vmap(attempt)(random.split(key, starts))
    best = jax.tree_util.tree_map(lambda x: x[jnp.argmin(found["inertia"])], found)
    order = jnp.lexsort((best["centres"][:, 1], best["centres"][:, 0]))
    place = jnp.zeros_like(order).at[order].set(jnp.arange(k))
    best["centres"], best["radius"] = best["centres"][order], best["radius"][order]
    best["labels"] = place[best["labels"]]
    return best, jnp.sort(found["inertia"])


@jax.jit
def confusion(labels, truth):
    """How often each cluster has each true label."""
    count = 6
    return jnp.einsum("ni,nj->ij", nn.one_hot(labels, count), nn.one_hot(truth, count))


@partial(jax.jit, static_argnums=1)
def soft_step(points, k, centres, log_width):
    """A step of fuzzy k-means, and how its loss changes with the width."""

    def loss(log_width):
        distances = squared_distances(points, centres)
        return -jnp.mean(nn.logsumexp(-distances * jnp.exp(-log_width), axis=1))

    weights = nn.softmax(-squared_distances(points, centres) * jnp.exp(-log_width), axis=1)
    means = (weights.T @ points) / weights.sum(axis=0)[:, None]
    return means, jax.grad(loss)(log_width)


def main(seed=0):
    data, start = random.split(random.key(seed))
    points, truth = make_points(data, 6, 300)
    best, inertias = k_means(start, points, k=6, starts=8)
    means, slope = soft_step(points, 6, best["centres"], jnp.log(0.5))
    return {
        "centres": best["centres"],
        "labels": best["labels"],
        "radius": best["radius"],
        "steps": best["steps"],
        "inertias": inertias,
        "confusion": jnp.sort(confusion(best["labels"], truth), axis=None),
        "soft": means,
        "slope": slope,
    }
