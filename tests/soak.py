"""Ten minutes of everything at once: calls, compilations and faults, each result checked.

    python tests/soak.py --seconds 600 --seed 0

Sixteen processes share a cache that holds a third of what they compile; one of them has 64 threads,
the others a few. They call 200 functions, through new wrappers now and then, so that programs are
looked up, built, damaged, evicted and built again. Meanwhile the parent injects faults, one every
moment: `FAULTS` below. Workers fork, and run for a while with a disk that is full (a limit of the
size of files). A worker ends with code 1 at the first wrong result or unexpected exception; the
parent starts another one, and says so at the end. Memory, file descriptors and threads of workers
that live long are compared between two moments of their lives.
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
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import transpile
from transpile import lax
from transpile.errors import TranspileError

PROCESSES, THREADS, FEW = 16, 64, 3
CACHE = 4 << 20  # bytes: about a third of the programs
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


def leaves(result):
    """The arrays of a result, in order."""
    return [np.asarray(leaf) for leaf in transpile.tree.leaves(result)]


# -- a worker --------------------------------------------------------------------------------------


class Worker:
    """A process that calls, and counts what it has done."""

    def __init__(self, seed: int, threads: int, seconds: float) -> None:
        self.seed, self.threads = seed, threads
        self.end = time.monotonic() + seconds
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.disk_is_full = 0.0  # until when
        self.expected = [leaves(reference(X)) for _, reference in FUNCTIONS]
        self.wrappers = [transpile.jit(f) for f, _ in FUNCTIONS]

    def call(self, draw: random.Random) -> None:
        """Call a function and compare its result with NumPy's."""
        chosen = min(int(draw.expovariate(0.02)), len(FUNCTIONS) - 1)
        if draw.random() < 0.002:
            self.wrappers[chosen] = transpile.jit(FUNCTIONS[chosen][0])
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
            faulthandler.dump_traceback_later(100, exit=True)
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
        """For some seconds this process writes no file longer than a few kilobytes."""
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        self.disk_is_full = time.monotonic() + 3600
        resource.setrlimit(resource.RLIMIT_FSIZE, (draw.choice([0, 4096, 20000]), hard))
        time.sleep(draw.uniform(0.2, 2))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        # Compilers that the limit was handed to may still be at work.
        self.disk_is_full = time.monotonic() + 20
        self.counts["full disks"] += 1

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
        elif chance < 0.0032:
            self.fill_disk(draw)
        elif chance < 0.01:
            print(json.dumps({**self.counts, **usage()}), flush=True)

    def run(self) -> int:
        """Work in all threads; 1 where something was wrong, which stands on standard error."""
        others = [threading.Thread(target=self.work, args=(n,)) for n in range(1, self.threads)]
        for thread in others:
            thread.start()
        while time.monotonic() < self.end and not self.wrong:
            with contextlib.suppress(KeyboardInterrupt):
                self.work(0)
        self.end = 0
        for thread in others:
            while thread.is_alive():
                with contextlib.suppress(KeyboardInterrupt):
                    thread.join()
        print(json.dumps({**self.counts, **usage()}), flush=True)
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


def kill(worker, draw, cache):
    worker.send_signal(signal.SIGKILL)


def interrupt(worker, draw, cache):
    worker.send_signal(signal.SIGINT)


def stop(worker, draw, cache):
    worker.send_signal(signal.SIGSTOP)
    time.sleep(draw.uniform(0, 1))
    worker.send_signal(signal.SIGCONT)


def jump(worker, draw, cache):
    """The clock was wrong when files were written: they are of last year, or of the next."""
    for path in sorted(cache.rglob("*")):
        if draw.random() < 0.3:
            moment = time.time() + draw.uniform(-3e7, 3e7)
            with contextlib.suppress(OSError):
                os.utime(path, (moment, moment))


def damage(worker, draw, cache):
    """A file of the cache becomes shorter or has another bit, as after a crash of the machine: it
    is another file, since programs that are loaded are mapped."""
    files = [path for path in sorted(cache.glob("*-*/*")) if path.is_file()]
    if files:
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


def clear(worker, draw, cache):
    words = [sys.executable, "-m", "transpile", "cache", "clear"]
    subprocess.run(words, check=True, capture_output=True)


FAULTS = {kill: 2, interrupt: 6, stop: 2, jump: 1, damage: 4, clear: 0.2}


# -- the parent ------------------------------------------------------------------------------------


class Soak:
    """The workers, and what is known of them."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.seconds, self.draw = seconds, random.Random(seed)
        self.end = time.monotonic() + seconds
        self.workers: dict[subprocess.Popen, tuple[Path, Path]] = {}
        self.counts: collections.Counter[str] = collections.Counter()
        self.problems: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="transpile-soak-"))
        os.environ["TRANSPILE_CACHE_DIR"] = str(self.folder / "cache")
        os.environ["TRANSPILE_CACHE_MAX_BYTES"] = str(CACHE)

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
                start_new_session=True,
            )
        self.workers[worker] = (said, complaint)

    def ended(self, worker: subprocess.Popen) -> None:
        """Take a worker that has ended out, with what it said."""
        said, complaint = self.workers.pop(worker)
        text = complaint.read_text(errors="replace")
        if worker.returncode not in (0, -signal.SIGKILL) or text.strip():
            # An interrupt before the worker listens, or after it has finished, ends it.
            if "KeyboardInterrupt" in text.splitlines()[-1:] and "wrong" not in text:
                self.counts["interrupted at start or end"] += 1
            else:
                self.problems.append(
                    f"worker {said.stem} ended with {worker.returncode}: {text[-1500:]}"
                )
        reports = [json.loads(line) for line in said.read_text().splitlines() if line.endswith("}")]
        for name in {"calls", "forks", "full disks", "refused on a full disk"} if reports else ():
            self.counts[name] += reports[-1].get(name, 0)
        if len(reports) > 20:
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
            time.sleep(self.draw.uniform(0.05, 0.5))
            for worker in [w for w in self.workers if w.poll() is not None]:
                self.ended(worker)
                self.start()
            (fault,) = self.draw.choices(list(FAULTS), list(FAULTS.values()))
            fault(self.draw.choice(list(self.workers)), self.draw, self.folder / "cache")
            self.counts[fault.__name__] += 1
        for worker in list(self.workers):
            try:
                worker.wait(timeout=150)
            except subprocess.TimeoutExpired:
                self.problems.append(f"worker {self.workers[worker][0].stem} hangs")
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
            self.ended(worker)
        left = [p.name for p in (self.folder / "cache" / "building").iterdir()]
        print(f"{self.seconds:.0f} seconds:", dict(sorted(self.counts.items())))
        print("left in building/:", left)
        print(f"{len(self.problems)} problems", *self.problems, sep="\n")
        return 1 if self.problems else 0


def main() -> int:
    """Read the command line; be the parent, or one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker is None:
        return Soak(chosen.seconds, chosen.seed).run()
    faulthandler.enable()
    faulthandler.dump_traceback_later(chosen.seconds + 120, exit=True)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    logging.disable(logging.WARNING)  # programs are damaged on purpose
    return Worker(chosen.seed, chosen.worker, chosen.seconds).run()


if __name__ == "__main__":
    sys.exit(main())
