"""Planners of the kernels in `runtime_c/`: products, convolutions, Fourier transforms."""
