"""LAPACK's routines: the helpers in C call them with the arguments that they have."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import transpile
from transpile.intrinsics import lapack_routines
from transpile.intrinsics.lapack import DECOMPOSITIONS
from transpile.intrinsics.lapack_routines import LapackRoutine

HELPERS = Path(transpile.__file__).parents[1] / "runtime_c" / "products" / "lapack.h"
ROUTINES = [r for r in vars(lapack_routines).values() if isinstance(r, LapackRoutine)]
# The letters of templates in C that stand for dtypes.
REAL, COMPLEX, BOTH = "F", "CZ", "T"


def calls():
    """Each call in the helpers: the routine, the letter of its dtype, the arguments."""
    text = HELPERS.read_text(encoding="utf-8")
    for name, letter, arguments in re.findall(r"lapack_(\w+)_([A-Z])\((.*?)\);", text, re.DOTALL):
        yield name, letter, arguments.split(",")


@pytest.mark.parametrize(("name", "letter", "arguments"), list(calls()))
def test_a_helper_gives_each_argument_and_the_length_of_each_option(name, letter, arguments):
    (routine,) = [r for r in ROUTINES if r.name == name]
    for is_complex in {BOTH: (False, True), REAL: (False,)}.get(letter, (True,)):
        own = routine.arguments(is_complex)
        options = [a for a in own if a.holds == "option"]
        assert len(arguments) == len(own) + len(options)
        for argument, text in zip(own, arguments, strict=False):
            is_option = '"' in text or text.strip() in ("job", "part")
            assert (argument.holds == "option") == is_option
            if argument.holds == "integer" and not argument.written:
                assert text.strip().startswith("&")
        assert all(text.strip() == "1" for text in arguments[len(own) :])


def test_each_routine_is_called_and_each_decomposition_says_which_it_calls():
    called = {name for name, _, _ in calls()}
    assert called == {r.name for r in ROUTINES}
    assert {r for d in DECOMPOSITIONS for r in d.routines} == set(ROUTINES)


@pytest.mark.parametrize("routine", ROUTINES, ids=lambda r: r.name)
def test_arguments_have_names_of_their_own_and_only_complex_ones_have_real_scratch_memory(routine):
    for is_complex in (False, True):
        arguments = routine.arguments(is_complex)
        names = [a.name for a in arguments]
        assert len(names) == len(set(names)) == len(arguments) >= 5
        assert {a.holds for a in arguments} <= {"option", "integer", "number", "real", "function"}
        assert ("rwork" in names) <= is_complex
        # Leading dimensions follow their matrix, lengths their workspace.
        for name, following in pairwise(names):
            assert not following.startswith("ld") or following == f"ld{name}"
    for is_complex in (False, True):
        text = routine.complex if is_complex else routine.real
        assert len(routine.arguments(is_complex)) == text.count(",") + 1
