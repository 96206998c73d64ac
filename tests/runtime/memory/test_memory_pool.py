"""Large results and workspaces use the memory of earlier ones again, and never of living ones."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import each, thorough

import transpile
from transpile.runtime.memory import pool
from transpile.runtime.memory.pool import LARGE, MemoryPool

FLOAT = np.dtype(np.float64)
COUNT = LARGE // 8


def arrays(keep=8 * LARGE):
    home = MemoryPool(keep)
    return home, lambda count: home.empty((count,), FLOAT, count * 8)


def test_memory_is_used_again_when_the_last_view_has_gone():
    home, empty = arrays()
    first = empty(COUNT)
    address = first.ctypes.data
    view = first[3:7]
    del first
    other = empty(COUNT)
    assert other.ctypes.data != address and home.bytes_kept() == 0
    del view
    assert home.bytes_kept() == LARGE
    assert empty(COUNT - 5).ctypes.data == address  # of about the same size
    assert empty(2 * COUNT).ctypes.data != address


def test_arrays_start_at_a_page_and_are_as_usual():
    _, empty = arrays()
    for count in (COUNT, COUNT + 1, 3 * COUNT + 7):
        array = empty(count)
        assert type(array) is np.ndarray and array.shape == (count,)
        assert array.ctypes.data % 4096 == 0
        assert array.flags.carray and array.flags.writeable
        array[:] = np.arange(count)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), np.arange(count))


def test_what_is_too_much_goes_and_the_size_that_was_not_used_goes_first():
    home, empty = arrays(4 * LARGE)
    three, one = empty(3 * COUNT), empty(COUNT)
    del three
    assert home.bytes_kept() == 3 * LARGE
    del one
    assert home.bytes_kept() == 4 * LARGE
    two = empty(2 * COUNT)
    del two
    assert home.bytes_kept() == 3 * LARGE  # without the three
    huge = empty(5 * COUNT)
    del huge
    assert home.bytes_kept() == 3 * LARGE
    home.release_all()
    assert home.bytes_kept() == 0


def test_nothing_is_kept_where_nothing_may_be():
    home, empty = arrays(0)
    for _ in range(3):
        empty(COUNT)
    assert home.bytes_kept() == 0


@thorough
def test_a_view_that_a_user_makes_of_the_base_gives_nothing_back():
    home, empty = arrays()
    array = empty(COUNT)
    part = array.base[5:]
    del part
    gc.collect()
    assert home.bytes_kept() == 0
    array[:] = 1
    assert array.sum() == COUNT


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=40))
def test_no_two_living_arrays_share_memory(steps):
    _, empty = arrays(6 * LARGE)
    living = {}
    for number, (place, size) in enumerate(steps):
        living.pop(place, None)
        living[place] = (empty(size * COUNT - number), number)
        living[place][0][:] = number
        for array, content in living.values():
            assert array[0] == array[-1] == content


def test_threads_get_memory_of_their_own():
    home, empty = arrays(16 * LARGE)
    wrong = []

    def work(number):
        for turn in range(200):
            array = empty(COUNT)
            array[::4096] = number + turn / 1000
            if not (array[::4096] == number + turn / 1000).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < home.bytes_kept() <= 6 * LARGE


def test_a_function_writes_its_large_result_where_an_earlier_one_was():
    double = transpile.jit(lambda x: x * 2)
    x = np.arange(COUNT, dtype=float)
    for calls in (3, 200):  # by Python, then in C
        first = double(x)
        address = first.ctypes.data
        kept = double(x)
        assert kept.ctypes.data != address
        del first
        assert {double(x).ctypes.data for _ in range(calls)} == {address}
        np.testing.assert_array_equal(kept, 2 * x)
        np.testing.assert_array_equal(double(kept), 4 * x)
        del kept


@pytest.mark.full_level  # the calls take longer than the compiler
def test_a_large_workspace_is_lent_for_the_call():
    transpile.clear_caches()
    twice = transpile.jit(lambda x: np.sort(np.sort(x.T, axis=0).T * x, axis=1).sum(axis=0))
    x = np.arange(1024 * 1024.0).reshape(1024, 1024)  # sorted, which takes least
    expected = np.sort(np.sort(x.T, axis=0).T * x, axis=1).sum(axis=0)
    compiled = twice.trace(x).lower().compile()
    assert compiled.memory_analysis().temp_size_in_bytes > pool.MOST_SPARE
    for _ in range(30):
        np.testing.assert_allclose(twice(x), expected)
    assert compiled.runtime_executable().call.spare is None
    assert pool.MEMORY_POOL.bytes_kept() >= LARGE
    transpile.clear_caches()
    assert pool.MEMORY_POOL.bytes_kept() == 0


@pytest.mark.full_level
def test_programs_with_workspaces_of_like_sizes_share_them():
    """Of 256 KiB and more, up to 16 MiB, too."""
    transpile.clear_caches()
    x, w = np.ones((300, 200)), np.ones((200, 180))
    products = [transpile.jit(lambda x, w, c=c: x @ w + c) for c in range(3)]
    calls = [f.trace(x, w).lower().compile().runtime_executable().call for f in products]
    assert all(LARGE <= call.workspace <= call.room <= pool.MOST_SPARE for call in calls)
    for number, f in enumerate(products):
        for _ in range(3):
            np.testing.assert_array_equal(f(x, w), np.full((300, 180), 200.0 + number))
    (spare,) = calls[0].spare
    assert all(call.spare is calls[0].spare for call in calls)
    assert len(spare) == calls[0].room
    assert spare.ctypes.data % 4096 == 0
    transpile.clear_caches()
    assert calls[0].spare == []


def test_small_workspaces_begin_with_a_cache_line():
    made = [pool.workspace_maker(room)() for room in (1, 64, 4096)]
    assert [len(workspace) for workspace in made] == [1, 64, 4096]
    assert all(workspace.ctypes.data % 64 == 0 for workspace in made)


@pytest.mark.parametrize(
    ("size", "room"),
    [(0, 0), (1, 1), (64, 64), (65, 128), (3 << 20, 4 << 20), (17 << 20, 17 << 20)],
)
def test_room_of_workspaces(size, room):
    assert pool.workspace_room(size) == room


def test_where_nothing_is_to_be_kept_no_large_workspace_is(monkeypatch):
    monkeypatch.setattr(pool.MEMORY_POOL, "most_kept", 0)
    assert pool.MEMORY_POOL.spare(1 << 20) is None
    assert pool.MEMORY_POOL.spare(1 << 10) == []


def test_a_small_or_empty_result_is_an_array_of_its_own():
    assert pool.maker((COUNT - 1,), FLOAT) is None
    assert pool.maker((COUNT, 0), FLOAT) is None
    assert transpile.jit(lambda x: x + 1)(np.zeros(10)).flags.owndata


def test_the_environment_says_how_much_is_kept(monkeypatch):
    double = transpile.jit(lambda x: x * 2)
    x = np.ones(COUNT)
    monkeypatch.setenv("TRANSPILE_RESERVE_BYTES", "0")
    transpile.clear_caches()
    double(x)
    assert pool.MEMORY_POOL.bytes_kept() == 0
    monkeypatch.setenv("TRANSPILE_RESERVE_BYTES", "lots")
    with pytest.raises(ValueError, match="RESERVE_BYTES takes a number of bytes, not 'lots'"):
        transpile.jit(lambda x: x * 3)(x)
    monkeypatch.delenv("TRANSPILE_RESERVE_BYTES")
    transpile.jit(lambda x: x * 4)(x)
    assert pool.MEMORY_POOL.bytes_kept() == LARGE


def test_a_result_lives_on_after_its_function():
    def made():
        return transpile.jit(lambda x: x + 1)(np.zeros(COUNT))

    result = made()
    transpile.clear_caches()
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result.sum() == COUNT


SCARCE = """
import os, resource, sys
import numpy as np
import transpile
from transpile.runtime.memory.pool import MEMORY_POOL

how, = sys.argv[1:]
os.environ["TRANSPILE_CALLS"] = how
f = transpile.jit(lambda x: x + 1)
g = transpile.jit(lambda x: np.sort(x))
small, big = np.zeros(10 << 20), np.zeros(70 << 20)  # 80 and 560 MiB
for function in (f, g):
    function.lower(small).compile(), function.lower(big).compile()
few = np.arange(50_000.0)[::2]
for _ in range(3):
    f(few[:, None])
for _ in range(3):
    f(small)
def limit(room):
    results = [f(small) for _ in range(6)]
    del results
    assert MEMORY_POOL.bytes_kept() > 400 << 20, MEMORY_POOL.bytes_kept()
    now = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (now + (room << 20), resource.RLIM_INFINITY))
limit(200)
assert f(big)[-1] == 1 and MEMORY_POOL.bytes_kept() == 0
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
limit(1)
held = []
try:
    while True:
        held.append(np.empty(1000))
except MemoryError:
    pass
many = [f(few[:, None]) for _ in range(50)]
assert MEMORY_POOL.bytes_kept() == 0 and many[-1][1] == 3
limit_now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (limit_now, resource.RLIM_INFINITY))
try:
    f(big)
except MemoryError:
    print("no more")
"""


@thorough
@pytest.mark.skipif(not os.path.isfile("/proc/self/statm"), reason="there is no /proc to look at")
@each("how", ["python", "c"], ["c"])
def test_what_is_kept_is_given_back_before_memory_is_said_to_be_out(how):
    words = [sys.executable, "-c", SCARCE, how]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "no more\n", done.stderr
