"""Special functions over elementary ones."""

from transpile.hlo.builder import Rules
from transpile.hlo.expansions.special import (
    bessel,
    errors,
    gamma,
    integrals,
)

EXPANSIONS: Rules = {
    **bessel.EXPANSIONS,
    **errors.EXPANSIONS,
    **gamma.EXPANSIONS,
    **integrals.EXPANSIONS,
}
