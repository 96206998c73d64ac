"""`python -m transpile watch`: a process that shows a function again when its file is saved."""

import os
import signal
import subprocess
import sys

from places import importing

HELPER = "def doubled(x):\n    return x * 2.0\n"
MODULE = "from helper import doubled\n\n\ndef f(x):\n    return doubled(x) + 1.0\n"


def test_it_shows_what_is_saved_and_errors_and_ends_with_an_interrupt(tmp_path, shared_cache):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "mine.py").write_text(MODULE)
    command = [sys.executable, "-m", "transpile", "watch", "mine:f", "--arg", "float64[3]"]
    pipe, variables = subprocess.PIPE, importing()
    with subprocess.Popen(
        command, cwd=tmp_path, env=variables, stdout=pipe, stderr=pipe, text=True
    ) as process:

        def expect(text):
            while text not in (line := process.stdout.readline()):
                assert line, process.stderr.read()

        expect("/* mine:f, ")
        expect("x[i] * 2.0 + 1.0")
        (tmp_path / "helper.py").write_text(HELPER.replace("2.0", "4.0"))
        expect("x[i] * 4.0 + 1.0")
        (tmp_path / "mine.py").write_text(MODULE.replace("return", "return return"))
        expect("mine cannot be imported: SyntaxError: invalid syntax")
        (tmp_path / "new.py").write_text(MODULE.replace("1.0", "3.0"))
        os.replace(tmp_path / "new.py", tmp_path / "mine.py")
        expect("x[i] * 4.0 + 3.0")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
