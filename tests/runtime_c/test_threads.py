"""The pool of threads: as OpenMP, in C; after forks; and how programs come to it."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from sanitize_threads import SANITIZER, built, has_sanitizer, under_load
from thorough import one_in, thorough

import transpile
from transpile.build import driver, pool_linking, toolchain
from transpile.build.pool_linking import FLAGS, pool_for, wrap_flags
from transpile.build.support_libraries import support_library
from transpile.disk_cache.cache_entry import PROGRAM, THREADS
from transpile.disk_cache.concurrent_steps import SideBySide, most_commands
from transpile.errors import InternalError
from transpile.options import Options
from transpile.util.frozen_records import replace

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "runtime_c" / "python" / "threads.c"
CHECKS = ROOT / "tests" / "c" / "parallel_constructs.c"
COMPILER = toolchain.find_compiler(Options())

pytestmark = [
    pytest.mark.full_level,
    pytest.mark.skipif(
        COMPILER.kind != "gcc" or not COMPILER.openmp, reason="the compiler is not gcc with OpenMP"
    ),
]


# -- in C ------------------------------------------------------------------------------------------


def built_checks(directory, *words):
    """`tests/c/parallel_constructs.c`, linked to the pool."""
    cc = [*COMPILER.command, "-std=gnu11", "-g", "-O1", *words]
    library = directory / "libgomp.so"
    subprocess.run([*cc, "-fPIC", "-shared", "-pthread", SOURCE, "-o", library], check=True)
    program = directory / "checks"
    link = [f"-L{directory}", f"-Wl,-rpath,{directory}", "-pthread", *wrap_flags()]
    subprocess.run([*cc, "-fopenmp", CHECKS, "-o", program, *link], check=True)
    return program


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    program = built_checks(tmp_path_factory.mktemp("checks"))
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "libgomp.so.1" not in needed
    return program


def run(program, *words, processors=None, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run(
        [program, *words],
        env={**kept, **environment},
        preexec_fn=None if processors is None else lambda: os.sched_setaffinity(0, processors),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_constructs_do_what_openmp_says(checks):
    assert run(checks) == ""


@pytest.mark.parametrize("policy", ["active", "passive"])
def test_all_constructs_hold_however_threads_wait(checks, policy):
    assert run(checks, OMP_WAIT_POLICY=policy) == ""


def test_all_constructs_hold_on_one_processor(checks):
    assert run(checks, processors={min(os.sched_getaffinity(0))}) == ""


@thorough
def test_the_thread_sanitizer_finds_no_race(tmp_path):
    if not has_sanitizer(COMPILER, tmp_path):
        pytest.skip("the compiler has no thread sanitizer that runs here")
    assert run(built_checks(tmp_path, SANITIZER)) == ""


@pytest.mark.parametrize("words", [[], [SANITIZER]])
@one_in(2)  # the others in `make sanitize`, too
def test_the_pool_holds_under_load(tmp_path, words):
    """For longer, and with more threads: `make sanitize`."""
    if words and not has_sanitizer(COMPILER, tmp_path):
        pytest.skip("the compiler has no thread sanitizer that runs here")
    assert under_load(built(COMPILER, tmp_path / "load", *words), 12, 0.7) == ""


@pytest.mark.parametrize(
    "given, expected",
    [("3", 3), ("1", 1), ("5,2", 5), ("nonsense", None), ("0", None), ("-2", None), (None, None)],
)
def test_teams_are_as_large_as_the_environment_says(checks, given, expected):
    settings = {} if given is None else {"OMP_NUM_THREADS": given}
    processors = expected or len(os.sched_getaffinity(0))
    assert run(checks, "sizes", **settings) == f"{processors} {processors}\n"


def test_teams_are_as_large_as_the_processors_allowed(checks):
    one = {min(os.sched_getaffinity(0))}
    assert run(checks, "sizes", processors=one) == "1 1\n"


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"OMP_NUM_THREADS": "6", "OMP_THREAD_LIMIT": "4"}, 4),
        ({"OMP_NUM_THREADS": " 4 , 2"}, 4),
        ({"OMP_NUM_THREADS": "4x"}, None),
        ({"OMP_NUM_THREADS": "100000"}, None),
        ({"OMP_THREAD_LIMIT": "1"}, 1),
        ({"OMP_NUM_THREADS": "64", "OMP_DYNAMIC": "true"}, None),
        ({"OMP_NUM_THREADS": "64", "OMP_DYNAMIC": "false"}, 64),
        ({"OMP_NUM_THREADS": "3", "OMP_PROC_BIND": "close"}, 3),
        ({"OMP_NUM_THREADS": "3", "OMP_PROC_BIND": "false"}, 3),
    ],
)
def test_variables_of_openmp_decide_together(checks, settings, expected):
    expected = expected or len(os.sched_getaffinity(0))
    assert run(checks, "sizes", **settings) == f"{expected} {expected}\n"


@pytest.mark.parametrize("bind", ["true", "false", "close", "spread", "master"])
@one_in(3)
def test_all_constructs_hold_wherever_threads_run(checks, bind):
    assert run(checks, OMP_PROC_BIND=bind) == ""


def test_workers_have_the_stack_that_programs_need(checks):
    """Whatever the limit of the main thread's is, from which the system takes that of others."""

    def limited():
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, resource.RLIM_INFINITY))

    words = [checks, "deep"]
    done = subprocess.run(words, preexec_fn=limited, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{3 * 1024}\n")


BOUND = """
import json, os
import numpy as np
import transpile
before = set(os.listdir("/proc/self/task"))
f = transpile.jit(lambda x: np.exp(x) * 3, compiler_options={"num_threads": 3})
for _ in range(3):
    f(np.ones(300_000))
workers = sorted(set(os.listdir("/proc/self/task")) - before)
print(json.dumps([sorted(os.sched_getaffinity(int(worker))) for worker in workers]))
"""


@thorough
def test_where_workers_run_is_as_the_environment_says():
    def places(bind):
        environment = {**os.environ, "OMP_PROC_BIND": bind}
        words = [sys.executable, "-c", BOUND]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        return json.loads(done.stdout)

    everywhere = sorted(os.sched_getaffinity(0))
    assert places("false") == [everywhere, everywhere]
    assert [len(processors) for processors in places("close")] == [1, 1]


def test_a_child_counts_its_processors_anew(program):
    def child():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        f = transpile.jit(lambda x: np.exp(x) * 3)
        f(np.ones(300_000))
        assert len(os.listdir("/proc/self/task")) == 1

    transpile.jit(lambda x: np.exp(x) * 3)(np.ones(300_000))
    assert fork(child) == 0


@pytest.mark.parametrize("how", ["LD_PRELOAD", "RTLD_GLOBAL"])
def test_another_openmp_in_the_process_is_not_taken_for_the_pool(how):
    code = """
import ctypes, os, sys
if sys.argv[1] == "RTLD_GLOBAL":
    ctypes.CDLL("libgomp.so.1", ctypes.RTLD_GLOBAL)
ctypes.CDLL(None).GOMP_parallel  # it is there for everyone
import numpy as np
import transpile
f = transpile.jit(lambda x: np.exp(x) * 3, compiler_options={"num_threads": 3})
x = np.ones(300_000)
f(x)
pid = os.fork()
f(x)
if pid == 0:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    environment = {**os.environ, **({"LD_PRELOAD": "libgomp.so.1"} if how == "LD_PRELOAD" else {})}
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, how]
    subprocess.run(words, check=True, timeout=60, env=environment)


@thorough
@pytest.mark.parametrize("count", [1, 2])
@one_in(2)
def test_matrix_products_and_transforms_have_no_more_threads_than_asked_for(count):
    code = f"""
import os
import numpy as np
import transpile
before = len(os.listdir("/proc/self/task"))
options = {{"num_threads": {count}, "opt_level": 1}}
random = np.random.default_rng(0)
x = random.normal(size=(600, 600))
deep = random.normal(size=(8, 100_000))
rows = random.random((2000, 300))
calls = [
    (lambda x: x @ x, x),
    (lambda x: np.tanh(x @ x) @ x, x),
    (lambda x: x @ x.T, deep),
    (np.fft.fft, deep),
    (lambda x: np.sort(x, axis=1), rows),
    (lambda x: np.cumsum(x, axis=1), deep),
    (lambda x: np.exp(x).sum(axis=0), rows),
]
for function, argument in calls:
    got = transpile.jit(function, compiler_options=options)(argument)
    np.testing.assert_allclose(got, function(argument), rtol=1e-6, atol=1e-6)
    assert len(os.listdir("/proc/self/task")) - before < {count}, function
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "5", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# -- in Python -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program():
    @transpile.jit(compiler_options={"num_threads": 3})
    def triple(x):
        return np.exp(x) * 3

    check(triple)
    assert triple.lower(np.ones(300_000)).compile()._executable.entry.path(THREADS).is_file()
    return triple


def check(function):
    x = np.linspace(-1, 1, 300_000)
    np.testing.assert_allclose(function(x), 3 * np.exp(x), rtol=1e-14)


def test_threads_of_python_share_the_pool(program):
    failures = []

    def work():
        try:
            for _ in range(20):
                check(program)
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == [] and not any(thread.is_alive() for thread in threads)


CHILD = """
import json, os, time
import numpy as np
import transpile
before = set(os.listdir("/proc/self/task"))
allowed = os.sched_getaffinity(0)
f = transpile.jit(lambda x: np.exp(x) * 3, compiler_options={"num_threads": 3})
f(np.ones(300_000))
workers = sorted(set(os.listdir("/proc/self/task")) - before)
def status(worker, field):
    with open(f"/proc/self/task/{worker}/status") as file:
        return next(line.split()[1] for line in file if line.startswith(field))
end = time.monotonic() + 10
while time.monotonic() < end and any(status(w, "State") != "S" for w in workers):
    time.sleep(0.01)
left_out = [sorted(allowed - os.sched_getaffinity(int(worker))) for worker in workers]
blocked = [int(status(worker, "SigBlk"), 16) for worker in workers]
print(json.dumps([[status(w, "State") for w in workers], blocked, left_out]))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="there is no /proc to look at")
def test_workers_fall_asleep_and_leave_signals_and_a_processor_to_others():
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    states, blocked, left_out = json.loads(done.stdout)
    assert states == ["S", "S"]
    assert all(signals >> (signal.SIGINT - 1) & 1 for signals in blocked)
    fewest = 1 if len(os.sched_getaffinity(0)) > 1 else 0  # the one where the calling thread was
    assert [len(processors) for processors in left_out] == [fewest, fewest]


def test_a_program_without_parallel_loops_has_no_pool(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path))
    entry = transpile.jit(lambda x: x + 1).lower(np.ones(3)).compile()._executable.entry
    assert not entry.path(THREADS).exists() and not entry.path("libgomp.so").exists()
    assert b"libgomp.so" not in entry.path(PROGRAM).read_bytes()
    assert not list(tmp_path.glob("transpile_threads-*"))


@pytest.mark.skipif(most_commands() < 2, reason="one processor compiles nothing beside Python")
def test_the_pool_is_compiled_while_a_large_program_is_lowered(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path))
    begun = []
    schedule = driver.schedule

    def noted(*arguments):
        begun.append([*tmp_path.glob("building/transpile_threads-*")])
        return schedule(*arguments)

    monkeypatch.setattr(driver, "schedule", noted)
    large, small = np.ones(2_000_000), np.ones(3)
    transpile.jit(lambda x: x + 1).lower(small).compile()
    program = transpile.jit(lambda x: x + 1).lower(large).compile()
    assert [len(found) for found in begun] == [0, 1]
    assert program._executable.entry.path(THREADS).exists()


def test_a_pool_that_was_begun_in_vain_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(pool_linking, "is_large", lambda graph, options: True)
    monkeypatch.setattr(pool_linking, "most_commands", lambda: 2)
    entry = transpile.jit(lambda x: x + 2).lower(np.ones(3)).compile()._executable.entry
    assert not entry.path(THREADS).exists() and not entry.path("libgomp.so").exists()
    assert not list(tmp_path.glob("transpile_threads-*"))
    assert not list((tmp_path / "building").iterdir())


@pytest.mark.parametrize("wanted", [Options(openmp=False), Options()])
def test_the_pool_is_for_gcc_with_openmp(tmp_path, wanted):
    compiler = replace(COMPILER, kind="clang") if wanted.openmp else COMPILER
    jobs = SideBySide(1)
    with jobs, pool_for(compiler, wanted, tmp_path, jobs) as pool:
        pool.begin()
        pool.settle(runs_threads=True)
        assert pool.link_flags == ()
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_was_linked_to_another_library_is_refused(tmp_path):
    refused = pytest.raises(
        InternalError, match=r"program\.so was not linked to transpile's threads"
    )
    source = tmp_path / "program.c"
    source.write_text("void f(void) {\n#pragma omp parallel\nf();\n}\n")
    jobs = SideBySide(1)
    with refused, jobs, pool_for(COMPILER, Options(), tmp_path, jobs) as pool:
        pool.settle(runs_threads=True)
        jobs.finish()
        assert pool.link_flags[0] == "-L." and (tmp_path / "libgomp.so").is_file()
        build = [*COMPILER.command, "-fopenmp", "-fPIC", "-shared", source]
        subprocess.run([*build, "-o", tmp_path / PROGRAM], check=True)


def test_a_saved_program_needs_the_systems_openmp(program, tmp_path):
    paths = program.lower(np.ones(300_000)).compile().save(tmp_path)
    content = paths[0].read_bytes()
    assert b"libgomp.so.1" in content and b"libtranspile-threads" not in content


@thorough
def test_a_damaged_pool_is_built_again(tmp_path):
    code = """
import numpy as np
import transpile
f = transpile.jit(lambda x: np.exp(x) * 3)
x = np.ones(300_000)
assert (f(x) == f(x)).all()
print(f.lower(x).compile()._executable.entry.path("threads.so"))
"""

    def path():
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "TRANSPILE_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    first = path()
    with open(first, "r+b") as file:
        file.truncate(1000)
    assert path() == first
    assert os.path.getsize(first) == own_library_size()


def own_library_size():
    return support_library("threads", FLAGS, lambda entry: len(entry.read("threads.so")))


# -- after a fork ----------------------------------------------------------------------------------


def fork(function, seconds=20):
    """The exit status of a forked child that runs `function`; it is killed after `seconds`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the pool's threads, from Python 3.12
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
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def test_a_forked_child_calls_without_hanging(program):
    def child():
        check(program)
        if os.path.isdir("/proc/self/task"):
            assert len(os.listdir("/proc/self/task")) == 3  # it has a pool of its own

    assert fork(child) == 0
    check(program)


def test_children_of_children_call_without_hanging(program):
    def child():
        check(program)
        assert fork(grandchild) == 0
        check(program)

    def grandchild():
        check(program)
        assert fork(lambda: check(program)) == 0

    assert fork(child) == 0


def test_threads_of_a_forked_child_call_without_hanging(program):
    def child():
        threads = [threading.Thread(target=check, args=(program,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        check(program)
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)

    assert fork(child) == 0


def test_a_child_forked_while_others_are_in_loops_calls_without_hanging(program):
    done = threading.Event()

    def work():
        while not done.is_set():
            check(program)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [fork(lambda: check(program)) for _ in range(5)] == [0] * 5
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_child_forked_while_another_thread_compiles_compiles_too(program):
    """What the other thread has locked then, it never unlocks in the child."""
    is_traced, is_forked = threading.Event(), threading.Event()

    @transpile.jit
    def slow(x):
        if threading.current_thread() is not threading.main_thread():
            is_traced.set()
            is_forked.wait(30)
        return x + 1

    other = threading.Thread(target=slow, args=(np.ones(3),))
    other.start()
    try:
        assert is_traced.wait(30)

        def child():
            assert slow(np.ones(3)).tolist() == [2, 2, 2]
            check(program)

        assert fork(child) == 0
    finally:
        is_forked.set()
        other.join()
    assert slow(np.ones(3)).tolist() == [2, 2, 2]


def test_a_forked_child_exits_normally():
    code = """
import os, sys
import numpy as np
import transpile
f = transpile.jit(lambda x: np.exp(x) * 3)
x = np.ones(300_000)
f(x)
pid = os.fork()
f(x)
if pid:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    subprocess.run(command, check=True, timeout=60)


def test_what_runs_threads_is_asked_of_the_loops_and_not_of_the_text():
    def text_of(function, size):
        return transpile.jit(function).lower(np.ones(size))._lowering.rendered("program.h")

    quoted = text_of(lambda x: x + 1, 3)  # #pragma omp parallel
    assert "#pragma omp parallel" in quoted.source and not quoted.runs_threads
    assert text_of(lambda x: np.sin(x), 1_000_000).runs_threads
    assert not text_of(lambda x: np.sin(x), 100).runs_threads
