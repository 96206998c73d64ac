"""The end of a process, and what callbacks do to it: daemon threads in programs, calls at exit and
in finalizers, callbacks that raise, exit, fork or call back, other ways to start processes."""

import os
import subprocess
import sys
import textwrap

import pytest
from thorough import one_in

HEAD = """
import atexit, gc, os, signal, sys, threading, time
import numpy as np, transpile
x, y = np.ones((60, 60)), np.ones(600_000)
j = transpile.jit(lambda x: np.tanh(x @ x) + np.sort(x, axis=0))
large = transpile.jit(lambda y: y * 2)
loop = transpile.jit(lambda y: transpile.lax.fori_loop(0, 4, lambda i, c: np.sin(c), y))

def with_callback(callback):
    return transpile.jit(lambda x: (transpile.debug.callback(callback, x.sum()), x + 1)[1])

if __name__ == "__main__":
    for _ in range(120):  # past the hundredth call, which is made in C
        j(x[:4, :4].copy())
    j(x), large(y), loop(y)
"""
CASES = {
    "daemon threads in programs": """
        for f, a in ((j, x), (large, y), (loop, y)):
            work = lambda f=f, a=a: [f(a) for _ in range(10**6)]
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        print("main ends")
    """,
    "the process ends at once": """
        for f, a in ((j, x), (large, y), (loop, y)):
            threading.Thread(target=lambda: [f(a) for _ in range(10**6)]).start()
        time.sleep(0.1)
        print("main ends", flush=True)
        os._exit(0)
    """,
    "a thread that ends by itself": """
        thread = threading.Thread(target=lambda: (j(x), sys.exit(1)))
        thread.start()
        thread.join()
        print("main ends")
    """,
    "calls at exit": """
        atexit.register(lambda: print(transpile.jit(lambda x: x * 3)(x)[0, 0]))
        atexit.register(lambda: print(j(x).shape, large(y)[0]))
        print("main ends")
    """,
    "calls in finalizers": """
        class Last:
            def __del__(self):
                print(j(x).shape, large(y)[0], flush=True)
        alone, cycle = Last(), [Last()]
        cycle.append(cycle)
        print("main ends", flush=True)
    """,
    "large results in cycles": """
        class Holder: pass
        holder = Holder()
        holder.views, holder.itself = [large(y)[k:] for k in range(4)], holder
        print("main ends")
    """,
    "callbacks that raise": """
        def calls(action, kind):
            def callback(value):
                action()
            f = with_callback(callback)
            for _ in range(3):
                try:
                    f(x)
                except kind as error:
                    caught.append(type(error).__name__)
            assert j(x).shape == x.shape
        caught = []
        def fail(): raise KeyError("mine")
        calls(fail, KeyError)
        calls(lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)
        calls(lambda: sys.exit(3), SystemExit)
        print(caught)
        assert caught == ["KeyError"] * 3 + ["KeyboardInterrupt"] * 3 + ["SystemExit"] * 3
    """,
    "callbacks that call": """
        depth, seen = [1] * 20, []
        def callback(value):
            seen.append(float(value))
            if depth:
                depth.pop()
                f(x)
                transpile.jit(lambda v: v + len(depth))(value)
        f = with_callback(callback)
        f(x)
        assert seen == [3600.0] * 21
        threads = [threading.Thread(target=lambda: [f(x) for _ in range(20)]) for _ in range(6)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert len(seen) == 141
        print("main ends")
    """,
    "callbacks that fork": """
        def callback(value):
            child = os.fork()
            if child == 0:
                right = j(x).shape == x.shape and transpile.jit(lambda x: x * 5)(y)[0] == 5
                os._exit(not right or loop(y).shape != y.shape)
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        statuses = []
        with_callback(callback)(x)
        print(statuses)
        assert statuses == [0]
    """,
    "callbacks that let their argument go": """
        held = [x.copy()]
        def callback(value):
            held.clear()
            gc.collect()
        assert with_callback(callback)(held[0])[0, 0] == 2
        print("main ends")
    """,
    "a reloaded package": """
        import importlib
        importlib.reload(transpile)
        assert j(x).shape == x.shape
        print(transpile.jit(lambda x: x + 1)(x)[0, 0])
    """,
    "little room to recurse": """
        sys.setrecursionlimit(200)
        def deep(n):
            return (j(x), large(y)) if n == 0 else deep(n - 1)
        print(deep(150)[0].shape)
    """,
    "another interpreter": """
        interpreters = __import__(
            "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
        other = interpreters.create()
        try:  # NumPy does not run in two
            interpreters.run_string(other, "import numpy, transpile")
        except Exception as error:
            print(type(error).__name__)
        interpreters.destroy(other)
        assert j(x).shape == x.shape and transpile.jit(lambda x: x + 2)(x)[0, 0] == 3
        print("main ends")
    """,
    "threads of an event loop": """
        import asyncio
        async def main():
            new = transpile.jit(lambda x: x * 7)
            calls = [asyncio.to_thread(f, x) for f in (j, new) * 10]
            return await asyncio.gather(*calls)
        print(len(asyncio.run(main())))
    """,
    "started processes": """
        import concurrent.futures as futures, multiprocessing as mp, pickle
        if __name__ == "__main__":
            dumped = pickle.dumps(j.lower(x).compile())
            for method in ("spawn", "forkserver", "fork"):
                with futures.ProcessPoolExecutor(1, mp.get_context(method)) as pool:
                    made = pool.submit(pickle.loads, dumped)
                    assert np.array_equal(made.result()(x), j(x))
            print("main ends")
    """,
}


@pytest.mark.parametrize("name", CASES)
@one_in(6)
def test_the_process_ends_well(name, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + textwrap.dedent(CASES[name]), encoding="utf-8")
    mode = ["-X", "dev"] if len(name) % 2 else []
    done = subprocess.run(
        [sys.executable, *mode, "-W", "ignore", str(path)],
        capture_output=True,
        text=True,
        timeout=200,
        env=dict(os.environ),
    )
    assert done.returncode == 0 and done.stderr == "" and done.stdout, done.stdout + done.stderr
