"""Kernels of graphs, clusters, chains and linear algebra: for these, too, nothing was tuned when
they were written. Where they come from is in each one's docstring.
"""

from __future__ import annotations

import numpy as np

from benchmarks.python_kernels import Kernel


def prim(weights, parent):
    """The minimum spanning tree of a complete graph (Prim 1957): its weight, and parents."""
    n = len(weights)
    done = np.zeros(n, np.bool_)
    near = np.full(n, np.inf)
    near[0] = 0.0
    total = 0.0
    for _ in range(n):
        best = -1
        for v in range(n):
            if not done[v] and (best < 0 or near[v] < near[best]):
                best = v
        done[best] = True
        total += near[best]
        for v in range(n):
            if not done[v] and weights[best, v] < near[v]:
                near[v] = weights[best, v]
                parent[v] = best
    return total


def hungarian(cost, column_of):
    """The cheapest assignment by potentials (Kuhn 1955; Jonker and Volgenant 1987): its cost."""
    n = len(cost)
    u = np.zeros(n + 1)
    v = np.zeros(n + 1)
    row_of = np.zeros(n + 1, np.int64)
    way = np.zeros(n + 1, np.int64)
    least = np.zeros(n + 1)
    used = np.zeros(n + 1, np.bool_)
    for i in range(1, n + 1):
        row_of[0] = i
        j0 = 0
        for j in range(n + 1):
            least[j] = np.inf
            used[j] = False
        while True:
            used[j0] = True
            i0 = row_of[j0]
            delta = np.inf
            j1 = 0
            for j in range(1, n + 1):
                if not used[j]:
                    own = cost[i0 - 1, j - 1] - u[i0] - v[j]
                    if own < least[j]:
                        least[j] = own
                        way[j] = j0
                    if least[j] < delta:
                        delta = least[j]
                        j1 = j
            for j in range(n + 1):
                if used[j]:
                    u[row_of[j]] += delta
                    v[j] -= delta
                else:
                    least[j] -= delta
            j0 = j1
            if row_of[j0] == 0:
                break
        while j0 != 0:
            j1 = way[j0]
            row_of[j0] = row_of[j1]
            j0 = j1
    total = 0.0
    for j in range(1, n + 1):
        column_of[row_of[j] - 1] = j - 1
        total += cost[row_of[j] - 1, j - 1]
    return total


def topological_sort(starts, targets, order):
    """Vertices of an acyclic graph in order (Kahn 1962): how many have none before them left."""
    n = len(starts) - 1
    degrees = np.zeros(n, np.int64)
    for e in range(len(targets)):
        degrees[targets[e]] += 1
    last = 0
    for v in range(n):
        if degrees[v] == 0:
            order[last] = v
            last += 1
    first = 0
    while first < last:
        v = order[first]
        first += 1
        for e in range(starts[v], starts[v + 1]):
            w = targets[e]
            degrees[w] -= 1
            if degrees[w] == 0:
                order[last] = w
                last += 1
    return last


def page_rank(starts, targets, damping, tolerance):
    """Ranks of pages by power iteration (Brin and Page 1998)."""
    n = len(starts) - 1
    rank = np.full(n, 1.0 / n)
    for _ in range(1000):
        new = np.zeros(n)
        lost = 0.0
        for v in range(n):
            degree = starts[v + 1] - starts[v]
            if degree == 0:
                lost += rank[v]
            else:
                share = rank[v] / degree
                for e in range(starts[v], starts[v + 1]):
                    new[targets[e]] += share
        change = 0.0
        for v in range(n):
            new[v] = (1.0 - damping) / n + damping * (new[v] + lost / n)
            change += abs(new[v] - rank[v])
        rank = new
        if change < tolerance:
            break
    return rank


def strong_components(starts, targets, component):
    """Strongly connected components (Tarjan 1972), without recursion; how many."""
    n = len(starts) - 1
    number = np.full(n, -1)
    low = np.zeros(n, np.int64)
    edge = np.zeros(n, np.int64)
    path = np.zeros(n, np.int64)
    stack = np.zeros(n, np.int64)
    stacked = np.zeros(n, np.bool_)
    height = 0
    numbered = 0
    components = 0
    for root in range(n):
        if number[root] >= 0:
            continue
        path[0] = root
        depth = 1
        while depth > 0:
            v = path[depth - 1]
            if number[v] < 0:
                number[v] = numbered
                low[v] = numbered
                numbered += 1
                edge[v] = starts[v]
                stack[height] = v
                height += 1
                stacked[v] = True
            if edge[v] < starts[v + 1]:
                w = targets[edge[v]]
                edge[v] += 1
                if number[w] < 0:
                    path[depth] = w
                    depth += 1
                elif stacked[w]:
                    low[v] = min(low[v], number[w])
                continue
            depth -= 1
            if depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[v])
            if low[v] == number[v]:
                while True:
                    height -= 1
                    w = stack[height]
                    stacked[w] = False
                    component[w] = components
                    if w == v:
                        break
                components += 1
    return components


def maximum_flow(capacity):
    """The flow from the first vertex to the last by shortest paths (Edmonds and Karp 1972)."""
    n = len(capacity)
    before = np.zeros(n, np.int64)
    queue = np.zeros(n, np.int64)
    flow = 0
    while True:
        before[:] = -1
        before[0] = 0
        queue[0] = 0
        first = 0
        last = 1
        while first < last and before[n - 1] < 0:
            v = queue[first]
            first += 1
            for w in range(n):
                if before[w] < 0 and capacity[v, w] > 0:
                    before[w] = v
                    queue[last] = w
                    last += 1
        if before[n - 1] < 0:
            return flow
        least = capacity[before[n - 1], n - 1]
        w = n - 1
        while w != 0:
            least = min(least, capacity[before[w], w])
            w = before[w]
        w = n - 1
        while w != 0:
            capacity[before[w], w] -= least
            capacity[w, before[w]] += least
            w = before[w]
        flow += least


def dbscan(points, radius, least, labels):
    """Clusters of dense points (Ester and others 1996), -1 for noise; how many."""
    n = len(points)
    queue = np.zeros(n, np.int64)
    queued = np.zeros(n, np.bool_)
    clusters = 0
    for i in range(n):
        labels[i] = -1
    for i in range(n):
        if queued[i]:
            continue
        queue[0] = i
        queued[i] = True
        first = 0
        last = 1
        grown = False
        while first < last:
            p = queue[first]
            first += 1
            near = 0
            for q in range(n):
                dx = points[p, 0] - points[q, 0]
                dy = points[p, 1] - points[q, 1]
                if dx * dx + dy * dy <= radius * radius:
                    near += 1
            if near < least:
                if grown:
                    labels[p] = clusters
                continue
            grown = True
            labels[p] = clusters
            for q in range(n):
                dx = points[p, 0] - points[q, 0]
                dy = points[p, 1] - points[q, 1]
                if dx * dx + dy * dy <= radius * radius:
                    if not queued[q]:
                        queued[q] = True
                        queue[last] = q
                        last += 1
                    elif labels[q] < 0:
                        labels[q] = clusters
        if grown:
            clusters += 1
    return clusters


def k_means(points, centres, labels, limit):
    """Lloyd's algorithm (1957), until no label changes: how many rounds."""
    n, d = points.shape
    k = len(centres)
    sums = np.zeros((k, d))
    sizes = np.zeros(k, np.int64)
    for iteration in range(limit):
        changed = 0
        sums[:, :] = 0.0
        sizes[:] = 0
        for i in range(n):
            best = -1
            least = np.inf
            for c in range(k):
                distance = 0.0
                for j in range(d):
                    distance += (points[i, j] - centres[c, j]) ** 2
                if distance < least:
                    least = distance
                    best = c
            if labels[i] != best:
                labels[i] = best
                changed += 1
            sizes[best] += 1
            for j in range(d):
                sums[best, j] += points[i, j]
        if changed == 0:
            return iteration
        for c in range(k):
            if sizes[c] > 0:
                for j in range(d):
                    centres[c, j] = sums[c, j] / sizes[c]
    return limit


def forward_backward(initial, transitions, emissions, observed, posterior):
    """A hidden Markov chain's states given all observations (Baum 1970); the log likelihood."""
    n = len(observed)
    k = len(initial)
    likelihood = 0.0
    scale = np.zeros(n)
    for t in range(n):
        total = 0.0
        for j in range(k):
            p = 0.0
            if t == 0:
                p = initial[j]
            else:
                for i in range(k):
                    p += posterior[t - 1, i] * transitions[i, j]
            posterior[t, j] = p * emissions[j, observed[t]]
            total += posterior[t, j]
        for j in range(k):
            posterior[t, j] /= total
        scale[t] = total
        likelihood += np.log(total)
    beta = np.ones(k)
    before = np.zeros(k)
    for t in range(n - 2, -1, -1):
        for i in range(k):
            p = 0.0
            for j in range(k):
                p += transitions[i, j] * emissions[j, observed[t + 1]] * beta[j]
            before[i] = p / scale[t + 1]
        for i in range(k):
            beta[i] = before[i]
            posterior[t, i] *= beta[i]
    return likelihood


def simplex(tableau, basis):
    """A linear program in a tableau, by Dantzig's rule (1947): how many pivots, -1 if unbounded."""
    m, n = tableau.shape
    pivots = 0
    while pivots < 10000:
        column = -1
        least = -1e-9
        for j in range(n - 1):
            if tableau[m - 1, j] < least:
                least = tableau[m - 1, j]
                column = j
        if column < 0:
            return pivots
        row = -1
        ratio = np.inf
        for i in range(m - 1):
            if tableau[i, column] > 1e-9:
                own = tableau[i, n - 1] / tableau[i, column]
                if own < ratio:
                    ratio = own
                    row = i
        if row < 0:
            return -1
        basis[row] = column
        pivot = tableau[row, column]
        for j in range(n):
            tableau[row, j] /= pivot
        for i in range(m):
            if i != row:
                factor = tableau[i, column]
                for j in range(n):
                    tableau[i, j] -= factor * tableau[row, j]
        pivots += 1
    return pivots


def givens_qr(a, q):
    """A = QR by Givens' rotations (Golub and Van Loan, 5.2.5): R in place, Q' in q."""
    m, n = a.shape
    for j in range(n):
        for i in range(m - 1, j, -1):
            x = a[i - 1, j]
            y = a[i, j]
            if y != 0.0:
                length = np.sqrt(x * x + y * y)
                c = x / length
                s = y / length
                for k in range(j, n):
                    u = a[i - 1, k]
                    v = a[i, k]
                    a[i - 1, k] = c * u + s * v
                    a[i, k] = c * v - s * u
                for k in range(m):
                    u = q[i - 1, k]
                    v = q[i, k]
                    q[i - 1, k] = c * u + s * v
                    q[i, k] = c * v - s * u


def levinson_durbin(r, a):
    """A symmetric Toeplitz system's predictor (Levinson 1947; Durbin 1960): the error."""
    n = len(r) - 1
    old = np.zeros(n + 1)
    error = r[0]
    a[0] = 1.0
    for m in range(1, n + 1):
        s = 0.0
        for k in range(m):
            s += a[k] * r[m - k]
        reflection = -s / error
        for k in range(m + 1):
            old[k] = a[k] if k < m else 0.0
        for k in range(1, m + 1):
            a[k] = old[k] + reflection * old[m - k]
        error *= 1.0 - reflection * reflection
    return error


def _acyclic(draw, n):
    degrees = np.minimum(draw.integers(0, 9, n), np.arange(n)[::-1])
    starts = np.concatenate([[0], np.cumsum(degrees)])
    sources = np.repeat(np.arange(n), degrees)
    targets = draw.integers(sources + 1, n) if len(sources) else np.zeros(0, np.int64)
    return starts, targets, np.zeros(n, np.int64)


def _directed(draw, n):
    starts = np.concatenate([[0], np.cumsum(draw.integers(0, 4, n))])
    return starts, draw.integers(0, n, starts[-1])


def _program(draw, n):
    m = n // 2
    tableau = np.zeros((m + 1, n + m + 1))
    tableau[:m, :n] = draw.random((m, n)) + 0.1
    tableau[:m, n : n + m] = np.eye(m)
    tableau[:m, -1] = 1.0 + draw.random(m)
    tableau[m, :n] = -draw.random(n) - 0.5
    return tableau, np.arange(n, n + m)


def _chain(draw, n):
    k = 4
    rows = draw.random((3, k, k)) + 0.1
    rows /= rows.sum(axis=-1, keepdims=True)
    return rows[0, 0], rows[1], rows[2], draw.integers(0, k, n), np.zeros((n, k))


def _flow(draw, n):
    capacity = draw.integers(1, 100, (n, n)) * (draw.random((n, n)) < 0.2)
    np.fill_diagonal(capacity, 0)
    return (capacity,)


def _zeros(*shape):
    return np.zeros(shape, np.int64)


GRAPHS = {
    "prim": Kernel(prim, lambda d, n: (d.random((n, n)), _zeros(n)), 9, 400),
    "hungarian": Kernel(hungarian, lambda d, n: (d.random((n, n)), _zeros(n)), 6, 120),
    "topological_sort": Kernel(topological_sort, _acyclic, 12, 20_000),
    "page_rank": Kernel(page_rank, lambda d, n: (*_directed(d, n), 0.85, 1e-8), 12, 5000),
    "strong_components": Kernel(
        strong_components, lambda d, n: (*_directed(d, n), _zeros(n)), 20, 20_000
    ),
    "maximum_flow": Kernel(maximum_flow, _flow, 9, 100),
    "dbscan": Kernel(dbscan, lambda d, n: (d.random((n, 2)), 0.06, 4, _zeros(n)), 40, 1000),
    "k_means": Kernel(
        k_means,
        lambda d, n: (d.normal(size=(n, 3)), d.normal(size=(5, 3)), _zeros(n) - 1, 20),
        30,
        2000,
    ),
    "forward_backward": Kernel(forward_backward, _chain, 9, 10_000),
    "simplex": Kernel(simplex, _program, 8, 100),
    "givens_qr": Kernel(givens_qr, lambda d, n: (d.normal(size=(n, n)), np.eye(n)), 6, 100),
    "levinson_durbin": Kernel(
        levinson_durbin, lambda d, n: (0.9 ** np.arange(n + 1), np.zeros(n + 1)), 9, 500
    ),
}
