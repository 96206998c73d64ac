"""`python -m transpile cache warm`: what programs share is there before the first of them."""

import numpy as np
import pytest
from thorough import thorough

import transpile
from transpile.__main__ import main
from transpile.command_line import warm
from transpile.disk_cache.cache import default_cache


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def shared(cache):
    """What is in a cache besides programs, and when it was built."""
    return {p.name: p.stat().st_ino for p in cache.iterdir() if p.name.startswith("transpile_")}


def test_a_first_call_finds_what_it_would_wait_for(own_cache, monkeypatch, capsys):
    monkeypatch.setattr(warm, "_DTYPES", (("float32", ((np.sort, ((5000,),)),)),))
    assert main(["cache", "warm"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("sort of float32")
    before = shared(own_cache)
    assert any(name.startswith("transpile_sort_u32") for name in before)
    x = np.random.default_rng(0).random((3, 7000), np.float32)
    np.testing.assert_array_equal(transpile.jit(lambda x: np.sort(-x))(x), np.sort(-x))
    assert shared(own_cache) == before


def test_without_a_cache_it_says_so(own_cache, capsys):
    own_cache.write_text("a file")
    assert main(["cache", "warm"]) == 1
    assert "cannot be used" in capsys.readouterr().err


@thorough
def test_everything_is_compiled_once(own_cache, capsys):
    for _ in range(2):
        assert main(["cache", "warm"]) == 0
        programs = len(default_cache().entries())
        names = {name.split("-")[0] for name in shared(own_cache)}
        transforms = ("fft_complex_alone_c64", "fft_hermitian_together_c64")
        for helper in ("threads", "matmul_f64", "sort_u64", *transforms, "conv_planes_f32"):
            assert f"transpile_{helper}" in names
    assert programs == len(default_cache().entries()) > 20
