"""The option `num_threads` holds for every library call, also for a BLAS and LAPACK."""

import json
import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from interrupted import Interrupter
from places import SUPPORT, importing
from thorough import THOROUGH, thorough

import transpile
from transpile.intrinsics.lapack import DECOMPOSITIONS
from transpile.runtime.library_threads import LibraryThreads, limited, of_library
from transpile.symbols.lapack import find_lapack
from transpile.util.interrupt_safety import between

LAPACK = find_lapack(transpile.Options())
OPENBLAS = of_library(LAPACK.library)
needs_openblas = pytest.mark.skipif(OPENBLAS is None, reason=f"{LAPACK.library} has no threads")


def counted(threads, *names):
    """{name: (intrinsics, threads that worked)} of a process with two threads to give."""
    variables = {**importing(), "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, str(SUPPORT / "thread_counts.py"), str(threads), *names]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {name: (called, worked) for name, called, worked in lines}


# One of each library, and of each loop of ours.
SOME = (
    "product",
    "layer",
    "products",
    "long sums",
    "convolution",
    "fft",
    "sort",
    "solve",
    "product, BLAS",
)


@thorough
@pytest.mark.full_level
@pytest.mark.skipif(sys.platform != "linux", reason="no /proc/self/task")
def test_one_thread_is_one_thread_in_every_library_call():
    found = counted(1, *(() if THOROUGH else SOME))
    assert {name: worked for name, (_, worked) in found.items()} == dict.fromkeys(found, 1)
    called = {name for names, _ in found.values() for name in names}
    assert not THOROUGH or called >= {d.__name__ for d in DECOMPOSITIONS}
    assert called >= {"Matmul", "MatmulBatch", "MatmulPanelRows", "Convolve", "Fft", "Sort"}


@thorough
@needs_openblas
@pytest.mark.full_level
@pytest.mark.skipif(sys.platform != "linux", reason="no /proc/self/task")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_two_threads_are_seen_where_a_library_has_them():
    """The count of the test above would find a second thread."""
    found = counted(2, "solve", "product, BLAS")
    assert [worked for _, worked in found.values()] == [2] * 2, found


class Fake:
    """A library with a number of threads."""

    def __init__(self, threads):
        self.threads = threads
        self.log = []
        self.library = LibraryThreads(lambda: self.threads, self.set)

    def set(self, threads):
        self.threads = threads
        self.log.append(threads)


def test_the_last_of_several_calls_gives_back_what_the_library_had():
    fake = Fake(8)
    a, b, c = object(), object(), object()
    fake.library.begin(a, 4)
    fake.library.begin(b, 1)
    fake.library.begin(c, 16)
    assert fake.threads == 1
    fake.library.end(b)
    assert fake.threads == 4
    fake.library.end(a)
    assert fake.threads == 8
    fake.library.end(c)
    fake.library.end(c)
    assert fake.log == [4, 1, 4, 8]


def test_a_call_never_gives_a_library_more_threads():
    fake = Fake(2)
    fake.library.begin("a call", 16)
    fake.library.end("a call")
    assert fake.log == []


def test_what_the_user_sets_between_calls_stays():
    fake = Fake(8)
    for threads in (8, 3):
        fake.threads = threads
        between(lambda: fake.library.begin(1, 1), lambda: None, lambda: fake.library.end(1))
        assert fake.threads == threads


def test_an_interrupt_at_any_moment_leaves_the_number_as_it_was():
    fake, key = Fake(8), object()
    begin, end = partial(fake.library.begin, key, 1), partial(fake.library.end, key)
    for point in range(1000):
        sys.setprofile(Interrupter(point))
        try:
            between(begin, list, end)
        except KeyboardInterrupt:
            continue
        finally:
            sys.setprofile(None)
            assert fake.threads == 8 and not fake.library._asked
        break
    assert 10 < point < 999


def test_a_forked_child_does_not_wait_for_calls_of_threads_that_it_lacks():
    fake = Fake(8)
    other = threading.Thread(target=fake.library.begin, args=("theirs", 1))
    other.start()
    other.join()
    fake.library.begin("ours", 2)
    fake.library.forget_others()
    assert fake.threads == 2
    fake.library.end("ours")
    assert fake.threads == 8


@needs_openblas
def test_programs_of_several_threads_at_once_leave_numpy_its_threads():
    before = OPENBLAS._get()
    x = np.eye(40) * 3
    programs = [
        transpile.jit(np.linalg.inv, compiler_options={"num_threads": n}) for n in (1, 2, 0)
    ]
    problems = []

    def work(program):
        for _ in range(300 if THOROUGH else 50):
            if not np.allclose(program(x), np.eye(40) / 3):
                problems.append(program)

    threads = [threading.Thread(target=work, args=(program,)) for program in programs * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert OPENBLAS._get() == before


@needs_openblas
def test_the_entry_runs_with_the_number_and_errors_give_it_back():
    before, seen = OPENBLAS._get(), []

    def entry(pointers):
        seen.append((pointers, OPENBLAS._get()))
        raise ValueError("in a callback")

    with pytest.raises(ValueError, match="in a callback"):
        limited(entry, [LAPACK.library, LAPACK.library], 1)("pointers")
    assert seen == [("pointers", 1)]
    assert OPENBLAS._get() == before


def test_a_library_without_threads_is_called_as_it_is():
    assert limited(print, ["libm.so.6"], 1) is None
