"""Saved libraries: the files of an earlier `save`, and the processes that use them."""

import ctypes
import errno
import itertools
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from programs import needs

import transpile
from transpile.artifact import Library
from transpile.disk_cache.cache import default_cache
from transpile.util import atomic_files
from transpile.util.atomic_files import replace_files

TABLE = np.linspace(0.0, 1.0, 6000)


def first(x):
    return np.exp(x) * TABLE


def second(x):
    return np.sin(x) + np.cos(x) * np.tanh(x) - TABLE[::-1]


@pytest.fixture(scope="module")
def compiled(shared_cache):
    x = np.ones(6000)
    return [transpile.jit(f).lower(x).compile() for f in (first, second)]


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def call(library, x):
    out = np.empty_like(x)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, out)]
    assert library.step(*pointers, None) == 0
    return out


def test_a_process_that_has_loaded_the_old_library_keeps_it(compiled, tmp_path):
    x = np.linspace(0.0, 2.0, 6000)
    compiled[0].save(tmp_path, "step")
    old = ctypes.CDLL(str(tmp_path / "step.so"))
    np.testing.assert_array_equal(call(old, x), compiled[0](x))
    compiled[1].save(tmp_path, "step")
    np.testing.assert_array_equal(call(old, x), compiled[0](x))
    assert old.step_workspace_size() == 0
    new = ctypes.CDLL(f"{tmp_path}/./step.so")  # for an equal path the loader gives the old one
    np.testing.assert_array_equal(call(new, x), compiled[1](x))


UNLOADING = """
import _ctypes, ctypes, sys, time
n = 400_000
x, out = (ctypes.c_double * n)(*[2.0] * n), (ctypes.c_double * n)()
for _ in range(3):
    library = ctypes.CDLL(sys.argv[1])
    assert library.wave(ctypes.c_int64(n), x, out, None) == 0
    _ctypes.dlclose(library._handle)
    time.sleep(0.01)
print(open("/proc/self/maps").read().count("libgomp") > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_library_with_threads_may_be_unloaded(tmp_path):
    """OpenMP's threads sleep in its library, which was unloaded under them."""
    x = transpile.ShapeDtypeStruct(("n",), float)
    (library, *_) = transpile.jit(lambda x: np.sqrt(x) * 2).lower(x).save(tmp_path, "wave")
    variables = {**os.environ, "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-c", UNLOADING, library]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@needs("gcc")
@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_sources_have_no_warning_beside_sanitizers_which_fold_less(dtype, tmp_path):
    def bits(x, y):
        return x << y, x >> y, np.lcm(x, y), x // y, x % y

    x = transpile.ShapeDtypeStruct(("n",), dtype)
    Library("bits", {"bits": transpile.jit(bits).lower(x, x)}).write(tmp_path, source_only=True)
    words = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=undefined")
    command = ["gcc", *words, "-fsyntax-only", "bits.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_reader_has_the_old_file_or_the_new_one_and_never_a_part(compiled, tmp_path):
    compiled[0].save(tmp_path, "step")
    names = ["step.bin", "step.c", "step.h", "step.so"]
    before = contents(tmp_path)
    with ExitStack() as stack:
        opened = [stack.enter_context((tmp_path / name).open("rb")) for name in names]
        compiled[1].save(tmp_path, "step")
        assert {name: f.read() for name, f in zip(names, opened, strict=True)} == before
    after = contents(tmp_path)
    assert sorted(after) == names and after["step.bin"] != before["step.bin"]


def test_a_full_disk_leaves_the_files_of_the_earlier_save(compiled, tmp_path):
    """Each file of the set is at some limit the first that is too long."""
    place, sizes = tmp_path / "place", tmp_path / "sizes"
    compiled[0].save(place, "step")
    before = contents(place)
    new = {path.stat().st_size for path in compiled[1].save(sizes, "step")}
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, *(size - 1 for size in sorted(new))):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, allowed[1]))
        try:
            with pytest.raises(OSError) as caught:
                compiled[1].save(place, "step")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
        assert caught.value.errno == errno.EFBIG
        assert contents(place) == before
    compiled[1].save(place, "step")
    assert contents(place) == contents(sizes)


OLD = {"a.bin": b"old bin", "a.c": b"old c", "a.so": b"old so" * 1000}
NEW = {"a.bin": b"new bin", "a.c": b"new c", "a.h": b"new h", "a.so": b"new so" * 2000}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of the file that was being opened
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_leaves_the_old_files_or_the_new_ones(tmp_path):
    """An interrupt is raised before each line in turn, until a save has come to its end."""
    outcomes = []
    for number in itertools.count(1):
        place = tmp_path / str(number)
        replace_files(place, OLD)
        count = itertools.count(1)

        def trace(frame, event, _, number=number, count=count):
            if frame.f_code.co_filename != atomic_files.__file__:
                return None
            if event == "line" and next(count) == number:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            replace_files(place, NEW)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        named = {path.name: path for path in place.iterdir()}
        aside = [name for name in named if name.startswith(".")]
        now = {name: path.read_bytes() for name, path in named.items() if name not in aside}
        assert now in (OLD, NEW)
        outcomes.append((now == NEW, bool(aside)))
    assert contents(place) == NEW
    # Before the first rename or after the last; only at the removal itself something stays aside.
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome[0])
    assert len(outcomes) > 40 and sum(aside for _, aside in outcomes) <= 1


def test_a_killed_process_leaves_whole_files(tmp_path):
    versions = [{name: bytes([n]) * 400_000 for name in NEW} for n in (1, 2)]
    replace_files(tmp_path, versions[0])
    for delay in (0.01, 0.02, 0.03, 0.04):
        child = os.fork()
        if not child:
            for version in itertools.cycle(versions):
                replace_files(tmp_path, version)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for name in NEW:
            assert (tmp_path / name).read_bytes() in (versions[0][name], versions[1][name])


def test_replaced_files_hand_on_their_permissions_and_links_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("ten years of work")
    place = tmp_path / "place"
    replace_files(place, OLD)
    (place / "a.so").chmod(0o750)
    (place / "a.h").symlink_to(victim)
    mask = os.umask(0o027)
    try:
        paths = replace_files(place, NEW)
    finally:
        os.umask(mask)
    assert victim.read_text() == "ten years of work"
    assert paths == [place / name for name in NEW] and contents(place) == NEW
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in paths}
    assert modes["a.so"] == 0o750 and modes["a.h"] == 0o640


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path):
    name = "a" * 252 + ".so"
    replace_files(tmp_path, {name: b"1"})
    assert replace_files(tmp_path, {name: b"2"})[0].read_bytes() == b"2"
    with pytest.raises(OSError, match="too long"):
        replace_files(tmp_path, {name: b"3", "b" + name: b"3"})
    assert contents(tmp_path) == {name: b"2"}


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_not_replaced(tmp_path, kind):
    replace_files(tmp_path, OLD)
    (tmp_path / "a.so").unlink()
    (os.mkdir if kind == "directory" else os.mkfifo)(tmp_path / "a.so")
    with pytest.raises(FileExistsError, match=r"a\.so is not a file"):
        replace_files(tmp_path, NEW)
    assert (tmp_path / "a.c").read_bytes() == OLD["a.c"]
    assert sorted(os.listdir(tmp_path)) == sorted(OLD)


def test_threads_that_save_at_once_leave_whole_files(compiled, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(compiled[n % 2].save, tmp_path, "step") for n in range(40)]:
            done.result()
    now = contents(tmp_path)
    expected = []
    for n, one in enumerate(compiled):
        one.save(tmp_path / str(n), "step")
        expected.append(contents(tmp_path / str(n)))
    assert sorted(now) == sorted(expected[0])
    for name, data in now.items():
        assert data in (expected[0][name], expected[1][name])


def test_programs_can_be_saved_and_read_after_the_cache_has_evicted_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))  # others use that of the run
    x = np.ones(300_000)  # with parallel loops, which are built anew to be saved
    one = transpile.jit(lambda x: np.tanh(x) + 0.123).lower(x).compile()
    text, size = one.as_text(), one.memory_analysis().generated_code_size_in_bytes
    expected = {path.name: path.read_bytes() for path in one.save(tmp_path / "before", "f")}
    default_cache().clear()
    assert {path.name: path.read_bytes() for path in one.save(tmp_path / "after", "f")} == expected
    default_cache().clear()
    assert one.as_text() == text and "ret" in one.as_text("asm")
    assert one.memory_analysis().generated_code_size_in_bytes == size


def test_a_name_that_is_no_text_is_refused(tmp_path):
    compiled = transpile.jit(np.sin).lower(np.ones(3)).compile()
    with pytest.raises(TypeError, match="the name of a saved program is a str, not 3"):
        compiled.save(tmp_path, 3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", ".", "a/b", "a b", "1a", "ä"])
def test_a_name_that_is_no_identifier_is_refused(name, tmp_path):
    lowered = transpile.jit(lambda x: x + 1).lower(1.0)
    for stage in (lowered, lowered.compile()):
        with pytest.raises(ValueError, match=f"{name!r}, is not a C identifier; '.+' would do"):
            stage.save(tmp_path, name)
    assert not list(tmp_path.iterdir())
