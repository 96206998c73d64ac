"""What saved files say that they were made of, and `python -m transpile inspect` reads."""

import json
import random
import re
import subprocess

import numpy as np
import pytest
from places import ROOT
from thorough import thorough

import transpile
from transpile.__main__ import main
from transpile.artifact import Library
from transpile.artifact.provenance import read_provenance
from transpile.codegen.plan.provenance import path_in_package
from transpile.options import Options

WAVES = """
import numpy as np


def wave(x):
    return np.sin(x)


def café(x):
    return x * 2.0
"""
EVIL = """
#include "wave.c"
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) { abort(); }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory, shared_cache):
    """The files of a library of two functions of a module of a package."""
    folder = tmp_path_factory.mktemp("made of")
    package = folder / "models"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "waves.py").write_text(WAVES, encoding="utf-8")
    space = {}
    exec(compile(WAVES, str(package / "waves.py"), "exec"), space)
    options = {"march": "x86-64,x86-64-v3" if transpile_is_x86_64() else "", "fast_math": True}
    functions = {
        name: transpile.jit(space[of], compiler_options=options).lower(np.ones(4))
        for name, of in (("wave", "wave"), ("drink", "café"))
    }
    Library("waves", functions).write(folder / "lib", ["archive", "metadata"])
    return folder / "lib"


def transpile_is_x86_64():
    return transpile.build.processors.asks_processor(
        transpile.build.processors.processors_of(Options())
    )


@thorough
@pytest.mark.parametrize("name", ["libwaves.so", "libwaves.a", "waves.json"])
def test_a_library_says_it_of_each_function(made, name):
    wave, drink = read_provenance(made / name)
    assert (wave["function"], wave["python"], wave["source"]) == (
        "wave",
        "wave",
        "models/waves.py:5",
    )
    assert (drink["function"], drink["python"]) == ("drink", "café")
    assert drink["source"] == "models/waves.py:9"
    for record in (wave, drink):
        assert record["transpile"] == transpile.__version__
        assert record["options"]["fast_math"] is True and "march" in record["options"]
        number = re.search(
            r"\d+\.\d+\.\d+", transpile.build.toolchain.find_compiler(Options()).version
        )
        assert number[0] in record["compiler"]
        assert not any(str(ROOT) in str(value) for value in record.values())


def test_a_c_file_says_it_and_what_is_compiled_of_it(made, tmp_path):
    (wave,) = read_provenance(made / "wave.c")
    (drink,) = read_provenance(made / "drink.c")
    assert "compiler" not in wave and drink["python"] == "café"
    command = ["cc", "-c", f"-I{made}", "-ffreestanding", "-o", tmp_path / "f.o", made / "wave.c"]
    subprocess.run(command, check=True)
    with pytest.raises(ValueError, match=r"f\.o does not say what it was made of"):
        read_provenance(tmp_path / "f.o")
    command.remove("-ffreestanding")
    subprocess.run(command, check=True)
    (compiled,) = read_provenance(tmp_path / "f.o")
    compiler = compiled.pop("compiler")
    assert compiled == wave and compiler.split()[0] in ("gcc", "clang")


def test_nothing_of_a_file_is_run(made, tmp_path, capsys):
    (tmp_path / "evil.c").write_text(EVIL)
    command = ["cc", "-shared", "-fPIC", f"-I{made}", "-o", tmp_path / "evil.so", "evil.c", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert main(["inspect", str(tmp_path / "evil.so")]) == 0
    assert "wave in models/waves.py:5" in capsys.readouterr().out


def test_the_command_prints_it_for_people_and_as_json(made, capsys):
    paths = [str(made / "libwaves.so"), str(made / "wave.c")]
    assert main(["inspect", *paths]) == 0
    said = capsys.readouterr().out
    assert "  from       café in models/waves.py:9\n" in said and "fast_math=true" in said
    assert "that of whoever compiles this file" in said
    assert main(["inspect", "--json", *paths]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[paths[0]] == read_provenance(made / "libwaves.so")


def test_files_without_it_are_errors(made, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("transpile-provenance 1\nfunction: f\n")
    (tmp_path / "a.json").write_text('{"provenance": [1, {"function": "\\u001b[31mred"}]}')
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "a.so"], check=True)
    names = ["a.txt", "a.so", "none.so"]
    assert main(["inspect", *(str(tmp_path / name) for name in [*names, "a.json"])]) == 1
    done = capsys.readouterr()
    first, second, third = done.err.splitlines()
    assert "a.txt does not say what it was made of" in first and "a.so does not" in second
    assert third.endswith("none.so: No such file or directory")
    assert "\\x1b[31mred" in done.out and "\x1b" not in done.out


@pytest.mark.parametrize("name", ["libwaves.so", "libwaves.a"])
def test_damaged_files_are_errors_of_one_kind(made, tmp_path, name):
    whole, draw, path = (made / name).read_bytes(), random.Random(0), tmp_path / "damaged"
    outcomes = set()
    for _ in range(150):
        data = bytearray(whole[: draw.choice([len(whole), draw.randrange(64, len(whole))])])
        for _ in range(draw.randrange(4)):
            data[draw.choice([draw.randrange(64), draw.randrange(len(data))])] ^= 1 << 5
        path.write_bytes(data)
        try:
            outcomes.add(len(read_provenance(path)))
        except ValueError as error:
            assert str(path) in str(error)
            outcomes.add("refused")
    assert {2, "refused"} <= outcomes


def test_paths_are_those_in_packages_unless_lines_are_for_a_debugger(tmp_path):
    def f(x):
        return x + 1.0

    assert path_in_package("/no/such/folder/a.py") == "a.py"
    lowered = transpile.jit(f, compiler_options={"debug": True}).lower(np.ones(3))
    lowered.save(tmp_path, "with_debug")
    (record,) = read_provenance(tmp_path / "with_debug.so")
    assert record["source"].startswith(f"{__file__}:") and record["options"]["debug"] is True
