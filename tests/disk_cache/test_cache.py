import contextlib
import errno
import logging
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

import pytest
from thorough import one_in, thorough

from transpile.disk_cache import cache as cache_module
from transpile.disk_cache import cache_files as directories
from transpile.disk_cache import process_directory
from transpile.disk_cache.cache import Cache, default_cache, key
from transpile.disk_cache.cache_entry import DamagedError
from transpile.disk_cache.cache_ownership import owned
from transpile.disk_cache.file_locks import locked
from transpile.disk_cache.process_directory import temporary_directory
from transpile.errors import CacheWarning

PARTS = {"program": "int f(void);", "flags": "-O3"}
SOURCE = """__attribute__((visibility("default"))) int twice(int x);
int twice(int x) { return 2 * x; }
"""
# A program for another process: argv is the cache directory, a log of the builds, and a file that
# it waits for, so that all processes start together.
BUILDER = f"""
import os, sys, time
from pathlib import Path
from transpile.build import toolchain
from transpile.disk_cache import cache
from transpile.options import Options

directory, log, start = map(Path, sys.argv[1:4])

def build(into):
    with open(log, "a") as file:
        file.write("built\\n")
    (into / "program.c").write_text({SOURCE!r})
    compiler = toolchain.find_compiler(Options())
    flags = toolchain.flags(compiler, Options())
    text = toolchain.build_shared(compiler, into / "program.c", into / "program.so", flags)
    (into / "build.log").write_text(text)
    if "slow" in sys.argv:
        (log.parent / "half").touch()
        time.sleep(60)

print("ready", flush=True)
while not start.exists():
    time.sleep(0.001)
entry = cache.Cache(directory).get_or_build("twice", {PARTS!r}, build)
assert entry.path("program.so").stat().st_size
"""


def start_builder(tmp_path, *arguments):
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            BUILDER,
            tmp_path / "cache",
            tmp_path / "log",
            tmp_path / "start",
            *list(arguments),
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path / "cache")},
    )


def wait_for(path, process=None):
    limit = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < limit and (process is None or process.poll() is None)
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_module, "_default", None)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def folder(tmp_path):
    """A descriptor of a directory for locks."""
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield handle
    os.close(handle)


class Builder:
    """A builder that counts how often it ran; `text` is the contents of its program.so."""

    def __init__(self, text="machine code"):
        self.text, self.count = text, 0

    def __call__(self, directory):
        self.count += 1
        (directory / "program.c").write_text("int f(void);")
        (directory / "program.so").write_text(self.text)


def fork(function):
    """Run `function` in a forked child; its exit status is returned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests' threads, Python 3.12
        child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def as_ordinary_user(function):
    """Run `function` in a child that file permissions apply to, whoever runs the tests."""

    def drop_and_run():
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        function()

    return fork(drop_and_run)


@contextlib.contextmanager
def directory_of_ordinary_user():
    """A temporary directory that `as_ordinary_user` owns; pytest's are closed to others."""
    path = Path(tempfile.mkdtemp())
    try:
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        yield path
    finally:
        subprocess.run(["chmod", "-R", "u+w", path], check=True)
        shutil.rmtree(path)


# -- building and finding --------------------------------------------------------------------------


def test_get_or_build_builds_once(cache):
    build = Builder()
    assert cache.get("f", PARTS) is None
    entry = cache.get_or_build("f", PARTS, build)
    again = cache.get_or_build("f", PARTS, build)
    assert build.count == 1 and entry == again == cache.get("f", PARTS)
    assert entry.directory == cache.directory / f"f-{key(PARTS)}" and cache.path == cache.directory
    assert entry.path("program.so").read_text() == "machine code"
    assert entry.name == "f" and entry.key == key(PARTS)
    assert entry.meta["ingredients"] == PARTS
    assert cache.get_or_build("f", {**PARTS, "flags": "-O2"}, build) != entry and build.count == 2


def test_everything_is_private_even_with_a_permissive_umask(cache):
    before = os.umask(0)
    try:
        cache.get_or_build("f", PARTS, Builder())
    finally:
        os.umask(before)
    for path in [cache.directory, *cache.directory.rglob("*")]:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert cache.get("f", PARTS) is not None


def test_equal_programs_have_equal_bytes(tmp_path):
    long = {**PARTS, "graph": "x" * 10_000}
    directories = [
        Cache(tmp_path / name).get_or_build("f", long, Builder()).directory for name in "ab"
    ]
    names = sorted(os.listdir(directories[0]))
    assert names == ["meta.json", "program.c", "program.so"]
    for name in names:
        assert (directories[0] / name).read_bytes() == (directories[1] / name).read_bytes()
    assert len((directories[0] / "meta.json").read_bytes()) < 2000


def test_a_builder_may_leave_fields_in_meta(cache):
    def build(directory):
        (directory / "meta.json").write_text('{"declarations": "int f(void);", "key": "mine"}')

    entry = cache.get_or_build("f", PARTS, build)
    assert entry.meta["declarations"] == "int f(void);" and entry.meta["key"] == key(PARTS)


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, KeyboardInterrupt])
def test_a_failed_build_leaves_nothing_behind(cache, error):
    def build(directory):
        (directory / "program.c").write_text("half")
        raise error("mine")

    with pytest.raises(error, match="mine"):
        cache.get_or_build("f", PARTS, build)
    assert sorted(os.listdir(cache.directory)) == ["CACHEDIR.TAG", "building", "locks"]
    assert not os.listdir(cache.directory / "building") + os.listdir(cache.directory / "locks")
    cache.get_or_build("f", PARTS, Builder())


def test_eight_processes_build_once(tmp_path):
    builders = [start_builder(tmp_path) for _ in range(8)]
    for builder in builders:
        assert builder.stdout.readline() == b"ready\n"
    (tmp_path / "start").touch()
    for builder in builders:
        with builder:
            builder.stdout.read()
        assert builder.returncode == 0
    assert (tmp_path / "log").read_text() == "built\n"
    assert not os.listdir(tmp_path / "cache" / "locks")


def test_eight_threads_build_once(cache):
    build, barrier, found = Builder(), threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.append(cache.get_or_build("f", PARTS, build))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build.count == 1 and len(found) == 8


def test_a_killed_builder_leaves_nothing_broken(tmp_path, cache):
    (tmp_path / "start").touch()
    with start_builder(tmp_path, "slow") as builder:
        wait_for(tmp_path / "half", builder)
        waiting = start_builder(tmp_path)  # another process waits for the lock of the one that dies
        assert waiting.stdout.readline() == b"ready\n"
        assert os.listdir(cache.directory / "building")
        builder.send_signal(signal.SIGKILL)
        builder.stdout.read()
    with waiting:
        waiting.stdout.read()
    assert waiting.returncode == 0
    assert (tmp_path / "log").read_text() == "built\nbuilt\n"
    assert not os.listdir(cache.directory / "building")
    assert cache.get("twice", PARTS) is not None


def test_a_killed_builder_is_cleaned_up_by_builds_of_other_programs(tmp_path, cache):
    (tmp_path / "start").touch()
    with start_builder(tmp_path, "slow") as builder:
        wait_for(tmp_path / "half", builder)
        cache.get_or_build("f", PARTS, Builder())
        assert os.listdir(cache.directory / "building")  # its owner is alive
        builder.kill()
        builder.stdout.read()
    cache.get_or_build("g", PARTS, Builder())
    assert not os.listdir(cache.directory / "building")


def test_a_forked_child_does_not_hold_on_to_a_lock(tmp_path, cache):
    code = BUILDER.replace("time.sleep(60)", "os.fork(); time.sleep(60)")
    (tmp_path / "start").touch()
    names = [tmp_path / name for name in ("cache", "log", "start")]
    builder = subprocess.Popen(
        [sys.executable, "-c", code, *names, "slow"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path / "cache")},
    )
    try:
        wait_for(tmp_path / "half", builder)
        time.sleep(0.1)  # for the fork
        builder.kill()
        builder.wait()
        built = threading.Thread(
            target=cache.get_or_build, args=("twice", PARTS, Builder()), daemon=True
        )
        built.start()
        built.join(10)
        assert not built.is_alive()
    finally:
        os.killpg(builder.pid, signal.SIGKILL)
        builder.stdout.close()


@pytest.mark.parametrize("times", [0, 1, 2])
def test_what_cannot_be_used_is_built_again_twice(cache, times):
    build = Builder()
    cache.get_or_build("f", PARTS, build)

    def use(entry):
        if build.count <= times:
            raise DamagedError("mine")
        return entry.read("program.so")

    assert cache.obtain("f", PARTS, build, use) == b"machine code"
    assert build.count == times + 1
    assert not os.listdir(cache.directory / "locks") + os.listdir(cache.directory / "building")


def test_what_never_can_be_used_is_an_error(cache):
    def use(entry):
        raise DamagedError("mine")

    build = Builder()
    with pytest.raises(DamagedError, match="mine"):
        cache.obtain("f", PARTS, build, use)
    assert build.count == 2 and cache.entries() == []


def test_an_entry_is_not_evicted_while_it_is_used(tmp_path):
    cache = Cache(tmp_path / "cache")
    others = Cache(tmp_path / "cache", max_bytes=1)

    def use(entry):
        others.get_or_build("g", PARTS, Builder())
        assert others.clear()[0] == 1
        return entry.verify()

    assert cache.obtain("f", PARTS, Builder(), use).path("program.so").exists()
    assert others.clear()[0] == 1


# -- size ------------------------------------------------------------------------------------------


def age(entry, seconds):
    past = time.time() - seconds
    os.utime(entry.directory, (past, past))


def test_the_least_recently_used_entries_go_when_the_cache_is_full(tmp_path):
    cache = Cache(tmp_path / "cache", max_bytes=35_000)
    build = Builder("x" * 10_000)
    entries = [cache.get_or_build(name, PARTS, build) for name in "abc"]
    for entry, seconds in zip(entries, (3000, 2000, 1000), strict=True):
        age(entry, seconds)
    assert cache.get("a", PARTS) is not None  # used again: b is now the oldest
    cache.get_or_build("d", PARTS, build)
    assert sorted(usage.name for usage in cache.entries()) == ["a", "c", "d"]
    fresh = Cache(tmp_path / "cache", max_bytes=1)  # another process, with another limit
    fresh.get_or_build("e", PARTS, build)
    assert [usage.name for usage in fresh.entries()] == ["e"]


def test_an_entry_that_is_being_built_is_not_evicted(tmp_path):
    cache = Cache(tmp_path / "cache", max_bytes=1)
    entry = cache.get_or_build("f", PARTS, Builder())
    with owned(cache.directory) as own, locked(own.locks, entry.directory.name, 0):
        Cache(tmp_path / "cache", max_bytes=1).get_or_build("g", PARTS, Builder())
        assert cache.clear()[0] == 1
        assert cache.get("f", PARTS) == entry


def test_a_lock_excludes_those_who_waited_for_the_one_before(folder):
    waiting = threading.Event()
    order = []

    def wait_then_hold():
        waiting.set()
        with locked(folder, "f", 10) as ours:
            assert ours
            order.append("second")
            with locked(folder, "f", 0) as ours:
                assert not ours
                order.append("third was refused")

    with locked(folder, "f", 0) as ours:
        assert ours
        thread = threading.Thread(target=wait_then_hold)
        thread.start()
        waiting.wait()
        time.sleep(0.05)  # for it to wait on the file that the release is about to remove
    thread.join()
    assert order == ["second", "third was refused"]


def test_a_hit_updates_the_time_of_use_at_most_once_a_minute(cache):
    entry = cache.get_or_build("f", PARTS, Builder())
    for seconds, updated in ((30, False), (120, True), (-120, True)):
        age(entry, seconds)
        before = entry.directory.stat().st_mtime
        cache.get("f", PARTS)
        assert (entry.directory.stat().st_mtime != before) == updated


def test_a_hit_writes_nothing_else(cache):
    cache.get_or_build("f", PARTS, Builder())
    before = {path: path.stat().st_mtime_ns for path in cache.directory.rglob("*")}
    cache.get_or_build("f", PARTS, Builder())
    assert {path: path.stat().st_mtime_ns for path in cache.directory.rglob("*")} == before


# -- directories that cannot be used ---------------------------------------------------------------


def expect_substitute(cache, reason):
    """The program is built in a temporary directory, with one warning that gives the reason."""
    build = Builder()
    with pytest.warns(CacheWarning, match=reason) as caught:
        entry = cache.get_or_build("f", PARTS, build)
    assert len(caught) == 1 and str(cache.directory) in str(caught[0].message)
    assert entry.path("program.so").read_text() == "machine code"
    assert cache.directory not in entry.directory.parents and cache.path == entry.directory.parent
    assert cache.get_or_build("f", PARTS, build) == entry and build.count == 1
    cache.get_or_build("g", PARTS, build)
    cache._substitute.clear()


def test_a_directory_that_cannot_be_made_is_replaced():
    expect_substitute(Cache(Path("/proc/transpile/cache")), "No such file|denied")


def test_a_file_in_the_place_of_the_directory_is_replaced(tmp_path):
    (tmp_path / "cache").touch()
    expect_substitute(Cache(tmp_path / "cache"), "not a directory")


def test_a_directory_of_another_user_is_not_used(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    cache = Cache(tmp_path / "cache")
    cache.get_or_build("f", PARTS, Builder())
    os.chown(cache.directory, 65534, 65534)
    assert cache.get("f", PARTS) is None
    expect_substitute(cache, "belongs to another user")
    with pytest.raises(PermissionError):
        cache.clear()


def test_a_read_only_cache_is_read_and_not_written():
    with directory_of_ordinary_user() as directory:

        def check():
            cache = Cache(directory)
            entry = cache.get_or_build("there", PARTS, Builder())
            age(entry, 1000)
            directory.chmod(0o500)
            for path in (directory / "locks", directory / "building"):
                path.chmod(0o500)
            again = Builder()
            assert Cache(directory).get_or_build("there", PARTS, again) == entry
            assert again.count == 0
            expect_substitute(Cache(directory), "[Dd]enied")
            shutil.rmtree(temporary_directory())  # this child runs no exit handlers

        assert as_ordinary_user(check) == 0


FULL_DISK = f"""
import sys, warnings
from pathlib import Path
from transpile.build import toolchain
from transpile.disk_cache import cache
from transpile.options import Options

def write(directory):
    (directory / "program.so").write_bytes(bytes(3_000_000))

def compile(directory):
    (directory / "program.c").write_text({SOURCE!r})
    compiler = toolchain.find_compiler(Options())
    flags = toolchain.flags(compiler, Options())
    toolchain.build_shared(compiler, directory / "program.c", directory / "program.so", flags)

def compile_meanwhile(directory):
    fill()
    try:
        compile(directory)
    finally:
        filler.unlink()

def fill():
    filler.write_bytes(bytes((2 << 20) - 20_000))  # for the compiler: a source fits, a library no

disk = Path(sys.argv[1])
filler = disk / "filler"
for build in (write, compile_meanwhile, compile):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        entry = cache.Cache(disk / "cache").get_or_build("f", {{}}, build)
        assert entry.path("program.so").stat().st_size, entry
    if build is compile_meanwhile:
        assert not caught
    else:
        assert len(caught) == 1 and "No space left" in str(caught[0].message), caught
    assert disk not in entry.directory.parents
    cache.Cache(entry.directory.parent).clear()
    if build is compile_meanwhile:
        fill()
"""


def on_a_disk_of_two_megabytes(code, disk):
    """Run a program in a process for which there is a small file system at `disk`."""
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = f"mount -t tmpfs -o size=2m none {disk}"
    if (
        shutil.which("unshare") is None
        or subprocess.run([*namespace, "sh", "-c", mount], capture_output=True).returncode
    ):
        pytest.skip("a small file system needs user namespaces")
    words = [*namespace, "sh", "-c", f'{mount} && exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(
        [*words, disk],
        capture_output=True,
        text=True,
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(disk / "cache")},
    )
    assert done.returncode == 0, done.stderr


def test_a_full_disk_is_survived(tmp_path):
    on_a_disk_of_two_megabytes(FULL_DISK, tmp_path)


ALL_DISKS_FULL = """
import errno, os, sys, tempfile, warnings
from pathlib import Path
import numpy as np
import transpile
from transpile.build import compiler_probe

def failure(number=0):
    try:
        transpile.jit(lambda x: np.sin(x) * number)(np.ones(3))
    except OSError as error:
        return error

warnings.simplefilter("ignore")
disk = Path(sys.argv[1])
temporary = disk / "temporary"
temporary.mkdir()
tempfile.tempdir = str(temporary)  # so that no other directory is looked for
filler = disk / "filler"
assert failure() is None
for left in (0, 20_000, 60_000):  # no file, no program, no library fits
    for is_known in (True, False):
        filler.unlink(missing_ok=True)
        size = 2 << 20
        with open(filler, "wb", buffering=0) as file:
            while size >= 4096:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2
        os.truncate(filler, max(0, filler.stat().st_size - left))
        if not is_known:
            compiler_probe._known.clear()
            for known in (disk / "cache").glob("compiler-*"):
                known.unlink()
        error = failure(left + is_known + 1)
        assert error is not None and error.errno == errno.ENOSPC, (left, is_known, error)
        assert type(error) is OSError and "No space left on device" in str(error), error
        assert str(error).count("TRANSPILE_CACHE_DIR") == str(error).count("TMPDIR") == 1, error
"""


def test_where_all_disks_are_full_the_error_says_what_to_do(tmp_path):
    on_a_disk_of_two_megabytes(ALL_DISKS_FULL, tmp_path)


def test_where_no_temporary_directory_can_be_written_the_error_says_what_to_do(monkeypatch):
    def missing():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/x']")

    monkeypatch.setattr(tempfile, "gettempdir", missing)
    monkeypatch.setattr(process_directory, "_temporary", None)
    for make in (process_directory.scratch_directory, process_directory.temporary_directory):
        with pytest.raises(
            FileNotFoundError, match=r"No usable .*TRANSPILE_CACHE_DIR.*TMPDIR"
        ) as e:
            make()
        assert e.value.errno == errno.ENOENT


def test_the_temporary_directory_goes_with_its_process_and_not_with_a_child(tmp_path):
    code = """
import os, sys, warnings
from pathlib import Path
from transpile.disk_cache.cache import Cache

warnings.simplefilter("ignore")
cache = Cache(Path("/proc/transpile"))
entry = cache.get_or_build("f", {}, lambda directory: (directory / "x").touch())
if os.fork() == 0:
    cache.get_or_build("g", {}, lambda directory: (directory / "x").touch())
    sys.exit()  # runs the exit handlers
os.wait()
assert entry.path("x").exists() and cache.get("g", {}) is not None
print(cache.path)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() and not os.path.exists(done.stdout.strip())


# -- the default cache -----------------------------------------------------------------------------


def test_default_cache_follows_the_environment(monkeypatch, tmp_path):
    first = default_cache()
    assert first.directory == tmp_path / "cache" and first.max_bytes == 1 << 30
    assert default_cache() is first
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("TRANSPILE_CACHE_MAX_BYTES", "1000")
    assert default_cache().directory == tmp_path / "other" and default_cache().max_bytes == 1000
    monkeypatch.setenv("TRANSPILE_CACHE_MAX_BYTES", "1 GB")
    with pytest.raises(ValueError, match="1 GB"):
        default_cache()


def test_default_cache_works_without_a_home(monkeypatch):
    monkeypatch.delenv("TRANSPILE_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr(directories, "is_checkout", lambda: False)
    with pytest.warns(CacheWarning, match="HOME is not set"):
        cache = default_cache()
    assert default_cache() is cache
    assert cache.get_or_build("f", PARTS, Builder()).path("program.so").exists()
    cache.clear()


# -- what the command line shows -------------------------------------------------------------------


def test_entries_and_show(cache):
    assert cache.entries() == [] and cache.show("f") == [] and cache.clear() == (0, 0)
    first = cache.get_or_build("f", PARTS, Builder())
    second = cache.get_or_build("f", {**PARTS, "x": "1"}, Builder())
    other = cache.get_or_build("f_2", PARTS, Builder())
    for seconds, entry in enumerate((first, other, second)):
        age(entry, seconds * 100)
    usages = cache.entries()
    assert [usage.directory for usage in usages] == [
        entry.directory for entry in (first, other, second)
    ]
    files = list(first.directory.iterdir())
    assert usages[0].size == sum(file.stat().st_size for file in files)
    assert abs(usages[2].last_used - time.time() + 200) < 60
    assert abs(usages[2].created - time.time()) < 60
    assert {entry.key for entry in cache.show("f")} == {first.key, second.key}
    assert cache.show(first.directory.name[:12]) == [first] and cache.show("g") == []


def test_clear_removes_what_the_cache_made_and_nothing_else(cache):
    cache.get_or_build("f", PARTS, Builder())
    cache.get_or_build("g", PARTS, Builder())
    size = sum(usage.size for usage in cache.entries())
    (cache.directory / "README.md").write_text("mine")
    (cache.directory / "my-directory").mkdir()
    (cache.directory / "compiler-0123456789abcdef.json").touch()
    (cache.directory / "locks" / f"f-{key(PARTS)}.lock").touch()
    (cache.directory / "building" / f"h-{key(PARTS)}.01234567").mkdir()
    assert cache.clear() == (2, size)
    left = sorted(str(path.relative_to(cache.directory)) for path in cache.directory.rglob("*"))
    assert left == ["CACHEDIR.TAG", "README.md", "building", "locks", "my-directory"]


def test_explain_names_the_ingredients_that_differ(cache, caplog):
    assert "first program of that name" in cache.explain("f", PARTS)
    long = {**PARTS, "graph": "x" * 1000}
    with caplog.at_level(logging.DEBUG, "transpile.cache"):
        cache.get_or_build("f", long, Builder())
        cache.get_or_build("f", {**long, "graph": "y" * 1000}, Builder())
        cache.get_or_build("f", long, Builder())
    assert f"differs from f-{key(long)} in graph" in caplog.text
    assert f"hit: f-{key(long)}" in caplog.text
    changed = {"program": "", "graph": "y" * 1000, "target": "x"}
    assert cache.explain("f", changed).endswith("in flags, program, target")


NO_EXECUTION = """
import sys, warnings
import numpy as np
import transpile
x = np.linspace(0, 1, 300_000)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for k in (1, 2):
        f = transpile.jit(lambda x: np.exp(x) * k)  # parallel: with the library of threads
        assert np.allclose(f(x), np.exp(x) * k)
print(*(warning.message for warning in caught), sep="\\n")
"""


@pytest.mark.parametrize("where", ["cache", "cache and temporary files"])
@one_in(2)
def test_where_no_program_can_be_loaded_from_another_place_is_used(tmp_path, where):
    disk = tmp_path / "disk"
    disk.mkdir()
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o noexec none {disk}"
    if shutil.which("unshare") is None or subprocess.run([*namespace, mount]).returncode:
        pytest.skip("a file system of one's own needs user namespaces")
    environment = {**os.environ, "TRANSPILE_CACHE_DIR": str(disk / "cache")}
    if where != "cache":
        environment["TMPDIR"] = str(disk)
    done = subprocess.run(
        [*namespace, f'{mount} && exec "$@"', "sh", sys.executable, "-c", NO_EXECUTION],
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    (warning,) = done.stdout.splitlines()
    assert f"{disk}/cache cannot be used (its file system is mounted noexec" in warning


def test_clear_leaves_a_file_that_another_process_is_about_to_rename(cache):
    cache.get_or_build("f", PARTS, Builder())
    new, old = (cache.directory / f".CACHEDIR.TAG.{n}" for n in ("0e2ce103", "ffffffff"))
    for path in (new, old):
        path.touch(0o600)
    os.utime(old, (0, 0))
    cache.clear()
    assert new.exists()
    assert not old.exists()


# -- storms ----------------------------------------------------------------------------------------

STORM = """
import sys
from pathlib import Path
from transpile.disk_cache.cache import Cache

cache = Cache(Path(sys.argv[1]), max_bytes=2000)

def run(first, count):
    for n in range(first, first + count):
        contents = f"{n % 7}" * 500
        build = lambda directory: (directory / "program.so").write_text(contents)
        use = lambda entry: entry.read("program.so").decode()
        assert cache.obtain("f", {"n": str(n % 7)}, build, use) == contents

print("ready", flush=True)
sys.stdin.readline()
if sys.argv[2] == "for ever":
    while True:
        run(0, 1000)
run(int(sys.argv[2]), 150)
"""


def start_storm(cache, argument):
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", STORM, str(cache.directory), argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout.readline() == b"ready\n"
    return process


def nothing_is_left(cache):
    cache.get_or_build("last", PARTS, Builder())
    folders = (cache.directory / "building", cache.directory / "locks")
    assert [os.listdir(folder) for folder in folders] == [[], []]


@thorough
def test_nobody_fails_in_a_storm_of_builds_evictions_and_clears(cache):
    processes = [start_storm(cache, str(first)) for first in range(3)]
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.close()
    while any(process.poll() is None for process in processes):
        cache.clear()
        time.sleep(0.01)
    for process in processes:
        process.stdout.close()
        assert process.returncode == 0
    nothing_is_left(cache)


@thorough
def test_killed_processes_leave_nothing_and_nothing_wrong(cache):
    moments = random.Random(3)
    for _ in range(8):
        process = start_storm(cache, "for ever")
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.communicate()
    calm = start_storm(cache, "0")
    calm.communicate(b"\n")
    assert calm.returncode == 0
    nothing_is_left(cache)
