"""The routines of LAPACK that decompositions call: their arguments, as LAPACK documents them.

Each is for real and for complex matrices, which differ in a few arguments and sometimes in the
name. All arguments are addresses.
"""

from __future__ import annotations

import re

from transpile.util.frozen_records import dataclass

_ARGUMENT = re.compile(r"(\w+) (\*?)(\w+)")


@dataclass(frozen=True)
class Argument:
    """An argument of a routine.

    holds    option: a string of one character; integer; number, of the matrix's dtype; real, of the
             real dtype of its precision; function
    written  whether the routine changes it
    """

    name: str
    holds: str
    written: bool


@dataclass(frozen=True)
class LapackRoutine:
    """A routine, by its name without the letter of the dtype; and its arguments, of which those
    that it writes have a star."""

    name: str
    real: str
    complex: str
    real_name: str = ""
    complex_name: str = ""

    def symbol(self, is_complex: bool) -> str:
        """The name for a dtype."""
        return (self.complex_name if is_complex else self.real_name) or self.name

    def arguments(self, is_complex: bool) -> tuple[Argument, ...]:
        """The arguments for a dtype, without the lengths of strings that Fortran has at the end."""
        text = self.complex if is_complex else self.real
        return tuple(
            Argument(name, holds, bool(star)) for holds, star, name in _ARGUMENT.findall(text)
        )


def _routine(
    name: str, arguments: str, real_name: str = "", complex_name: str = ""
) -> LapackRoutine:
    """A routine whose arguments are the same for all dtypes."""
    return LapackRoutine(name, arguments, arguments, real_name, complex_name)


GETRF = _routine(
    "getrf", "integer m, integer n, number *a, integer lda, integer *ipiv, integer *info"
)
POTRF = _routine("potrf", "option uplo, integer n, number *a, integer lda, integer *info")
TRSM = _routine(
    "trsm",
    "option side, option uplo, option transa, option diag, integer m, integer n, number alpha, "
    "number a, integer lda, number *b, integer ldb",
)
GEQRF = _routine(
    "geqrf",
    "integer m, integer n, number *a, integer lda, number *tau, number *work, integer lwork, "
    "integer *info",
)
ORGQR = _routine(
    "orgqr",
    "integer m, integer n, integer k, number *a, integer lda, number tau, number *work, "
    "integer lwork, integer *info",
    complex_name="ungqr",
)
HEEVD = LapackRoutine(
    "heevd",
    real="option jobz, option uplo, integer n, number *a, integer lda, real *w, number *work, "
    "integer lwork, integer *iwork, integer liwork, integer *info",
    complex="option jobz, option uplo, integer n, number *a, integer lda, real *w, number *work, "
    "integer lwork, real *rwork, integer lrwork, integer *iwork, integer liwork, integer *info",
    real_name="syevd",
)
GEEV = LapackRoutine(
    "geev",
    real="option jobvl, option jobvr, integer n, number *a, integer lda, number *wr, number *wi, "
    "number *vl, integer ldvl, number *vr, integer ldvr, number *work, integer lwork, "
    "integer *info",
    complex="option jobvl, option jobvr, integer n, number *a, integer lda, number *w, "
    "number *vl, integer ldvl, number *vr, integer ldvr, number *work, integer lwork, "
    "real *rwork, integer *info",
)
GEES = LapackRoutine(
    "gees",
    real="option jobvs, option sort, function select, integer n, number *a, integer lda, "
    "integer *sdim, number *wr, number *wi, number *vs, integer ldvs, number *work, "
    "integer lwork, integer *bwork, integer *info",
    complex="option jobvs, option sort, function select, integer n, number *a, integer lda, "
    "integer *sdim, number *w, number *vs, integer ldvs, number *work, integer lwork, "
    "real *rwork, integer *bwork, integer *info",
)
GESDD = LapackRoutine(
    "gesdd",
    real="option jobz, integer m, integer n, number *a, integer lda, real *s, number *u, "
    "integer ldu, number *vt, integer ldvt, number *work, integer lwork, integer *iwork, "
    "integer *info",
    complex="option jobz, integer m, integer n, number *a, integer lda, real *s, number *u, "
    "integer ldu, number *vt, integer ldvt, number *work, integer lwork, real *rwork, "
    "integer *iwork, integer *info",
)
