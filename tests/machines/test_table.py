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
# Those whose C library has no accurate functions of complex numbers.
WITHOUT_COMPLEX = ("x86-64 Linux, musl, zig", "x86-64 Windows, gcc", "WebAssembly, zig")
pytestmark = [
    pytest.mark.full_level,
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]


@pytest.mark.parametrize("where", [*THERE, *HERE])
@pytest.mark.parametrize("kind", MAKERS)
@each("name", NAMES, ("f64",))
def test_primitives_equal_numpy(where, kind, name, tmp_path):
    check_table(where, kind, name, tmp_path)


@pytest.mark.parametrize("where", WITHOUT_COMPLEX)
@each("name", ("c64", "c128"), ("c64",))
def test_complex_functions_equal_numpy(where, name, tmp_path):
    check_table(where, "elementwise", name, tmp_path)


def check_table(where, kind, name, directory):
    """Compare the primitives of a kind and a dtype at a place with NumPy."""
    (place,) = (place for place in PLACES if place.name == where)
    if missing := place.missing():
        pytest.skip(f"{', '.join(missing)} is not installed")
    batch = MAKERS[kind](BY_NAME[name])
    options = Options().replace({**place.settings, "opt_level": 1})
    paths = Lowering(batch.graph(), options).save(directory, "wanted")
    got = results_of(place, paths, batch.values, numpy_results(batch))
    check(batch, got, elsewhere=place.elsewhere)
