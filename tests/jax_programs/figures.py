"""What the programs give under JAX: JAX_ENABLE_X64=1 python tests/jax_programs/figures.py

Needs JAX, runs every program under it, and writes figures.json: of each result its kind of numbers,
its shape, its norm, and its products with three fixed vectors, enough to tell results apart.
"""

import json
from pathlib import Path

import numpy as np
from loading import NAMES, load

FILE = Path(__file__).parent / "figures.json"
GOLDEN = (1 + 5**0.5) / 2


def figure(array):
    """What is kept of a result."""
    array = np.asarray(array)
    numbers = array.astype(float).ravel()
    places = np.arange(1, numbers.size + 1)
    products = [float(numbers @ np.cos(k * GOLDEN * places)) for k in (1, 2, 3)]
    return [array.dtype.kind, list(array.shape), float(np.linalg.norm(numbers)), *products]


def main():
    found = {
        name: {key: figure(value) for key, value in load(name, "jax").main().items()}
        for name in NAMES
    }
    lines = [
        f' "{name}": {{\n'
        + ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in results.items())
        + "\n }"
        for name, results in found.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
