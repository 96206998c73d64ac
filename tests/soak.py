"""Ten minutes of everything at once: calls, compilations and faults, each result checked.

    python tests/soak.py --seconds 600 --seed 0

Sixteen processes share a cache that holds a third of what they compile; one of them has 64 threads,
the others a few. They call 200 functions, through new wrappers now and then, so that programs are
looked up, built, damaged, evicted and built again. Meanwhile the parent injects faults, one every
moment: `FAULTS` below. The cache is on a disk of its own that becomes full, and the clock of all
processes jumps. Workers fork, and can write no files for a while. A worker ends with code 1 at the
first wrong result or unexpected exception; the parent starts another one, and says so at the end.
Memory, file descriptors and threads of workers that live long are compared between two moments of
their lives: the one with 64 threads is never killed. At the end no process is left, and nothing
unfinished in the cache.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import json
import logging
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from itertools import chain
from pathlib import Path

import numpy as np

import transpile
from transpile import lax
from transpile.errors import TranspileError
from transpile.util.interrupt_safety import between

PROCESSES, THREADS, FEW = 16, 64, 3
CACHE = 4 << 20  # bytes: about a third of the programs
DISK = 24 << 20  # bytes, of the file system that the cache is on
GROWTH = {"memory": 48 << 20, "files": 8, "threads": 4}  # allowed from a worker's middle to its end
X = np.random.default_rng(0).normal(size=(60, 40))


# -- the functions ---------------------------------------------------------------------------------


def softmax(c):
    def f(x):
        e = np.exp(c * (x - x.max(axis=1, keepdims=True)))
        return e / e.sum(axis=1, keepdims=True)

    return f, f


def elementwise(c):
    f = lambda x: np.where(x > c, np.sin(x * c), np.log1p(x * x)) + c
    return f, f


def product(c):
    f = lambda x: np.tanh(c * (x @ x.T) / 40)
    return f, f


def order(c):
    f = lambda x: np.sort(x, axis=0) * c + np.argmax(x, axis=1)[:, None]
    return f, f


def sums(c):
    f = lambda x: {"a": np.cumsum(x, axis=1) * c, "b": (x.sum(), x.std(axis=0))}
    return f, f


def transform(c):
    f = lambda x: np.fft.rfft(x * c, axis=1)
    return f, f


def loop(c):
    def reference(x):
        for i in range(7):
            x = np.cos(x * c) + i
        return x

    return lambda x: lax.fori_loop(0, 7, lambda i, y: np.cos(y * c) + i, x), reference


def slope(c):
    f = transpile.grad(lambda x: np.tanh(c * x).sum())
    return f, lambda x: c * (1 - np.tanh(c * x) ** 2)


def large(c):
    f = lambda x: np.ones((1, 20, 40)) * (x[:, None, :] * c)
    return f, f


def assigned(c):
    def f(x):
        y = x * c
        y[1::2] += y[::2]
        return y

    return f, f


FAMILIES = (*(softmax, elementwise, product, order, sums, transform, loop, slope, large, assigned),)
FUNCTIONS = [family(1 + number / 16) for number in range(20) for family in FAMILIES]


def wrapper(number):
    """A function to call; most are not optimised much, for more programs in the time."""
    level = 3 if number % 4 == 0 else 0
    return transpile.jit(FUNCTIONS[number][0], compiler_options={"opt_level": level})


def leaves(result):
    """The arrays of a result, in order."""
    return [np.asarray(leaf) for leaf in transpile.tree.leaves(result)]


# -- a worker --------------------------------------------------------------------------------------


class Counted(logging.Handler):
    """Counts what the cache says: `evicted: softmax-...`."""

    def __init__(self, counts: collections.Counter[str]) -> None:
        super().__init__()
        self.counted = counts

    def emit(self, record: logging.LogRecord) -> None:
        self.counted[f"programs {record.getMessage().partition(':')[0]}"] += 1


class Worker:
    """A process that calls, and counts what it has done."""

    def __init__(self, seed: int, threads: int, seconds: float) -> None:
        self.seed, self.threads = seed, threads
        self.end = time.monotonic() + seconds
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.disk_is_full = 0.0  # until when nothing can be written
        self.said = 0.0  # when
        self.expected = [leaves(reference(X)) for _, reference in FUNCTIONS]
        self.wrappers = [wrapper(number) for number in range(len(FUNCTIONS))]
        logger = logging.getLogger("transpile.cache")
        logger.propagate = False  # programs are damaged on purpose
        logger.setLevel(logging.INFO)
        logger.addHandler(Counted(self.counts))

    def call(self, draw: random.Random) -> None:
        """Call a function and compare its result with NumPy's."""
        chosen = min(int(draw.expovariate(0.02)), len(FUNCTIONS) - 1)
        if draw.random() < 0.002:
            self.wrappers[chosen] = wrapper(chosen)
        full = time.monotonic() < self.disk_is_full
        try:
            results = leaves(self.wrappers[chosen](X))
        except (TranspileError, OSError) as problem:
            if not full and time.monotonic() >= self.disk_is_full:
                self.wrong.append(f"function {chosen}: {type(problem).__name__}: {problem}")
            self.counts["refused on a full disk"] += 1
            return
        for got, want in zip(results, self.expected[chosen], strict=True):
            if got.dtype != want.dtype or not np.allclose(got, want, rtol=1e-9, atol=1e-9):
                self.wrong.append(f"function {chosen}: another result")
        self.counts["calls"] += 1

    def fork(self, draw: random.Random) -> None:
        """A child of this process, with all its threads under way, calls old and new functions."""
        child = os.fork()
        if child == 0:
            signal.alarm(100)  # says where it hangs; another watchdog would wait for the parent's
            self.wrong.clear()
            for _ in range(3):
                self.call(draw)
            if self.wrong:
                print("in a forked child:", self.wrong, file=sys.stderr, flush=True)
            os._exit(3 if self.wrong else 0)
        _, status = os.waitpid(child, 0)
        if status:
            self.wrong.append(f"a forked child ended with status {status}")
        self.counts["forks"] += 1

    def fill_disk(self, draw: random.Random) -> None:
        """For some seconds this process writes no file longer than a few kilobytes, anywhere."""
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

        def end() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            # Compilers that the limit was handed to may still be at work.
            self.disk_is_full = time.monotonic() + 20

        def begin() -> None:
            self.disk_is_full = time.monotonic() + 3600
            resource.setrlimit(resource.RLIMIT_FSIZE, (draw.choice([0, 4096, 20000]), hard))

        between(begin, lambda: time.sleep(draw.uniform(0.2, 2)), end)
        self.counts["times without files"] += 1

    def work(self, number: int) -> None:
        """What a thread does until the end."""
        draw = random.Random(self.seed * 1000 + number)
        while time.monotonic() < self.end and not self.wrong:
            with contextlib.suppress(KeyboardInterrupt):
                self.call(draw)
                if number == 0:
                    self.further(draw)

    def further(self, draw: random.Random) -> None:
        """What the main thread does besides, now and then."""
        if (chance := draw.random()) < 0.003:
            self.fork(draw)
        elif chance < 0.0034:
            self.fill_disk(draw)
        if time.monotonic() > self.said + 2:
            self.report()

    def report(self) -> None:
        """Say what was done, and what is in use."""
        self.said = time.monotonic()
        print(json.dumps({**self.counts, **usage()}), flush=True)

    def run(self) -> int:
        """Work in all threads; 1 where something was wrong, which stands on standard error."""
        others = [threading.Thread(target=self.work, args=(n,)) for n in range(1, self.threads)]
        for thread in others:
            thread.start()
        with contextlib.suppress(KeyboardInterrupt):
            self.report()
        while time.monotonic() < self.end and not self.wrong:
            with contextlib.suppress(KeyboardInterrupt):
                self.work(0)
        self.end = 0
        for thread in others:
            while thread.is_alive():
                with contextlib.suppress(KeyboardInterrupt):
                    thread.join()
        self.report()
        print(*self.wrong[:5], sep="\n", file=sys.stderr, flush=True)
        return 1 if self.wrong else 0


def usage() -> dict[str, int]:
    """What this process has of memory (bytes), open files and threads."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }


# -- faults ----------------------------------------------------------------------------------------


def kill(worker, draw, soak):
    worker.send_signal(signal.SIGKILL)


def kill_with_compilers(worker, draw, soak):
    worker.send_signal(signal.SIGKILL)
    for process in processes_of({worker.pid}):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def interrupt(worker, draw, soak):
    if soak.workers[worker][0].stat().st_size:  # it has begun, and catches interrupts
        worker.send_signal(signal.SIGINT)


def stop(worker, draw, soak):
    worker.send_signal(signal.SIGSTOP)
    time.sleep(draw.uniform(0, 1))
    worker.send_signal(signal.SIGCONT)


def fill_disk(worker, draw, soak):
    """The disk with the cache is full for some seconds: programs are kept elsewhere."""
    ballast = soak.folder / "disk" / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 12)):
            pass
    time.sleep(draw.uniform(0.2, 2))
    ballast.unlink()


def jump(worker, draw, soak):
    """All processes' clocks jump, by seconds or by months, or are right again."""
    ahead = draw.choice([0, int(draw.uniform(-100, 100)), int(draw.uniform(-3e7, 3e7))])
    with (soak.folder / "clock").open("r+b", buffering=0) as file:
        file.write(struct.pack("l", ahead))


def date_files(worker, draw, soak):
    """The clock was wrong when files were written: they are of last year, or of the next."""
    for path in soak.stored():
        if draw.random() < 0.3:
            moment = time.time() + draw.uniform(-3e7, 3e7)
            with contextlib.suppress(OSError):
                os.utime(path, (moment, moment))


def damage(worker, draw, soak):
    """A file of the cache becomes shorter or has another bit, as after a crash of the machine: it
    is another file, since programs that are loaded are mapped."""
    files = [p for p in soak.stored() if p.parent.parent == soak.cache and p.is_file()]
    if files := [path for path in files if "-" in path.parent.name]:
        path = draw.choice(files)
        with contextlib.suppress(OSError):
            data = bytearray(path.read_bytes())
            place = draw.randrange(len(data) or 1)
            data = data[:place] if draw.random() < 0.5 else data
            data[place:place] = data[place : place + 1] and bytes([data.pop(place) ^ 16])
            aside = path.with_name(f"{path.name}.new")
            aside.write_bytes(data)
            aside.chmod(path.stat().st_mode & 0o700)
            aside.rename(path)


def clear(worker, draw, soak):
    words = [sys.executable, "-m", "transpile", "cache", "clear"]
    subprocess.run(words, check=True, capture_output=True, env=soak.environment)


FAULTS = {
    kill: 0.6,
    kill_with_compilers: 0.6,
    interrupt: 6,
    stop: 2,
    damage: 4,
    clear: 0.2,
    fill_disk: 0.3,
    jump: 1,
    date_files: 1,
}


def processes_of(sessions: set[int]) -> list[int]:
    """The living processes of such sessions."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = path.read_text().rpartition(") ")[2].split()[:4]
            if int(session) in sessions and state != "Z":
                found.append(int(path.parent.name))
    return found


# -- the parent ------------------------------------------------------------------------------------


class Soak:
    """The workers, and what is known of them."""

    def __init__(self, seconds: float, seed: int, folder: Path) -> None:
        self.seconds, self.draw = seconds, random.Random(seed)
        self.end = time.monotonic() + seconds
        self.workers: dict[subprocess.Popen, tuple[Path, Path]] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.problems: list[str] = []
        self.sessions: set[int] = set()
        self.folder = folder
        self.cache = folder / "disk" / "cache"
        self.environment = {
            **os.environ,
            "TRANSPILE_CACHE_DIR": str(self.cache),
            "TRANSPILE_CACHE_MAX_BYTES": str(CACHE),
            "TMPDIR": str(folder / "tmp"),
            "SOAK_CLOCK": str(folder / "clock"),
            "LD_PRELOAD": str(folder / "clock.so"),
        }
        (folder / "tmp").mkdir()
        (folder / "clock").write_bytes(bytes(8))
        source = Path(__file__).parent / "c" / "soak_clock.c"
        words = ["cc", "-shared", "-fPIC", "-O1", "-o", str(folder / "clock.so"), str(source)]
        subprocess.run(words, check=True)

    def start(self) -> None:
        """One more worker: the first one that lives has many threads."""
        number = self.counts["workers"] = self.counts["workers"] + 1
        many = not any("many" in said.name for said, _ in self.workers.values())
        seconds = self.end - time.monotonic()
        words = [*("--worker", str(THREADS if many else FEW)), *("--seconds", str(seconds))]
        said = self.folder / f"{number}-{'many' if many else 'few'}.out"
        complaint = said.with_suffix(".err")
        with said.open("w") as out, complaint.open("w") as error:
            worker = subprocess.Popen(
                [sys.executable, __file__, *words, "--seed", str(self.draw.randrange(1 << 30))],
                stdout=out,
                stderr=error,
                env=self.environment,
                start_new_session=True,
            )
        self.sessions.add(worker.pid)
        self.workers[worker] = (said, complaint)

    def ended(self, worker: subprocess.Popen) -> None:
        """Take a worker that has ended out, with what it said."""
        said, complaint = self.workers.pop(worker)
        text = complaint.read_text(errors="replace")
        if worker.returncode not in (0, -signal.SIGKILL) or text.strip():
            # An interrupt before the worker listens, or after it has finished, ends it.
            if "KeyboardInterrupt" in "".join(text.splitlines()[-1:]):
                self.counts["interrupted at start or end"] += 1
            else:
                self.problems.append(
                    f"worker {said.stem} ended with {worker.returncode}: {text[-1500:]}"
                )
        reports = [json.loads(line) for line in said.read_text().splitlines() if line.endswith("}")]
        for name in reports[-1].keys() - GROWTH if reports else ():
            self.counts[name] += reports[-1][name]
        if len(reports) > 60:  # two minutes
            middle = reports[len(reports) // 2]
            for name, most in GROWTH.items():
                growth = reports[-1][name] - middle[name]
                self.counts[f"largest growth of {name}"] = max(
                    self.counts[f"largest growth of {name}"], growth
                )
                if growth > most:
                    self.problems.append(f"worker {said.stem}: {name} grew by {growth}")

    def run(self) -> int:
        """Inject faults until the end; print the counts; 1 where there were problems."""
        for _ in range(PROCESSES):
            self.start()
        while time.monotonic() < self.end - 5:
            time.sleep(self.draw.uniform(0.05, 0.7))
            for worker in [w for w in self.workers if w.poll() is not None]:
                self.ended(worker)
                self.start()
            (fault,) = self.draw.choices(list(FAULTS), list(FAULTS.values()))
            spared = "many" if fault in (kill, kill_with_compilers) else "nobody"
            chosen = [w for w, (said, _) in self.workers.items() if spared not in said.name]
            fault(self.draw.choice(chosen), self.draw, self)
            self.counts[fault.__name__] += 1
        for worker in list(self.workers):
            try:
                worker.wait(timeout=150)
            except subprocess.TimeoutExpired:
                self.problems.append(f"worker {self.workers[worker][0].stem} hangs")
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
            self.ended(worker)
        self.tidy_up()
        print(f"{self.seconds:.0f} seconds:", json.dumps(self.counts, indent=1, sort_keys=True))
        print(f"{len(self.problems)} problems", *self.problems, sep="\n")
        return 1 if self.problems else 0

    def stored(self) -> list[Path]:
        """What is in the cache, in order, as far as it stays there while we look."""
        found = os.walk(self.cache)
        return sorted(Path(folder, name) for folder, *both in found for name in chain(*both))

    def tidy_up(self) -> None:
        """What workers that were killed have started ends by itself; what they left is removed."""
        limit = time.monotonic() + 150
        while (left := processes_of(self.sessions)) and time.monotonic() < limit:
            time.sleep(0.5)
        for process in left:
            words = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
            self.problems.append(f"left: process {process}: {words[:300]}")
        clear(None, self.draw, self)
        for name in ("building", "locks"):
            unfinished = [path.name for path in (self.cache / name).iterdir()]
            if unfinished:
                self.problems.append(f"left in {name}/: {unfinished}")


def on_a_small_disk(arguments: list[str]) -> int:
    """Be the parent in a namespace in which `FOLDER/disk` is a file system of its own."""
    folder = tempfile.mkdtemp(prefix="transpile-soak-")
    disk = Path(folder) / "disk"
    disk.mkdir()
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    words += [f'mount -t tmpfs -o size={DISK} none "$0" && exec "$@"', str(disk)]
    words += [sys.executable, __file__, *arguments, "--folder", folder]
    status = subprocess.run(words).returncode
    if status:
        print("what the workers said is in", folder)
    else:
        shutil.rmtree(folder)
    return status


def main() -> int:
    """Read the command line; be the parent, or one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker is not None:
        faulthandler.enable()
        faulthandler.register(signal.SIGALRM, chain=True)
        faulthandler.dump_traceback_later(chosen.seconds + 120, exit=True)
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        return Worker(chosen.seed, chosen.worker, chosen.seconds).run()
    if chosen.folder is None:
        return on_a_small_disk(sys.argv[1:])
    soak = Soak(chosen.seconds, chosen.seed, chosen.folder)
    try:
        return soak.run()
    finally:
        for process in processes_of(soak.sessions):
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
