"""The distributions of `scipy.stats` as rows of a table, each with all of its methods."""

from transpile.scipy.calls.families.bounded import BOUNDED
from transpile.scipy.calls.families.counts import COUNTS
from transpile.scipy.calls.families.family import Family
from transpile.scipy.calls.families.hazards import HAZARDS
from transpile.scipy.calls.families.quantiles import QUANTILES

__all__ = ["FAMILIES", "Family"]

FAMILIES = {
    name: Family(name, row)
    for rows in (HAZARDS, QUANTILES, BOUNDED, COUNTS)
    for name, row in rows.items()
}
