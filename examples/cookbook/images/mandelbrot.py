"""The Mandelbrot set: after how many steps each point leaves, 50 at most."""

import numpy as np

import transpile


@transpile.jit
def mandelbrot(real, imaginary):
    counts = np.zeros((len(imaginary), len(real)), np.int64)
    for j in range(len(imaginary)):
        for i in range(len(real)):
            c = complex(real[i], imaginary[j])
            z = 0j
            n = 0
            while n < 50 and z.real * z.real + z.imag * z.imag < 4:
                z = z * z + c
                n += 1
            counts[j, i] = n
    return counts


def example():
    return np.linspace(-2, 0.5, 60), np.linspace(-1, 1, 40)


if __name__ == "__main__":
    for row in mandelbrot(*example()):
        print("".join(" .:-=+*#%@"[n * 9 // 50] for n in row))
