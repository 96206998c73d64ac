"""Special functions: elementwise primitives by a C helper each, with a reference implementation in
`transpile.primitives.reference`.

Derivatives are those of jax.lax; where JAX has none, the rule raises.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transpile.ir.primitive import Magnitude, NoRule, Primitive
from transpile.primitives.kinds import elementwise
from transpile.primitives.reference import (
    bessel,
    errors,
    gamma,
    incomplete_beta,
    incomplete_gamma,
    integrals,
)
from transpile.primitives.rules import Rule, apply
from transpile.primitives.special import derivatives as d


def _special(
    name: str,
    meaning: Any,
    *,
    arity: int = 1,
    domain: tuple[float, float] | None = None,
    jvp: Rule | tuple[Rule, ...] | None = None,
    magnitude: Magnitude = math.inf,
    hlo: str = "",
) -> Primitive:
    """Register a special function of real operands, with a C helper of its name."""
    arguments = ", ".join("xyz"[:arity])
    return elementwise(
        name,
        meaning,
        f"{name}({arguments})",
        dtypes="f",
        transcendental=True,
        domain=domain,
        jvp=jvp,
        magnitude=magnitude,
        c_library={"f": name} if name in ("erf", "erfc") else {},
        hlo=hlo,
    )


# ------------------------------------------------------------------------------ error functions
erf = _special(
    "erf",
    errors.erf,
    domain=(-6, 6),
    magnitude=1,
    jvp=lambda t, out, x: t * (np.exp(-np.square(x)) * (2 / math.sqrt(math.pi))),
    hlo="erf",
)
erfc = _special(
    "erfc",
    errors.erfc,
    domain=(-6, 26),
    jvp=lambda t, out, x: t * (np.exp(-np.square(x)) * (-2 / math.sqrt(math.pi))),
)
erf_inv = _special(
    "erf_inv",
    errors.erf_inv,
    domain=(-0.95, 0.95),
    jvp=lambda t, out, x: t * (np.exp(np.square(out)) * (math.sqrt(math.pi) / 2)),
)
ndtri = _special(
    "ndtri",
    errors.ndtri,
    domain=(0.05, 0.95),
    jvp=lambda t, out, p: t * (np.exp(np.square(out) / 2) * math.sqrt(2 * math.pi)),
)

erfcx = _special(
    "erfcx",
    errors.erfcx,
    domain=(-5, 100),
    jvp=lambda t, out, x: t * (2 * x * out - 2 / math.sqrt(math.pi)),
)
dawsn = _special(
    "dawsn", errors.dawsn, domain=(-10, 10), jvp=lambda t, out, x: t * (1 - 2 * x * out)
)

# ------------------------------------------------------------------------------ gamma functions
gamma_function = _special(
    "gamma",
    gamma.gamma,
    domain=(0.05, 30),
    jvp=lambda t, out, x: t * (out * apply("digamma", x)),
)
lgamma = _special(
    "lgamma",
    gamma.lgamma,
    domain=(0.01, 100),
    jvp=lambda t, out, x: t * apply("digamma", x),
)
digamma = _special(
    "digamma",
    gamma.digamma,
    domain=(0.01, 100),
    jvp=lambda t, out, x: t * apply("polygamma", d.constant(1, x), x),
)
polygamma = _special(
    "polygamma",
    gamma.polygamma,
    arity=2,
    domain=(0.5, 100),
    jvp=(
        NoRule("polygamma gradient with respect to m is not supported"),
        lambda t, out, n, x: t * apply("polygamma", n + 1, x),
    ),
)
zeta = _special(
    "zeta",
    gamma.zeta,
    arity=2,
    domain=(1.1, 20),
    jvp=(
        lambda t, out, s, q: t * d.zeta_by_order(s, q),
        lambda t, out, s, q: t * (-s * apply("zeta", s + 1, q)),
    ),
)

# ----------------------------------------------------------------------------- Bessel functions
bessel_i0e = _special(
    "bessel_i0e",
    bessel.bessel_i0e,
    domain=(-20, 20),
    jvp=lambda t, out, x: t * (apply("bessel_i1e", x) - np.sign(x) * out),
)
bessel_i1e = _special("bessel_i1e", bessel.bessel_i1e, domain=(-20, 20), jvp=d.bessel_i1e)

# ----------------------------------------------------------------- incomplete gamma and beta
igamma = _special(
    "igamma",
    incomplete_gamma.igamma,
    arity=2,
    domain=(0.1, 20),
    jvp=(
        lambda t, out, a, x: t * apply("igamma_grad_a", a, x),
        lambda t, out, a, x: t * d.gamma_density(a, x),
    ),
)
igammac = _special(
    "igammac",
    incomplete_gamma.igammac,
    arity=2,
    domain=(0.1, 20),
    jvp=(
        lambda t, out, a, x: t * -apply("igamma_grad_a", a, x),
        lambda t, out, a, x: t * -d.gamma_density(a, x),
    ),
)
igamma_grad_a = _special(
    "igamma_grad_a",
    incomplete_gamma.igamma_grad_a,
    arity=2,
    domain=(0.1, 20),
    jvp=NoRule("the derivative of igamma in its parameter a has no derivative itself"),
)
random_gamma_grad = _special(
    "random_gamma_grad",
    incomplete_gamma.random_gamma_grad,
    arity=2,
    domain=(0.1, 20),
    jvp=NoRule("the derivative of a sample of the gamma distribution has no derivative itself"),
)
_BETAINC = NoRule("Betainc gradient with respect to a and b not supported.")
betainc = _special(
    "betainc",
    incomplete_beta.betainc,
    arity=3,
    domain=(0.1, 0.9),
    jvp=(_BETAINC, _BETAINC, lambda t, out, a, b, x: t * d.beta_density(a, b, x)),
)

# ----------------------------------------------------------------------------------- integrals
expn = _special(
    "expn",
    integrals.expn,
    arity=2,
    domain=(0.1, 20),
    jvp=(
        NoRule("expn has no derivative in its order, which is a whole number"),
        d.expn,
    ),
)
expi = _special("expi", integrals.expi, domain=(0.1, 20), jvp=lambda t, out, x: t * (np.exp(x) / x))
sine_integral = _special(
    "sine_integral",
    integrals.sine_integral,
    domain=(-40, 40),
    jvp=lambda t, out, x: t * np.sinc(x / math.pi),
)
cosine_integral = _special(
    "cosine_integral",
    integrals.cosine_integral,
    domain=(0.5, 40),
    jvp=lambda t, out, x: t * (np.cos(x) / x),
)
fresnel_sine = _special(
    "fresnel_sine",
    integrals.fresnel_sine,
    domain=(-2, 2),
    jvp=lambda t, out, x: t * np.sin(0.5 * math.pi * np.square(x)),
)
fresnel_cosine = _special(
    "fresnel_cosine",
    integrals.fresnel_cosine,
    domain=(-2, 2),
    jvp=lambda t, out, x: t * np.cos(0.5 * math.pi * np.square(x)),
)
spence = _special("spence", integrals.spence, domain=(0.05, 10), jvp=d.spence)
