"""The digest of transpile's own files: remembered as long as they stay as they are."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thorough import one_in, thorough

import transpile
from transpile.disk_cache.sealed_json import seal, unseal

PACKAGE = Path(transpile.__file__).parent


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A copy of the package that was not touched for a while, with the modules compiled that its
    digest needs: each process would compile them again."""
    folder = tmp_path_factory.mktemp("original")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("transpile", "templates", "runtime_c"):
        source = PACKAGE.parent / name
        if not source.is_dir():
            pytest.skip("not a checkout")
        shutil.copytree(source, folder / name, ignore=ignored)
    old = time.time() - 1000
    for path in folder.rglob("*"):
        os.utime(path, (old, old))
    digest(folder, "0", cache=tmp_path_factory.mktemp("cache"), keeps=True)
    assert not list(folder.rglob("files-*.pyc"))
    return folder


@pytest.fixture
def copy(original, tmp_path):
    """A copy of it, which may be changed."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path


def digest(copy, expression="own_digest()", cache=None, command=(), keeps=False):
    code = f"""
from transpile.disk_cache import package_fingerprint
from transpile.disk_cache.package_fingerprint import *
print({expression})
"""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "" if keeps else "1",
        "TRANSPILE_CACHE_DIR": str(cache or copy / "cache"),
    }
    done = subprocess.run(
        [*command, sys.executable, "-c", code],
        env=environment,
        cwd=copy.parent,
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


SETTLED = "setattr(package_fingerprint, '_SETTLED', 0) or own_digest()"  # two seconds are over
READS_NOTHING = "setattr(package_fingerprint, '_digest', None) or own_digest()"


def test_the_digest_is_remembered_while_the_files_stay(copy):
    first = digest(copy, SETTLED)
    assert len(first) == 32
    assert digest(copy, READS_NOTHING) == first
    helper = copy / "runtime_c" / "arithmetic" / "sign.h"
    helper.write_text(helper.read_text() + "\n")
    second = digest(copy)  # changed just now: not remembered yet
    assert second != first
    assert digest(copy, SETTLED) == second
    assert digest(copy, READS_NOTHING) == second


@pytest.mark.parametrize("how", ["in place", "renamed"])
@one_in(2)
def test_other_contents_of_equal_size_and_time_are_noticed(copy, how):
    # as clamped times of archives, `rsync -t` and `cp -p` leave them
    first = digest(copy, SETTLED)
    helper = copy / "runtime_c" / "arithmetic" / "sign.h"
    text = helper.read_text()
    changed = text.replace("(x > 0) - (x < 0)", "(x > 0) + (x < 0)")
    before = helper.stat()
    target = helper if how == "in place" else copy / "runtime_c" / "arithmetic" / "sign.new"
    target.write_text(changed)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    target.replace(helper)
    after = helper.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert changed != text and digest(copy) != first


@thorough
def test_what_is_remembered_and_damaged_is_made_anew(copy):
    first = digest(copy, SETTLED)
    (kept,) = (copy / "cache").glob("transpile-*.json")
    sound = kept.read_text()
    forged = sound.replace(first, "1" * 32)
    assert forged != sound
    for text in ("", sound[:-5], forged):
        kept.write_text(text)
        assert digest(copy) == first
    kept.write_bytes(seal({"stamp": unseal(sound.encode())["stamp"], "digest": "1" * 32}))
    assert digest(copy) == "1" * 32
    kept.chmod(0o666)  # not private: not trusted
    assert digest(copy) == first


@thorough
def test_it_is_remembered_beside_compiled_modules_whatever_the_cache(copy, tmp_path_factory):
    def other(keeps):
        return {"cache": tmp_path_factory.mktemp("cache"), "keeps": keeps}

    first = digest(copy, SETTLED, **other(True))
    (kept,) = (copy / "transpile" / "__pycache__").glob("files-*.pyc")
    for keeps in (True, False):
        assert digest(copy, READS_NOTHING, **other(keeps)) == first
    kept.write_bytes(kept.read_bytes()[:-5])
    assert digest(copy, **other(False)) == first
    helper = copy / "runtime_c" / "arithmetic" / "sign.h"
    helper.write_text(helper.read_text() + "\n")
    assert digest(copy, **other(True)) != first


@thorough
def test_in_an_image_the_files_are_read(copy, tmp_path_factory):
    # A squashfs has one time for each file, which its maker may have chosen.
    for path in copy.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes())
    cache = tmp_path_factory.mktemp("cache")
    first = digest(copy, SETTLED, cache=cache)
    (kept,) = cache.glob("transpile-*.json")
    kept.write_bytes(seal({**unseal(kept.read_bytes()), "digest": "1" * 32}))
    assert digest(copy, cache=cache) == "1" * 32
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount --bind {copy} {copy} && mount -o remount,bind,ro {copy}"
    if shutil.which("unshare") is None or subprocess.run([*namespace, mount]).returncode:
        pytest.skip("a read-only file system needs user namespaces")
    command = [*namespace, f'{mount} && exec "$@"', "sh"]
    assert digest(copy, cache=cache, command=command) == first


def digests(copy, *changes):
    """The digest of the copy, and what it is after each change."""
    code = f"""
from pathlib import Path
from transpile.disk_cache import package_fingerprint
for change in ["", *{list(changes)!r}]:
    exec(change)
    print(package_fingerprint._digest([path for path, *_ in package_fingerprint._files()]))
"""
    environment = {**os.environ, "PYTHONPATH": str(copy), "TRANSPILE_CACHE_DIR": str(copy / "c")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=copy, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return done.stdout.split()


def test_a_file_in_another_folder_is_another_package(copy):
    found = digests(
        copy,
        "Path('transpile/passes/moved.py').write_text('x = 1')",
        "Path('transpile/passes/moved.py').rename('transpile/moved.py')",
    )
    assert len(set(found)) == 3


def test_a_wheel_and_a_checkout_have_one_digest(copy):
    checkout, wheel = digests(
        copy, "[Path(name).rename(f'transpile/{name}') for name in ('templates', 'runtime_c')]"
    )
    assert checkout == wheel
