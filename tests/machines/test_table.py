"""The table of primitives on other machines: every primitive as C, under emulators, and as other
compilers have it here; compared with NumPy."""

import pytest
from other_machines import PLACES, results_of
from primitive_checks import check, numpy_results
from primitive_programs import NAMES, array_program, elementwise_program
from thorough import each

from transpile.ir.types import DTYPES, SHORT_NAMES
from transpile.options import Options
from transpile.runtime.executable import Lowering

BY_NAME = {SHORT_NAMES[d]: d for d in DTYPES}
MAKERS = {"elementwise": elementwise_program, "arrays": array_program}
HERE = (
    "x86-64 Linux, gcc 13",
    "x86-64 Linux, gcc 14",
    "x86-64 Linux, clang",
    "x86-64 Linux, zig",
)
THERE = ("aarch64 Linux, gcc", "riscv64 Linux, gcc")
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]


@pytest.mark.parametrize("where", [*THERE, *HERE])
@pytest.mark.parametrize("kind", MAKERS)
@each("name", NAMES, ("f64",))
def test_primitives_equal_numpy(where, kind, name, tmp_path):
    (place,) = (place for place in PLACES if place.name == where)
    if missing := place.missing():
        pytest.skip(f"{', '.join(missing)} is not installed")
    batch = MAKERS[kind](BY_NAME[name])
    options = Options().replace({**place.settings, "opt_level": 1})
    paths = Lowering(batch.graph(), options).save(tmp_path, "wanted")
    got = results_of(place, paths, batch.values, numpy_results(batch))
    check(batch, got, elsewhere=place.elsewhere)
