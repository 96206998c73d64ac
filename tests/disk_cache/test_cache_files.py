import os
import socket
import stat
from pathlib import Path

import pytest

from transpile.disk_cache import cache_files


def test_cache_directory_of_a_checkout_and_of_an_installation(monkeypatch, tmp_path):
    monkeypatch.delenv("TRANSPILE_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache_files, "is_checkout", lambda: True)
    monkeypatch.setattr(cache_files, "checkout_cache", lambda: tmp_path / "cache")
    assert cache_files.cache_directory() == tmp_path / "cache"
    monkeypatch.setattr(cache_files, "is_checkout", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_files.cache_directory() == tmp_path / "transpile"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_files.cache_directory() == tmp_path / ".cache" / "transpile"
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", "~/x/../y")
    assert cache_files.cache_directory() == tmp_path / "y"


def test_cache_directory_of_somebody_elses_checkout_is_the_users_own(monkeypatch, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give directories away")
    monkeypatch.delenv("TRANSPILE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/users/own")
    monkeypatch.setattr(cache_files, "is_checkout", lambda: True)
    monkeypatch.setattr(cache_files, "checkout_cache", lambda: tmp_path / "cache")
    os.chown(tmp_path, 65534, 65534)
    assert str(cache_files.cache_directory()) == "/users/own/transpile"


@pytest.mark.parametrize("home", ["", None])
def test_cache_directory_without_a_home(monkeypatch, home):
    for name in ("TRANSPILE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    else:  # a user id without a name, as in some containers
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(cache_files, "is_checkout", lambda: False)
    with pytest.raises(FileNotFoundError, match="HOME is not set"):
        cache_files.cache_directory()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o2775, 0o702])
def test_make_private_makes_parents_and_changes_nothing_that_is_there(tmp_path, mode):
    path = tmp_path / "a" / "b"
    cache_files.make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    path.chmod(mode)
    with pytest.raises(PermissionError, match=f"mode {mode:o}.*chmod go-w"):
        cache_files.make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="not a directory"):
        cache_files.make_private(tmp_path / "file")


def test_write_atomically_replaces_and_leaves_nothing_else(tmp_path):
    (tmp_path / "y").mkdir()
    with cache_files.opened_directory(tmp_path) as handle:
        for data in (b"first", b"second"):
            cache_files.write_atomically("x", data, handle)
            assert cache_files.read_private("x", handle) == data
        with pytest.raises(OSError):
            cache_files.write_atomically("y", b"", handle)
    assert cache_files.listed(tmp_path) == ["x", "y"]
    assert cache_files.listed(tmp_path / "z") == []


def test_read_private_refuses_what_others_could_have_written(tmp_path):
    path = tmp_path / "x"
    path.write_text("forged")
    path.chmod(0o622)
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "fifo", 0o600)  # nobody will ever write into it
    kinds = ("link", "fifo", "missing", "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    for refused in (path, tmp_path, *(tmp_path / kind for kind in kinds), Path("/dev/null")):
        with pytest.raises(OSError):
            cache_files.read_private(refused)
