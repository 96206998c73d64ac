"""A JAX model in a C program: neither JAX nor Python is there when it runs.

    python examples/jax_model.py

`forecast.mlir` is what JAX printed of a small recurrent network, four units over eight days:

    def forecast(weights, bias, readout, temperatures):
        def step(state, x):
            state = jnp.tanh(weights @ state + bias * x)
            return state, readout @ state

        return jax.lax.scan(step, jnp.zeros(4, jnp.float32), temperatures)[1]

    jax.jit(forecast).lower(...).as_text()

It is read, its numbers are compared with NumPy's, and saved as a C library, which the program of
`forecast.c` calls. The gradient shows that what was a scan in JAX is one again.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import transpile
from transpile.build import toolchain

HERE = Path(__file__).parent
WEIGHTS = np.array(
    [[0.5, -0.2, 0.1, 0.0], [0.3, 0.4, -0.1, 0.2], [0.0, 0.1, 0.6, -0.3], [-0.2, 0.0, 0.2, 0.5]],
    np.float32,
)
BIAS = np.array([0.1, 0.2, -0.1, 0.05], np.float32)
READOUT = np.array([1, -0.5, 0.25, 2], np.float32)
TEMPERATURES = np.arange(10, 18, dtype=np.float32)


def by_hand():
    """The same in NumPy."""
    state, outputs = np.zeros(4, np.float32), []
    for x in TEMPERATURES:
        state = np.tanh(WEIGHTS @ state + BIAS * x)
        outputs.append(READOUT @ state)
    return np.array(outputs)


def from_c(model):
    """What the C program prints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder, "forecast")
        compiler = toolchain.find_compiler(transpile.Options())
        build = [HERE / "forecast.c", "-I.", "-L.", "-l:forecast.so", "-Wl,-rpath,$ORIGIN"]
        subprocess.run([*compiler.command, *build, "-o", "main"], cwd=folder, check=True)
        done = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
    return np.array(done.stdout.split(), np.float32)


def main():
    """Read, compare, ship."""
    text = (HERE / "forecast.mlir").read_text(encoding="utf-8")
    model = transpile.from_stablehlo(text, file_name="forecast.mlir")
    lowered = transpile.jit(model).lower(*model.in_avals)
    arguments = WEIGHTS, BIAS, READOUT, TEMPERATURES
    c = lowered.as_text().splitlines()
    begin = next(k for k, line in enumerate(c) if line.startswith("static void"))
    end = c.index("}", begin)
    print("\n".join(c[begin : end + 1]), end="\n\n")
    expected, found, printed = by_hand(), model(*arguments), from_c(lowered.compile())
    print("day    NumPy  transpile       in C")
    for day, row in enumerate(zip(expected, found, printed, strict=True)):
        print(f"{day:3}{''.join(f'{x:11.6f}' for x in row)}")
    apart = np.abs(np.stack([found, printed]) - expected).max()
    print(f"\nthe model is {apart:.0e} from NumPy's loop at most")
    slope = transpile.grad(lambda readout: model(WEIGHTS, BIAS, readout, TEMPERATURES)[-1])(READOUT)
    print(f"the last output changes with the readout by {' '.join(f'{x:.4f}' for x in slope)}")


if __name__ == "__main__":
    main()
