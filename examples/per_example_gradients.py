"""Which labels are wrong? The pictures that pull hardest at a trained network tell.

    python examples/per_example_gradients.py        (it needs scikit-learn for its digits)

One label in twenty is replaced by a wrong one, and a small network learns from all of them. `loss`
is written for a single picture; `vmap` makes it one of many, and `vmap(grad(loss))` gives each
picture its own gradient, where the gradient of the mean has only their mean. A picture whose
gradient is still long when all is learnt is one whose label the network does not believe.
"""

import time

import numpy as np
from sklearn.datasets import load_digits

import transpile

HIDDEN, STEPS = 16, 150


def loss(weights, image, wanted):
    """How much the right digit surprises the network, for one picture of 64 numbers."""
    hidden = np.tanh(image @ weights["w1"] + weights["b1"])
    s = hidden @ weights["w2"] + weights["b2"]
    s = s - s.max()
    return np.log(np.sum(np.exp(s))) - s @ wanted


def pull(weights, image, wanted):
    """The length of the gradient of one picture, over all weights."""
    gradient = transpile.grad(loss)(weights, image, wanted)
    return np.sqrt(sum(np.sum(g * g) for g in gradient.values()))


def mean_loss(weights, images, wanted):
    return transpile.vmap(loss, in_axes=(None, 0, 0))(weights, images, wanted).mean()


@transpile.jit
def descend(weights, images, wanted):
    gradient = transpile.grad(mean_loss)(weights, images, wanted)
    return {name: w - gradient[name] for name, w in weights.items()}


pulls = transpile.jit(transpile.vmap(pull, in_axes=(None, 0, 0)))
gradients = transpile.jit(transpile.vmap(transpile.grad(loss), in_axes=(None, 0, 0)))


def main():
    random = np.random.default_rng(0)
    images, digits = load_digits(return_X_y=True)
    images = images / 16
    wrong = random.choice(len(digits), len(digits) // 20, replace=False)
    labels = digits.copy()
    labels[wrong] = (digits[wrong] + random.integers(1, 10, len(wrong))) % 10
    wanted = np.eye(10)[labels]

    weights = {
        "w1": random.normal(0, 1 / 8, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(0, 1 / 4, (HIDDEN, 10)),
        "b2": np.zeros(10),
    }
    for _ in range(STEPS):
        weights = descend(weights, images, wanted)

    pulled = pulls(weights, images, wanted)
    order = np.argsort(-pulled)
    first = order[: len(wrong)]
    found = np.isin(first, wrong).sum()
    print(f"{len(wrong)} of {len(labels)} labels were replaced by wrong ones")
    print(f"{found} of the {len(wrong)} pictures with the longest gradients are among them\n")
    print("the first of them, with the label that each was given")
    show(images[order[:8]], labels[order[:8]], digits[order[:8]])
    ratio = pulled[order] / np.median(pulled)
    print(f"\ntheir gradients are {ratio[7]:.0f} to {ratio[0]:.0f} times as long as the median one")
    check_and_measure(weights, images, wanted)


def show(images, labels, digits):
    """Pictures side by side, as characters."""
    heads = [f"{label}, is {digit}" for label, digit in zip(labels, digits, strict=True)]
    print("\n" + "".join(f"{head:12}" for head in heads).rstrip())
    for row in range(8):
        parts = images[:, 8 * row : 8 * row + 8]
        lines = ["".join(" .:*#"[int(4 * ink + 0.5)] for ink in part) for part in parts]
        print("".join(f"{line:12}" for line in lines).rstrip())


def check_and_measure(weights, images, wanted):
    """The mean of the gradients is the gradient of the mean, and a loop finds the same ones."""
    one = transpile.jit(transpile.grad(loss))
    whole = transpile.jit(transpile.grad(mean_loss))(weights, images, wanted)

    def loop():
        found = [one(weights, *pair) for pair in zip(images, wanted, strict=True)]
        return {name: np.stack([gradient[name] for gradient in found]) for name in weights}

    at_once, in_turn = gradients(weights, images, wanted), loop()
    print(f"\nmean of the gradients - gradient of the mean: {apart(mean(at_once), whole):.0e}")
    print(f"gradients by vmap - gradients by a loop:      {apart(at_once, in_turn):.0e}\n")
    print(f"{len(images)} gradients of {sum(w.size for w in weights.values())} weights each")
    for what, call in (
        ("a loop of compiled gradients", loop),
        ("one compiled vmap(grad(loss))", lambda: gradients(weights, images, wanted)),
        ("one compiled vmap(pull)", lambda: pulls(weights, images, wanted)),
    ):
        print(f"  {what:32}{fastest(call) * 1e3:8.2f} ms")
    memory = pulls.lower(weights, images, wanted).compile().memory_analysis()
    filled, needed = (size / 1e6 for size in (sum_of_bytes(at_once), memory.temp_size_in_bytes))
    print(f"the gradients fill {filled:.1f} MB, vmap(pull) works in {needed:.1f} MB: it keeps none")


def fastest(call, rounds=9):
    """The seconds of the fastest of several calls: what else the machine does only adds to it."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def sum_of_bytes(arrays):
    return sum(array.nbytes for array in arrays.values())


def mean(gradients):
    return {name: g.mean(axis=0) for name, g in gradients.items()}


def apart(found, expected):
    """The largest difference, of arrays in dicts."""
    return max(np.abs(found[name] - expected[name]).max() for name in expected)


if __name__ == "__main__":
    main()
