"""Training on several devices, each with a part of the data: gradients are averaged by `pmean`.

    python examples/data_parallel.py                  two devices, threads of this process
    mpiexec -n 2 python examples/data_parallel.py     two devices, processes (the extra `mpi`)

Both print the same losses, to the last bit: the devices combine their gradients in one order.
"""

import os

import numpy as np

import transpile
from transpile import lax

if transpile.process_count() == 1:
    os.environ.setdefault("TRANSPILE_NUM_DEVICES", "2")

EXAMPLES, INPUTS, HIDDEN = 4000, 8, 32
RATE, STEPS = 0.2, 300


def data(number):
    """The part of a device: points, and a smooth function of them with a little noise."""
    count = EXAMPLES // transpile.device_count()
    random = np.random.default_rng(7)
    x = random.normal(size=(EXAMPLES, INPUTS))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] / 2 + random.normal(size=EXAMPLES) / 20
    own = slice(number * count, (number + 1) * count)
    return x[own], y[own]


def predicted(params, x):
    hidden = np.tanh(x @ params["w"] + params["b"])
    return hidden @ params["v"]


def step(params, x, y):
    """A step of gradient descent: the same parameters on all devices, before and after it."""

    def loss(params):
        return ((predicted(params, x) - y) ** 2).mean()

    value, gradient = transpile.value_and_grad(loss)(params)
    mean = lax.pmean(gradient, "data")
    params = {name: params[name] - RATE * mean[name] for name in params}
    return params, lax.pmean(value, "data")


def main():
    random = np.random.default_rng(0)
    params = {
        "w": random.normal(size=(INPUTS, HIDDEN)) / np.sqrt(INPUTS),
        "b": np.zeros(HIDDEN),
        "v": random.normal(size=HIDDEN) / np.sqrt(HIDDEN),
    }
    train = transpile.pmap(step, axis_name="data", in_axes=(None, 0, 0), out_axes=None)
    parts = [data(device.id) for device in transpile.local_devices()]
    x, y = (np.stack(arrays) for arrays in zip(*parts, strict=True))
    is_first = transpile.process_index() == 0
    if is_first:
        print(
            f"{transpile.device_count()} devices on {transpile.process_count()} process(es), "
            f"{x.shape[1]} examples each"
        )
        print("step  loss")
    for number in range(STEPS + 1):
        params, loss = train(params, x, y)
        if is_first and number % 50 == 0:
            print(f"{number:4}  {loss:.17f}")


if __name__ == "__main__":
    main()
