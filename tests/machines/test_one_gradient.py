"""One gradient for all machines: it is built for each, and run under an emulator.

What a machine needs is installed by `make machines` and `make machines-packages`; a test says what
of it is missing.
"""

import numpy as np
import pytest
from other_machines import PLACES, built, example, gradient, results, ulps

import transpile
from transpile.artifact.provenance import read_provenance

pytestmark = pytest.mark.full_level
# Units in the last place of an array's largest number: sums are added in other orders.
ULPS = 4
# The first bytes of a file: ELF of 64 bits and of 32, PE, Mach-O of 64 bits, WebAssembly.
MAGIC = {
    "linux": b"\x7fELF\x02",
    "none": b"\x7fELF\x01",
    "windows": b"MZ",
    "macos": b"\xcf\xfa\xed\xfe",
    "wasi": b"\0asm",
}


def system_of(place):
    """The operating system of a place."""
    return place.target.split("-")[1] if place.target else "linux"


@pytest.fixture(scope="module")
def expected(shared_cache):
    """The leaves of the arguments, and of what the gradient is here."""
    weights, x, y = arguments = example()
    value, slopes = transpile.jit(gradient)(*arguments)
    leaves = [weights[name] for name in sorted(weights)] + [x, y]
    return leaves, [np.asarray(value)] + [np.asarray(slopes[name]) for name in sorted(slopes)]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_the_gradient_is_the_same_everywhere(place, expected, tmp_path):
    if missing := place.missing(to_run=False):
        pytest.skip(f"not built: {', '.join(missing)} is not installed")
    lowered, paths = built(place, gradient, example(), tmp_path)
    assert paths[0].read_bytes().startswith(MAGIC[system_of(place)])
    assert [path.suffix for path in paths[1:3]] == [".h", ".c"]
    (record,) = read_provenance(paths[0])
    assert record["function"] == "wanted" and record["compiler"].split()[0] in ("gcc", "clang")
    if place.target:
        assert f"target: {place.target}" in (tmp_path / "wanted.h").read_text()
    if missing := place.missing():
        pytest.skip(f"built, not run: {', '.join(missing)} is not installed")
    leaves, want = expected
    got = results(place, lowered, paths, leaves, want)
    assert max(map(ulps, got, want)) <= ULPS
