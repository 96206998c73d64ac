"""Lengths of the shortest paths between all nodes of a graph, by Floyd and Warshall."""

import numpy as np

import transpile


@transpile.jit
def shortest(lengths):
    for k in transpile.no_unroll(range(len(lengths))):
        lengths = np.minimum(lengths, lengths[:, k, None] + lengths[k])
    return lengths


def example():
    random = np.random.default_rng(0)
    lengths = np.where(random.uniform(size=(40, 40)) < 0.1, random.uniform(1, 5, (40, 40)), np.inf)
    np.fill_diagonal(lengths, 0)
    return (lengths,)


if __name__ == "__main__":
    print(shortest(*example())[0, :5])
