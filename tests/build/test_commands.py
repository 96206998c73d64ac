"""Child processes: forks, interrupts, signals and servers meanwhile; what a command inherits."""

import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from child_processes import children

from transpile.build import commands, toolchain
from transpile.build.commands import ChildProcess, environment, output_of, run
from transpile.options import Options


def script(directory, text):
    path = directory / "command"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def is_running(process):
    """Whether a process is there, and is no zombie that its new parent has yet to bury."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(processes, seconds=5.0):
    until = time.monotonic() + seconds
    while any(map(is_running, processes)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(is_running, processes))


def test_a_command_says_what_it_says_and_how_it_ended(tmp_path):
    assert run([script(tmp_path, "echo out; echo err >&2; exit 3")], tmp_path) == (3, "out\nerr\n")
    assert run([script(tmp_path, "kill -9 $$")], tmp_path) == (-9, "")
    assert run(["/bin/sh", "-c", "printf 'a\\377b'"], tmp_path) == (0, "a\udcffb")
    assert output_of([script(tmp_path, "echo out; echo err >&2; exit 3")]) == "out\n"
    assert output_of(["/no/such/command"]) == ""
    with pytest.raises(FileNotFoundError):
        run(["/no/such/command"], tmp_path)
    assert os.listdir(tmp_path) == ["command"]  # and no file with the output


def test_what_takes_longer_to_import_than_a_compiler_to_start_is_not_imported(tmp_path):
    code = """
import sys
from pathlib import Path
import numpy
there = {*sys.modules}
from transpile.build import driver
from transpile.build.commands import run
assert run(["/bin/sh", "-c", "echo out"], Path(sys.argv[1])) == (0, "out\\n")
print({"lzma", "random", "shutil", "tempfile"} & ({*sys.modules} - there))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_long_output_is_whole(tmp_path):
    status, said = run([sys.executable, "-c", "print('x' * 3_000_000)"], tmp_path)
    assert status == 0 and said == "x" * 3_000_000 + "\n"


def test_a_server_that_a_command_leaves_behind_is_not_waited_for(tmp_path):
    begin = time.monotonic()
    status, said = run([script(tmp_path, "sleep 30 & echo $!")], tmp_path)
    assert status == 0 and time.monotonic() - begin < 10
    os.kill(int(said), signal.SIGKILL)


def test_a_child_that_is_forked_while_a_command_starts_does_not_stop_it(monkeypatch, tmp_path):
    """As long as any process holds a pipe of subprocess's, its end is not seen; here the moment in
    which another thread could fork is stretched."""
    inside = threading.Event()
    execute = subprocess.Popen._execute_child

    def slowly(self, *arguments):
        inside.set()
        return execute(self, *arguments)

    pipe = os.pipe

    def slow_pipe():
        ends = pipe()
        time.sleep(0.2)
        return ends

    monkeypatch.setattr(subprocess.Popen, "_execute_child", slowly)
    monkeypatch.setattr(os, "pipe", slow_pipe)
    results = []
    thread = threading.Thread(target=lambda: results.append(run(["/bin/echo", "done"], tmp_path)))
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        thread.join(10)
        assert results == [(0, "done\n")]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        thread.join()


def test_a_forked_child_starts_commands_too(tmp_path):
    child = os.fork()
    if not child:
        os._exit(0 if run(["/bin/echo", "a"], tmp_path) == (0, "a\n") else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("moment", ["before it starts", "while it runs"])
def test_a_child_that_a_signal_handler_forks_is_told_whose_command_it_is(
    moment, monkeypatch, tmp_path
):
    """The handler returns in the child too, where the thread that starts the command is not."""
    children, gate = [], threading.Event()

    def fork(*_):
        children.append(os.fork())
        gate.set()

    start_thread = commands._thread.start_new_thread

    def start(function, arguments):
        if moment == "before it starts":
            start_thread(lambda: (gate.wait(), function(*arguments)), ())
            signal.raise_signal(signal.SIGUSR1)
        else:
            start_thread(function, arguments)

    monkeypatch.setattr(commands._thread, "start_new_thread", start)
    wait = subprocess.Popen.wait

    def interrupted_wait(self, *arguments):
        if not children:
            signal.raise_signal(signal.SIGUSR1)
        return wait(self, *arguments)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted_wait)
    before = signal.signal(signal.SIGUSR1, fork)
    parent, code = os.getpid(), 1
    try:
        said = run([script(tmp_path, "sleep 0.3; echo done")], tmp_path)
    except ChildProcessError as error:
        code = 0 if "forked" in str(error) else 2
    finally:
        if os.getpid() != parent:
            os._exit(code)
        signal.signal(signal.SIGUSR1, before)
    assert said == (0, "done\n")
    until = time.monotonic() + 20
    status = (0, 0)
    while not status[0] and time.monotonic() < until:
        status = os.waitpid(children[0], os.WNOHANG)
        time.sleep(0.02)
    if not status[0]:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
    assert status == (children[0], 0)


def test_signals_that_are_handled_do_not_disturb_a_command(tmp_path):
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        assert run([script(tmp_path, "sleep 0.3; echo done")], tmp_path) == (0, "done\n")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) > 10


def test_what_goes_wrong_meanwhile_ends_the_command_and_its_children(tmp_path):
    path = script(tmp_path, f"sleep 60 & echo $$ $! > {tmp_path}/pids; wait")
    with (
        pytest.raises(RuntimeError),
        ChildProcess([path], tmp_path, environment(tmp_path)) as running,
    ):
        running.start()
        while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text().strip():
            time.sleep(0.01)
        raise RuntimeError
    assert gone((tmp_path / "pids").read_text().split())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of what was being opened
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_leaves_no_process(tmp_path):
    """Also while it starts: an interrupt is raised before each line of the main thread in turn."""
    files = (commands.__file__,)
    surroundings, others = environment(tmp_path), children()
    for number in itertools.count(1):
        count = itertools.count(1)

        def trace(frame, event, _, number=number, count=count):
            code = frame.f_code
            if code.co_filename not in files or code.co_name == "__del__":  # there it is ignored
                return None
            if event == "line" and next(count) == number:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with ChildProcess(["/bin/sleep", "60"], tmp_path, surroundings) as running:
                running.start()
                sys.settrace(before)
                break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert children() <= others  # none that is new, and none to be waited for
    assert number > 20


def test_interrupts_at_any_moment_leave_no_process(tmp_path):
    """Real signals, from before the start of a process until after it, with a fixed spacing."""
    surroundings, others = environment(tmp_path), children()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for moment in range(1, 200):
            try:
                with ChildProcess(["/bin/sleep", "60"], tmp_path, surroundings) as running:
                    signal.setitimer(signal.ITIMER_REAL, moment * 2e-5)
                    running.start()
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert children() <= others
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 10


def test_a_command_starts_where_no_thread_is_to_be_had(monkeypatch, tmp_path):
    def no_thread(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(commands._thread, "start_new_thread", no_thread)
    assert run(["/bin/echo", "a"], tmp_path) == (0, "a\n")


INTERRUPTED = """
    import os, signal, sys, threading
    import numpy as np
    import transpile

    def f(x):
        return np.tanh(x) + 0.25

    g = transpile.jit(f)
    def interrupt():
        while not (os.path.exists(sys.argv[1]) and open(sys.argv[1]).read().strip()):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        g(np.ones(3))
    except KeyboardInterrupt:
        print("interrupted", os.listdir(os.environ["TMPDIR"]))
    os.rename(sys.argv[2], sys.argv[2] + ".off")  # the compiler is quick again
    print(g(np.zeros(3)))
"""


def test_ctrl_c_during_a_compilation_ends_the_compiler_and_the_next_call_works(tmp_path):
    real = shlex.join(toolchain.find_compiler(Options()).command)
    slow, pids = tmp_path / "slow", tmp_path / "pids"
    is_program = f'case "$*" in *entry.c*) test -e {slow} && slow=1;; esac'
    waits = f'test -n "$slow" && {{ sleep 60 & echo $$ $! > {pids}; wait; }}'
    compiler = script(tmp_path, f'{is_program}\n{waits}\nexec {real} "$@"')
    slow.touch()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "main.py").write_text(textwrap.dedent(INTERRUPTED))
    done = subprocess.run(
        [sys.executable, tmp_path / "main.py", pids, slow],
        env={
            **os.environ,
            "TRANSPILE_CC": compiler,
            "TRANSPILE_CACHE_DIR": str(tmp_path / "cache"),
            "TMPDIR": str(tmp_path / "tmp"),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["interrupted []", "[0.25 0.25 0.25]"], done.stderr
    assert gone(pids.read_text().split())
    assert not list((tmp_path / "cache").glob("building/*"))


def test_what_a_command_inherits(monkeypatch, tmp_path):
    """Nothing to read, no file that is open here, no path relative to where it runs, and no
    variable that makes gcc write a file."""
    monkeypatch.setenv("PATH", f":.:bin:/usr/bin::/bin:{tmp_path}/bin:")
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", str(tmp_path / "planted"))
    monkeypatch.setenv("SUNPRO_DEPENDENCIES", str(tmp_path / "planted"))
    with open(os.devnull) as file:
        os.set_inheritable(file.fileno(), True)
        path = script(
            tmp_path, "cat; ls -l /proc/self/fd; pwd; echo PATH=$PATH TMPDIR=$TMPDIR; env"
        )
        status, said = run([path], tmp_path)
    assert status == 0
    assert set(re.findall(r" (\d+) -> ", said)) <= {"0", "1", "2", "3"}  # 3: that of ls
    assert f"\nPATH=/usr/bin:/bin:{tmp_path}/bin TMPDIR={tmp_path}\n" in said
    assert "DEPENDENCIES" not in said
    monkeypatch.setenv("PATH", ".")
    assert commands.environment(tmp_path)["PATH"] == os.defpath


def test_gcc_writes_no_dependencies_that_the_environment_asks_for(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", str(tmp_path / "planted"))
    (tmp_path / "program.c").write_text("int x;\n")
    compiler = toolchain.find_compiler(Options())
    flags = toolchain.flags(compiler, Options())
    toolchain.build_shared(compiler, tmp_path / "program.c", tmp_path / "program.so", flags)
    assert sorted(os.listdir(tmp_path)) == ["program.c", "program.so"]
