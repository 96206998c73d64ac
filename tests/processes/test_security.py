"""What docs/security.md says of the cache: nothing that is planted there is believed, and nothing
that the cache did not write is removed."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import thorough

from transpile.disk_cache.cache import Cache, key
from transpile.disk_cache.cache_entry import DamagedError
from transpile.disk_cache.cache_files import others_can_replace
from transpile.disk_cache.cache_ownership import owned
from transpile.errors import CacheWarning
from transpile.runtime import loader

ROOT = Path(__file__).parents[2]
PARTS = {"program": "int f(void);"}
NAME = f"f-{key(PARTS)}"
OTHER = "thesis-0123456789abcdef0123"
MARKER = b"Signature: 8a477f597d28d172789f06886806bc55\n"
CALL = """
import sys
import numpy as np
import transpile
x = np.linspace(0, 1, 10)
assert np.array_equal(transpile.jit(lambda x: np.sort(x) + 1)(x), x + 1)
print("right")
"""


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def build(directory):
    (directory / "program.c").write_text("int f(void);")
    (directory / "program.so").write_text("machine code")


def call(directory, **environment):
    """A process that calls a function; (its output, its warnings of the cache)."""
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        env={**os.environ, "TRANSPILE_CACHE_DIR": str(directory), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip(), done.stderr.count("CacheWarning")


def state(directory):
    """Every name below a directory, with its mode and its contents or where it leads."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            found[path] = status.st_mode, path.read_bytes()
        else:
            link = os.readlink(path) if path.is_symlink() else None
            found[path] = status.st_mode, link
    return found


def must_be_root():
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")


# -- directories that are not the cache's ----------------------------------------------------------


def plan_files(directory):
    (directory / "building" / "floor_plans").mkdir(parents=True)
    (directory / "building" / "floor_plans" / "house.dwg").write_text("ten years of work")
    return "building/floor_plans"


def plan_file(directory):
    (directory / "notes.txt").write_text("mine")
    return "notes.txt"


def plan_link(directory):
    (directory.parent / "home").mkdir()
    (directory.parent / "home" / "thesis").mkdir()
    (directory / "building").symlink_to(directory.parent / "home")
    return "building is not a directory"


def plan_other_cache(directory):
    (directory / "CACHEDIR.TAG").write_bytes(MARKER + b"# made by another program\n")
    return "CACHEDIR.TAG is not transpile's"


def plan_alike(directory):
    (directory / OTHER).mkdir()
    (directory / OTHER / "chapter1.tex").write_text("...")
    return OTHER


def plan_lock(directory):
    (directory / "locks").mkdir()
    (directory / "locks" / "front-door").write_text("1234")
    return "locks/front-door"


@pytest.mark.parametrize(
    "plan", [plan_files, plan_file, plan_link, plan_other_cache, plan_alike, plan_lock]
)
def test_a_directory_that_is_not_the_caches_is_refused_as_it_is(tmp_path, plan):
    cache = Cache(tmp_path / "cache")
    cache.directory.mkdir()
    named = plan(cache.directory)
    before = state(tmp_path)
    with pytest.warns(CacheWarning, match=named) as caught:
        entry = cache.get_or_build("f", PARTS, build)
    assert len(caught) == 1 and cache.directory not in entry.directory.parents
    with pytest.raises(OSError, match=named):
        cache.clear()
    assert state(tmp_path) == before
    assert cache.get_or_build("f", PARTS, build) == entry
    cache._substitute.clear()


def test_a_refused_directory_gets_nothing_of_a_whole_call(tmp_path):
    # Neither what is known of the compiler, nor transpile's digest, nor its module for calls.
    plan_files(tmp_path)
    before = state(tmp_path)
    assert call(tmp_path) == ("right", 1)
    assert state(tmp_path) == before


@pytest.mark.parametrize("mode", [0o1777, 0o2775, 0o777])
def test_a_directory_open_to_others_keeps_its_permissions_and_is_not_used(cache, mode):
    cache.directory.mkdir()
    cache.directory.chmod(mode)
    with pytest.warns(CacheWarning, match=f"mode {mode:o}.*chmod go-w"):
        cache.get_or_build("f", PARTS, build)
    assert state(cache.directory) == {cache.directory: (stat.S_IFDIR | mode, None)}
    cache._substitute.clear()


def test_an_empty_directory_is_marked_and_a_marked_one_may_hold_other_things(cache):
    cache.directory.mkdir()
    (cache.directory / ".gitignore").write_text("*")
    cache.get_or_build("f", PARTS, build)
    assert (cache.directory / "CACHEDIR.TAG").read_bytes().startswith(MARKER)
    plan_files(cache.directory)
    plan_alike(cache.directory)
    (cache.directory / "building" / f"{OTHER}.01234567" / "figures").mkdir(parents=True)
    (cache.directory / OTHER.replace("thesis", "book") / "part1").mkdir(parents=True)
    (cache.directory / OTHER.replace("thesis", "book") / "meta.json").write_text("{}")
    before = state(cache.directory)
    cache.get_or_build("g", PARTS, build)
    assert cache.clear()[0] == 2
    after = state(cache.directory)
    gone = {path.relative_to(cache.directory).parts[0] for path in {*before} - {*after}}
    assert gone == {NAME} and not {*after} - {*before}


def test_a_cache_from_before_there_were_markers_is_adopted(cache):
    cache.get_or_build("f", PARTS, build)
    cache.get_or_build("g", PARTS, build)
    (cache.directory / "CACHEDIR.TAG").unlink()
    (cache.directory / "compiler-0123456789abcdef.json").write_text("{}")
    (cache.directory / "transpile-0123456789abcdef.txt").write_text("a b\n")
    (cache.directory / "building" / f"{NAME}.abcdefgh").mkdir()
    (cache.directory / "locks" / f"{NAME}.lock").touch()
    assert cache.clear()[0] == 2
    assert sorted(os.listdir(cache.directory)) == ["CACHEDIR.TAG", "building", "locks"]
    assert not os.listdir(cache.directory / "building") + os.listdir(cache.directory / "locks")


@pytest.mark.parametrize("rest", [b"", MARKER[:20], bytes(300)])
def test_a_marker_that_a_power_cut_has_damaged_is_written_again(cache, rest):
    cache.get_or_build("f", PARTS, build)
    marker = cache.directory / "CACHEDIR.TAG"
    whole = marker.read_bytes()
    marker.write_bytes(rest)
    cache.get_or_build("g", PARTS, build)
    assert marker.read_bytes() == whole
    marker.write_bytes(rest)
    plan_file(cache.directory)
    with pytest.raises(FileExistsError, match="notes"):
        cache.clear()


# -- in the cache's own directory ------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["building", "locks"])
@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_what_stands_in_the_place_of_a_folder_is_not_used(tmp_path, folder, kind):
    cache = Cache(tmp_path / "cache")
    cache.get_or_build("g", PARTS, build)
    path = cache.directory / folder
    path.rmdir()
    home = tmp_path / "home"
    (home / f"{NAME}.01234567").mkdir(parents=True)  # where a follower would find a leftover
    (home / f"{NAME}.01234567" / "chapter1.tex").write_text("...")
    {"link": lambda: path.symlink_to(home), "file": path.touch, "fifo": lambda: os.mkfifo(path)}[
        kind
    ]()
    before = state(tmp_path)
    with pytest.warns(CacheWarning):
        cache.get_or_build("f", PARTS, build)
    with pytest.raises(OSError):
        cache.clear()
    assert state(tmp_path) == before
    cache._substitute.clear()


def test_links_among_names_of_the_cache_are_not_followed(tmp_path):
    cache = Cache(tmp_path / "cache")
    entry = cache.get_or_build("f", PARTS, build)
    home = tmp_path / "home"
    shutil.copytree(entry.directory, home)
    shutil.rmtree(entry.directory)
    entry.directory.symlink_to(home)
    (cache.directory / "building" / f"{NAME}.01234567").symlink_to(home)
    (cache.directory / "locks" / f"{OTHER}.lock").symlink_to(home / "program.c")
    (cache.directory / OTHER).symlink_to(home)
    before = state(home)
    assert cache.get("f", PARTS) is None
    assert cache.get_or_build("f", PARTS, build).directory.is_dir()
    assert not entry.directory.is_symlink()
    assert cache.clear()[0] == 1
    assert state(home) == before and (cache.directory / OTHER).is_symlink()


def test_a_hard_link_to_a_file_of_the_users_is_neither_believed_nor_emptied(tmp_path):
    cache = Cache(tmp_path / "cache")
    entry = cache.get_or_build("f", PARTS, build)
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("machine CODE")  # of the right length
    (cache.directory / "locks" / f"{OTHER}.lock").hardlink_to(thesis)
    entry.path("program.so").unlink()
    entry.path("program.so").hardlink_to(thesis)
    with pytest.raises(DamagedError, match="other contents"):
        entry.read("program.so")
    assert cache.get_or_build("f", PARTS, build).read("program.so") == b"machine code"
    assert cache.clear()[0] == 1
    assert thesis.read_text() == "machine CODE" and thesis.stat().st_nlink == 1


@pytest.mark.parametrize("kind", ["link", "directory"])
def test_a_lock_that_is_no_file_of_the_caches_is_not_taken(tmp_path, kind):
    cache = Cache(tmp_path / "cache")
    cache.get_or_build("g", PARTS, build)
    lock = cache.directory / "locks" / f"{NAME}.lock"
    target = tmp_path / "passwd"
    target.write_text("root:x:0:0")
    lock.symlink_to(target) if kind == "link" else lock.mkdir()
    with pytest.warns(CacheWarning):
        cache.get_or_build("f", PARTS, build)
    assert target.read_text() == "root:x:0:0" and os.path.lexists(lock)
    cache._substitute.clear()


def test_what_belongs_to_another_user_is_neither_used_nor_removed(cache):
    must_be_root()
    entry = cache.get_or_build("f", PARTS, build)
    os.chown(entry.path("program.so"), 65534, 65534)
    with pytest.raises(DamagedError, match="private"):
        entry.read("program.so")
    os.chown(entry.directory, 65534, 65534)
    before = state(entry.directory)
    assert cache.get("f", PARTS) is None
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert cache.get_or_build("f", PARTS, build).directory != entry.directory
    assert cache.clear()[0] == 0 and state(entry.directory) == before
    cache._substitute.clear()


@thorough
def test_fifos_in_the_place_of_small_files_are_not_waited_for(tmp_path):
    assert call(tmp_path) == ("right", 0)
    before = sorted(path.name for path in tmp_path.iterdir())
    small = [*tmp_path.glob("compiler-*.json"), *tmp_path.glob("transpile-*.json")]
    assert small
    for path in small:
        path.unlink()
        os.mkfifo(path, 0o600)
    assert call(tmp_path) == ("right", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert all(path.is_file() for path in tmp_path.glob("compiler-*.json"))


@thorough
def test_forged_facts_about_a_compiler_are_not_believed(tmp_path):
    assert call(tmp_path) == ("right", 0)
    (facts,) = tmp_path.glob("compiler-*.json")
    sound = facts.read_text()
    forged = sound.replace("-fno-math-errno", "-fplugin=evil.so", 1)
    assert forged != sound
    facts.write_text(forged)
    for entry in tmp_path.glob("_lambda_-*"):
        shutil.rmtree(entry)
    assert call(tmp_path) == ("right", 0)
    assert facts.read_text() == sound


# -- between the check and the use -----------------------------------------------------------------


def test_the_file_that_was_checked_is_the_one_that_is_loaded(cache):
    entry = cache.get_or_build("f", PARTS, build)
    path = entry.path("program.so")
    with entry.opened("program.so") as handle:
        with loader.loader_path(path, handle) as name:
            assert name == os.path.realpath(path)
        other = entry.directory / "evil"
        other.write_text("machine code")
        other.replace(path)
        with (
            pytest.raises(loader.DamagedLibraryError, match="replaced"),
            loader.loader_path(path, handle),
        ):
            pass


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o755])
def test_whoever_renames_a_directory_above_the_cache_changes_nothing(tmp_path, mode):
    shared = tmp_path / "shared"
    shared.mkdir()
    cache = Cache(shared / "cache")
    entry = cache.get_or_build("f", PARTS, build)
    shared.chmod(mode)
    path = entry.path("program.so")
    is_open = mode in (0o777, 0o770)
    assert others_can_replace(os.path.realpath(path)) == is_open
    with entry.opened("program.so") as handle, loader.loader_path(path, handle) as name:
        assert name.startswith("/proc/self/fd/") == is_open
        cache.directory.rename(shared / "aside")
        evil = cache.directory / entry.directory.name
        evil.mkdir(parents=True)
        (evil / "program.so").write_text("evil")
        if is_open:
            assert os.path.samestat(os.stat(name), os.fstat(handle))
            assert Path(name).read_text() == "machine code"


@thorough
def test_programs_below_a_directory_open_to_others_are_loaded_and_told_apart(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    code = """
import os
import numpy as np
import transpile
x = np.arange(5.0)
for k in range(4):  # by the same descriptor: the loader must not take one for the other
    assert np.array_equal(transpile.jit(lambda x: x * (k + 2))(x), x * (k + 2))
    parallel = transpile.jit(lambda x: np.exp(x) * (k + 2))
    big = np.linspace(0, 1, 300_000)
    assert np.allclose(parallel(big), np.exp(big) * (k + 2))
os.environ["TRANSPILE_CALLS"] = "c"
called = transpile.jit(lambda x: x - 7)
for _ in range(3):
    assert np.array_equal(called(x), x - 7)
print("right")
"""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, "TRANSPILE_CACHE_DIR": str(shared / "cache")},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.stdout == "right\n", done.stderr


def test_what_another_process_removed_while_it_was_used_is_built_again(cache):
    other = Cache(cache.directory)
    cache.get_or_build("f", PARTS, build)
    seen = []

    def use(entry):
        if not seen:  # found without a lock, and gone before it is opened
            assert other.clear()[0] == 1
        seen.append(entry.directory.exists())
        return entry.read("program.so")

    assert cache.obtain("f", PARTS, build, use) == b"machine code"
    assert seen == [False, True]


def test_nothing_is_removed_by_a_path_that_has_come_to_mean_something_else(tmp_path):
    cache = Cache(tmp_path / "shared" / "cache")
    cache.get_or_build("f", PARTS, build)
    with owned(cache.directory) as own:
        (tmp_path / "shared").rename(tmp_path / "aside")
        home = tmp_path / "shared" / "cache" / NAME
        home.mkdir(parents=True)
        (home / "meta.json").write_text("mine")
        own.remove(NAME)
        own.forget()
    assert (home / "meta.json").read_text() == "mine"
    assert not (tmp_path / "aside" / "cache" / NAME).exists()
