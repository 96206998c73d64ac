"""Elementary functions in Numba that LLVM makes vectors of: polynomials, for finite arguments.

The Numba of PyPI has no vectors of elementary functions (they need an llvmlite made for Intel's
SVML), and calls the scalar functions of the C library. These are up to four times as fast. Nor has
it multiplications and additions in one, which `CONTRACTED` allows.
"""

import math

import numpy as np
from numba import njit

f32, i32, u32 = np.float32, np.int32, np.uint32
CONTRACTED = {"fastmath": {"contract"}}


@njit(**CONTRACTED)
def exp32(x):
    """e**x, after Cephes: a power of two times a polynomial."""
    x = min(max(x, f32(-87.3)), f32(88.7))
    power = np.floor(x * f32(1.44269504) + f32(0.5))
    rest = x - power * f32(0.693359375) - power * f32(-2.12194440e-4)
    p = f32(1.9875691500e-4)
    p = p * rest + f32(1.3981999507e-3)
    p = p * rest + f32(8.3334519073e-3)
    p = p * rest + f32(4.1665795894e-2)
    p = p * rest + f32(1.6666665459e-1)
    p = p * rest + f32(5.0000001201e-1)
    p = p * rest * rest + rest + f32(1)
    return p * i32((i32(power) + i32(127)) << i32(23)).view(np.float32)


@njit(**CONTRACTED)
def sin32(x):
    """sin(x) for |x| of a few thousand at most: of the rest after multiples of pi."""
    turns = np.floor(x * f32(1 / math.pi) + f32(0.5))
    rest = x - turns * f32(3.140625) - turns * f32(9.67502593994140625e-4)
    rest = rest - turns * f32(1.509957990978376432e-7)
    square = rest * rest
    p = f32(2.7557319e-6)
    p = p * square - f32(1.98412698e-4)
    p = p * square + f32(8.3333333e-3)
    p = p * square - f32(1.66666667e-1)
    sine = p * square * rest + rest
    return -sine if i32(turns) & i32(1) else sine


@njit(**CONTRACTED)
def exp64(x):
    """e**x, after Cephes: a power of two times a rational function."""
    x = min(max(x, -708.0), 709.0)
    power = np.floor(x * 1.4426950408889634 + 0.5)
    rest = x - power * 6.93145751953125e-1 - power * 1.42860682030941723212e-6
    z = rest * rest
    p = (1.26177193074810590878e-4 * z + 3.02994407707441961300e-2) * z + 1
    q = (3.00198505138664455042e-6 * z + 2.52448340349684104192e-3) * z
    q = (q + 2.27265548208155028766e-1) * z + 2
    scale = np.int64((np.int64(power) + 1023) << 52).view(np.float64)
    return (1 + 2 * p * rest / (q - p * rest)) * scale


@njit(**CONTRACTED)
def log64(x):
    """log(x) of normal numbers: of the power of two, and the series of 2 artanh."""
    bits = np.float64(x).view(np.int64)
    power = (bits - 0x3FE6A09E667F3BCD) >> 52  # the mantissa is around 1
    mantissa = np.int64(bits - (power << 52)).view(np.float64)
    t = (mantissa - 1) / (mantissa + 1)
    z = t * t
    p = 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    return power * math.log(2) + 2 * (t + t * z * p)
