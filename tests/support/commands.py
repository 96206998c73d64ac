"""Commands of `python -m transpile` in processes of their own, forked from one that has imported
the package: the import takes more than twice as long as most commands.

    with Commands() as commands:
        done = commands.run(["cache", "list"], cwd=folder, env={**os.environ, ...})

Run as a program it is that one process: a line of its input asks for a command, a line of its
output is the exit code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class Commands:
    """The process that has imported the package, as long as it is needed."""

    def __enter__(self):
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=pipe, stdout=pipe, text=True
        )
        return self

    def __exit__(self, *_):
        self._server.communicate()
        assert self._server.returncode == 0

    def run(self, words, cwd, env):
        """What `subprocess.run([sys.executable, "-m", "transpile", *words])` returns, with text."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("stdout", "stderr")]
            asked = {"words": words, "cwd": str(cwd), "env": env, "files": list(map(str, files))}
            self._server.stdin.write(json.dumps(asked) + "\n")
            self._server.stdin.flush()
            code = int(self._server.stdout.readline())
            return subprocess.CompletedProcess(words, code, *(f.read_text() for f in files))


def serve():
    """Fork a child for each line, which returns from here with what it is to do."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def become(words, cwd, env, files):
    """Make this process the one that a shell would have started in a folder."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[1:] = words
    sys.path[0] = cwd
    for descriptor, name in zip((1, 2), files, strict=True):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


if __name__ == "__main__":
    from transpile.__main__ import main

    asked = serve()
    if asked is not None:
        become(**asked)
        sys.exit(main())
