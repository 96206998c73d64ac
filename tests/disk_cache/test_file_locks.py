"""Locks between processes: who waits for whom, and for how long."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from thorough import one_in

from transpile.disk_cache.cache import Cache, key
from transpile.disk_cache.file_locks import locked

ROOT = Path(__file__).parents[2]
PARTS = {"program": "int f(void);"}
HOLDER = """
import os, sys, time
from transpile.disk_cache.file_locks import locked
folder = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
with locked(folder, "f", 0) as ours:
    assert ours
    print("ready", flush=True)
    sys.stdin.read()
"""
BUILDER = f"""
import sys
from pathlib import Path
from transpile.disk_cache.cache import Cache

def build(directory):
    (directory / "program.so").write_text("theirs")
    print("ready", flush=True)
    sys.stdin.read()

Cache(Path(sys.argv[1])).get_or_build("f", {PARTS!r}, build)
"""


@pytest.fixture
def folder(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield handle
    os.close(handle)


@pytest.fixture
def start(request):
    """Start another process that has a lock and keeps it until its input ends."""
    started = []

    def start(code, directory):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def build(directory):
    (directory / "program.so").write_text("ours")


def test_a_lock_is_taken_where_nobody_has_it_and_leaves_nothing(tmp_path, folder):
    for _ in range(2):
        with locked(folder, "f", 0) as ours:
            assert ours and os.listdir(tmp_path) == ["f.lock"]
            assert (tmp_path / "f.lock").read_text() == f"{os.getpid()}\n"
        assert os.listdir(tmp_path) == []


def test_waiting_ends_when_the_patience_does(tmp_path, folder, start):
    start(HOLDER, tmp_path)
    for patience in (0, 0.3):
        begin = time.monotonic()
        with locked(folder, "f", patience) as ours:
            assert not ours
        assert patience <= time.monotonic() - begin < patience + 5
    assert os.listdir(tmp_path) == ["f.lock"]  # it is theirs


def test_waiting_ends_when_the_holder_does(tmp_path, folder, start):
    holder = start(HOLDER, tmp_path)
    holder.kill()
    with locked(folder, "f", 60) as ours:
        assert ours
    assert os.listdir(tmp_path) == []


def test_nobody_waits_for_a_stopped_process(tmp_path, folder, start):
    holder = start(HOLDER, tmp_path)
    holder.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    with locked(folder, "f", 60) as ours:
        assert not ours
    assert time.monotonic() - begin < 10
    holder.send_signal(signal.SIGCONT)
    holder.communicate()
    assert holder.returncode == 0 and os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["", "nonsense", "0", "99999999999999999999", "-1"])
@one_in(2)
def test_a_holder_that_is_not_known_is_waited_for(tmp_path, folder, start, text):
    start(HOLDER, tmp_path)
    (tmp_path / "f.lock").write_text(text)
    begin = time.monotonic()
    with locked(folder, "f", 0.2) as ours:
        assert not ours
    assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize("ending", ["goes on", "dies"])
def test_a_stopped_builder_blocks_nobody_and_leaves_nothing(tmp_path, start, ending):
    cache = Cache(tmp_path / "cache")
    builder = start(BUILDER, cache.directory)
    builder.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    assert cache.get_or_build("f", PARTS, build).read("program.so") == b"ours"
    assert cache.clear()[0] == 0  # it is locked still
    assert cache.get_or_build("g", PARTS, build).read("program.so") == b"ours"
    assert time.monotonic() - begin < 20
    assert len(os.listdir(cache.directory / "building")) == 1
    if ending == "dies":
        builder.kill()
        builder.communicate()
    else:
        builder.send_signal(signal.SIGCONT)
        builder.communicate()  # it takes the program that is there
        assert builder.returncode == 0
    assert cache.get("f", PARTS).read("program.so") == b"ours"
    cache.get_or_build("h", PARTS, build)
    assert not os.listdir(cache.directory / "building") + os.listdir(cache.directory / "locks")


def test_whoever_has_waited_long_enough_builds_the_program_too(tmp_path, start):
    cache = Cache(tmp_path / "cache", patience=0.3)
    builder = start(BUILDER, cache.directory)
    assert cache.get_or_build("f", PARTS, build).read("program.so") == b"ours"
    builder.communicate()
    assert builder.returncode == 0
    assert cache.get("f", PARTS).read("program.so") == b"ours"
    assert not os.listdir(cache.directory / "building") + os.listdir(cache.directory / "locks")


def test_the_unfinished_program_of_an_impatient_builder_is_not_swept(tmp_path):
    # The first builder has the entry's lock; when it ends, the second one builds still.
    cache, others = Cache(tmp_path / "cache", patience=0), Cache(tmp_path / "cache")

    def build_slowly(directory):
        build(directory)
        others.get_or_build("g", PARTS, build)
        assert others.clear()[0] == 1
        assert (directory / "program.so").exists()

    name = f"f-{key(PARTS)}"
    cache.get_or_build("g", PARTS, build)
    handle = os.open(cache.directory / "locks", os.O_RDONLY | os.O_DIRECTORY)
    with locked(handle, name, 0) as ours:
        assert ours
        cache.get_or_build("f", PARTS, build_slowly)
    os.close(handle)
    assert cache.get("f", PARTS).read("program.so") == b"ours"
