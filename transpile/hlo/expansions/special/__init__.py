"""Special functions over elementary ones."""

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special import (
    bessel,
    errors,
    gamma,
    incomplete_beta,
    incomplete_gamma,
    integrals,
)

EXPANSIONS: Rules = {
    **bessel.EXPANSIONS,
    **errors.EXPANSIONS,
    **gamma.EXPANSIONS,
    **incomplete_beta.EXPANSIONS,
    **incomplete_gamma.EXPANSIONS,
    **integrals.EXPANSIONS,
}
