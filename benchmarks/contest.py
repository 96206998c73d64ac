"""A contest: everyone who takes part in a case, each in a process of its own, measured in turns.

Processes start together, import and make their arguments; when all are ready, each is called for
the first time while the others wait. Then they take turns, and each turn starts after a pause, so
that all see the same machine and nobody's threads are still spinning. Who fails, does not answer in
time or has another result is named, with the reason, and the others go on.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import hand_written
from benchmarks.every_case import find
from benchmarks.peer import CONTESTANTS

ROOT = Path(__file__).parent.parent
PEERS = ("numpy", "numba", "jax", "torch")  # what users would pick instead
PAUSE = 0.05
TURN = 3
LEAST_ROUNDS = 2
SLOW = 0.25  # seconds of a measurement that is taken once a turn
LONGEST_ANSWER = 240  # seconds


class ContestantError(Exception):
    """A contestant cannot go on; the text says why."""


@dataclass(frozen=True)
class Limits:
    """How long a contest goes on: so many rounds at most, and no further one after so many seconds
    of turns; at least two."""

    rounds: int = 9
    seconds: float = 5.0


@dataclass
class Outcome:
    """What was measured of a case: {contestant: numbers}, and {contestant: why it has none}."""

    found: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)


class Peer:
    """A process that answers a line of text with a line of JSON; what it says else goes to a file
    of errors. `further` has variables of the environment. Python keeps what it compiles, or each
    process would compile all modules that it imports."""

    def __init__(self, command, errors, further=None):
        self.errors = Path(errors)
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.begin = time.monotonic()
        with self.errors.open("w") as file:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**kept, **(further or {})},
            )

    def answer(self, patience=LONGEST_ANSWER):
        """What it says next; a line."""
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        if not ready:
            raise ContestantError(f"no answer within {patience} s")
        line = self.process.stdout.readline()
        if not line:
            said = self.errors.read_text().strip().splitlines()
            raise ContestantError(said[-1] if said else "the process has ended without a word")
        return json.loads(line)

    def ask(self, command, patience=LONGEST_ANSWER):
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            print(command, file=self.process.stdin, flush=True)
        return self.answer(patience)

    def close(self):
        """End the process, also one that does not listen."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(1 if self.process.poll() is None else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Contestant(Peer):
    """A process that measures one case when it is told to; its caches are in `folder`.

    What does not depend on the case is kept in `shared` for the whole run: hand-written C and the
    headers that PyTorch compiles beforehand, which take it longer than most cases.
    """

    def __init__(self, name, python, case, folder, shared, further=None):
        self.name = name
        caches = {
            "TRANSPILE_CACHE_DIR": str(Path(folder, "transpile")),
            "TORCHINDUCTOR_CACHE_DIR": str(Path(shared, "torch")),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes to start and to wait for
            "NUMBA_CACHE_DIR": str(Path(folder, "numba")),
            hand_written.BUILT: str(Path(shared, "c")),
        }
        command = [python, "-m", "benchmarks.peer", name, case]
        super().__init__(command, Path(folder, f"{name}.errors"), {**caches, **(further or {})})


class Contest:
    """Those who are still in, and what is known of all."""

    def __init__(self, contestants):
        self.contestants = contestants
        self.outcome = Outcome()

    def each(self, question):
        """{name: what `question` gives for a contestant}; who fails leaves."""
        answers = {}
        for who in list(self.contestants):
            try:
                answers[who.name] = question(who)
            except ContestantError as error:
                self.leave(who, str(error))
        return answers

    def leave(self, who, reason):
        self.contestants.remove(who)
        self.outcome.found.pop(who.name, None)
        self.outcome.failed[who.name] = reason

    def turn(self, who):
        """One turn, after a pause: as many measurements as its speed allows."""
        time.sleep(PAUSE)
        measured = self.outcome.found[who.name]
        taken = measured["seconds"]
        calls = TURN if not taken or min(taken) * measured["calls"] < SLOW else 1
        answer = who.ask(f"run {calls}")
        taken += answer["seconds"]
        measured["peak"] = answer["peak"]

    def take_turns(self, calls, limits):
        for measured in self.outcome.found.values():
            measured |= {"seconds": [], "calls": calls}
        start = time.perf_counter()
        for number in range(limits.rounds):
            if number >= LEAST_ROUNDS and time.perf_counter() - start > limits.seconds:
                break
            self.each(self.turn)


def compare(name, pythons, limits, shared):
    """The outcome of one case.

    `pythons` has who can take part, each with its Python; `shared` is a folder that all cases of a
    run have in common.
    """
    case = find(name)
    chosen = {who: pythons[who] for who in case.contestants if who in pythons}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        contest = Contest([])
        for who, python in chosen.items():
            contest.contestants.append(Contestant(who, python, name, folder, shared))
            stack.callback(contest.contestants[-1].close)
        contest.each(Contestant.answer)
        contest.outcome.found = contest.each(lambda who: who.ask("first"))
        contest.take_turns(case.calls, limits)
        fingerprints = contest.each(lambda who: who.ask("check"))
        for who, reason in disagreements(case.tolerance, fingerprints).items():
            contest.leave(next(c for c in contest.contestants if c.name == who), reason)
        return contest.outcome


def disagreements(tolerance, fingerprints):
    """{who has another result than we have: which}; see `benchmarks.peer.fingerprint`."""
    ours = fingerprints.get("transpile")
    found = {}
    for who, theirs in fingerprints.items() if ours else ():
        if len(ours) != len(theirs):
            found[who] = f"{len(theirs)} results, not {len(ours)}"
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
            difference = max(abs(a - b) for a, b in zip(mine, other, strict=True))
            if not difference <= tolerance * other[0]:
                found[who] = f"result {number} is not ours: {other} {mine}"
    return found


def interpreter_with(module, pythons):
    """The first Python that has a module, if any."""
    for python in pythons:
        if Path(python).exists():
            found = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
            if found.returncode == 0:
                return str(python)
    return None


def contestants(peers, further):
    """{contestant: its Python}; peers, where asked for, in this Python or in the further one."""
    found = dict.fromkeys(("transpile", "numpy", "c"), sys.executable)
    for peer in PEERS if peers else ():
        if peer not in found and peer in CONTESTANTS:
            python = interpreter_with(peer, (sys.executable, further))
            if python:
                found[peer] = python
    return found
