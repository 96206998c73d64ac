"""A network learns to read handwritten digits: the gradient, Adam and all in one compiled function.

    python examples/digits.py        (it needs scikit-learn for its 1797 small pictures)

The network, its loss and Adam are NumPy functions over dicts of arrays. `train_step` takes the
gradient of the loss and feeds it to Adam; jitted, the whole step is one C function, which writes
the weights that it returns over those that it was given (`donate_argnums`). At the end the same
step, with its gradient derived by hand, shows that NumPy finds the same numbers, and its time.
"""

import time

import numpy as np
from sklearn.datasets import load_digits

import transpile

HIDDEN, BATCH, EPOCHS = 64, 32, 20


# --------------------------------------------------------------------------- the network, and Adam


def scores(weights, images):
    """For each image ten numbers; the largest is the digit that the network sees."""
    hidden = np.tanh(images @ weights["w1"] + weights["b1"])
    return hidden @ weights["w2"] + weights["b2"]


def loss(weights, images, wanted):
    """The cross-entropy: how much the network is surprised, on average, by the right digits."""
    s = scores(weights, images)
    s = s - s.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(s).sum(axis=1)) - (s * wanted).sum(axis=1))


def adam(weights, gradient, state, rate=0.005, fade1=0.9, fade2=0.999):
    """Kingma and Ba, 2015: steps of about `rate`, along means of the gradient that fade away."""
    count = state["count"] + 1
    rate = rate * np.sqrt(1 - fade2**count) / (1 - fade1**count)
    mean, square, moved = {}, {}, {}
    for name, g in gradient.items():
        mean[name] = fade1 * state["mean"][name] + (1 - fade1) * g
        square[name] = fade2 * state["square"][name] + (1 - fade2) * g * g
        moved[name] = weights[name] - rate * mean[name] / (np.sqrt(square[name]) + 1e-8)
    return moved, {"mean": mean, "square": square, "count": count}


def train_step(weights, state, images, wanted):
    value, gradient = transpile.value_and_grad(loss)(weights, images, wanted)
    return value, *adam(weights, gradient, state)


def train_step_by_hand(weights, state, images, wanted):
    """The same without `value_and_grad`: what one would have to derive, and get right."""
    hidden = np.tanh(images @ weights["w1"] + weights["b1"])
    s = hidden @ weights["w2"] + weights["b2"]
    s = s - s.max(axis=1, keepdims=True)
    e = np.exp(s)
    total = e.sum(axis=1, keepdims=True)
    value = np.mean(np.log(total[:, 0]) - (s * wanted).sum(axis=1))
    ds = (e / total - wanted) / len(images)
    dhidden = (ds @ weights["w2"].T) * (1 - hidden * hidden)
    gradient = {"w1": images.T @ dhidden, "b1": dhidden.sum(axis=0)}
    gradient |= {"w2": hidden.T @ ds, "b2": ds.sum(axis=0)}
    return value, *adam(weights, gradient, state)


# --------------------------------------------------------------------- training, and what it gives


@transpile.jit
def read(weights, images):
    return scores(weights, images).argmax(axis=1)


def main():
    random = np.random.default_rng(0)
    images, digits, test_images, test_digits = data(random)
    wanted = np.eye(10)[digits]
    weights, state = start(random)
    step = transpile.jit(train_step, donate_argnums=(0, 1))

    print(f"{len(images)} images to learn from, {len(test_images)} to be tested with\n")
    print("epoch    loss   accuracy on the test images")
    for epoch in range(1, EPOCHS + 1):
        order, losses = random.permutation(len(images)), []
        for k in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[k : k + BATCH]
            value, weights, state = step(weights, state, images[chosen], wanted[chosen])
            losses.append(value)
        if epoch == 1 or epoch % 4 == 0:
            accuracy = np.mean(read(weights, test_images) == test_digits)
            print(f"{epoch:5}{np.mean(losses):9.4f}{accuracy:9.1%}")

    show_mistakes(test_images, test_digits, read(weights, test_images))
    compare(step, images[:BATCH], wanted[:BATCH])


def data(random):
    """Images as rows of 64 numbers between 0 and 1, and their digits: four fifths to learn from."""
    digits = load_digits()
    order = random.permutation(len(digits.target))
    images, labels = digits.data[order] / 16, digits.target[order]
    count = len(labels) * 4 // 5
    return images[:count], labels[:count], images[count:], labels[count:]


def start(random):
    """Random weights, and an Adam that has seen nothing."""
    weights = {
        "w1": random.normal(0, 1 / 8, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(0, HIDDEN**-0.5, (HIDDEN, 10)),
        "b2": np.zeros(10),
    }
    zeros = [{name: np.zeros_like(w) for name, w in weights.items()} for _ in range(2)]
    return weights, {"mean": zeros[0], "square": zeros[1], "count": np.zeros(())}


def show_mistakes(images, digits, seen, room=8):
    """Pictures of the first that were misread."""
    wrong = np.flatnonzero(seen != digits)
    print(f"\n{len(wrong)} misread\n")
    pictures = [picture(images[k]) for k in wrong[:room]]
    print("".join(f"{f'{digits[k]}, not {seen[k]}':12}" for k in wrong[:room]).rstrip())
    for line in zip(*pictures, strict=True):
        print("".join(f"{part:12}" for part in line).rstrip())


def picture(image):
    return ["".join(" .:*#"[int(4 * ink + 0.5)] for ink in row) for row in image.reshape(8, 8)]


def compare(step, images, wanted, rounds=200):
    """Both steps go the same way from the same start; how far apart they end, and their times."""
    ends, times = [], []
    for taken in (step, train_step_by_hand):
        weights, state = start(np.random.default_rng(1))
        seconds = []
        for _ in range(rounds):
            begin = time.perf_counter()
            _, weights, state = taken(weights, state, images, wanted)
            seconds.append(time.perf_counter() - begin)
        ends.append(weights)
        times.append(min(seconds) * 1e6)
    apart = max(np.abs(ends[0][name] - w).max() for name, w in ends[1].items())
    print(f"\n{rounds} steps from the same start end {apart:.0e} from those of NumPy by hand")
    fastest = f"compiled {times[0]:.0f}, NumPy {times[1]:.0f} microseconds"
    print(f"the fastest of these steps, on {BATCH} images: {fastest}")


if __name__ == "__main__":
    main()
