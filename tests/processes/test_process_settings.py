"""What a process is set to does not reach the text of a program, its key or its results."""

import json
import os
import subprocess
import sys

import process_settings
import pytest
from places import ROOT, SUPPORT
from thorough import THOROUGH, each, thorough

pytestmark = pytest.mark.full_level

SCRIPT = SUPPORT / "process_settings.py"
# Under these the program is computed, as NumPy is, with the modes that are set.
MODES = {"flush to zero", "round upwards", "round to zero"}

# Of NumPy's print options there is one, and of what Python does in other arithmetic.
SIMILAR = {"legacy 1.25", "precision", "decimal", "warnings"}

# Of the environment, and Python's switches: three processes for all of them.
SURROUNDINGS = {
    "German, -O": (
        {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "PYTHONHASHSEED": "4"},
        ["-O", "-W", "error"],
    ),
    "plain C, -OO": (
        {
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONIOENCODING": "ascii",
            "PYTHONOPTIMIZE": "2",
            "PYTHONWARNINGS": "error",
        },
        ["-OO", "-X", "dev"],
    ),
    "of gcc, -I": (
        {
            "GCC_COLORS": "error=01;31",
            "LD_LIBRARY_PATH": "/nowhere",
            "LD_BIND_NOW": "1",
            "SOURCE_DATE_EPOCH": "1",
            "COLUMNS": "20",
            "OMP_NUM_THREADS": "3",
            "OMP_PROC_BIND": "true",
        },
        ["-I", "-B", "-X", "utf8=0"],
    ),
}


def found(cache, *settings, switches=(), variables=None):
    """What the script prints for each of these settings, in processes forked from one."""
    command = [sys.executable, *switches, str(SCRIPT), str(cache), *settings]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("{")]
    return dict(zip(settings, map(json.loads, lines), strict=True))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """By setting, what came of it: each has its cache, and so compiles the programs itself."""
    settings = [s for s in process_settings.SETTINGS if THOROUGH or s not in SIMILAR]
    return found(tmp_path_factory.mktemp("caches"), *settings)


@each("setting", [s for s in process_settings.SETTINGS if s != "none"], lambda s: s not in SIMILAR)
def test_settings_of_python_numpy_and_the_system_reach_nothing(setting, everything):
    usual, here = everything["none"], everything[setting]
    for name, facts in here.items():
        wanted = dict(usual[name])
        assert facts["is_numpys"], name
        if setting in MODES:
            wanted["results"] = facts["results"]
        assert facts == wanted, name


def test_modes_are_those_that_the_table_means(everything):
    """Rounding and subnormal numbers do reach results, which are NumPy's."""
    usual = everything["none"]
    for setting in MODES:
        differing = [n for n in usual if usual[n]["results"] != everything[setting][n]["results"]]
        assert differing, setting


@each("name", SURROUNDINGS, lambda name: name == next(iter(SURROUNDINGS)))
def test_environment_variables_and_switches_of_python_reach_nothing(name, everything, tmp_path):
    variables, switches = SURROUNDINGS[name]
    here = found(tmp_path, "none", variables=variables, switches=switches)
    assert here["none"] == everything["none"]


def test_where_headers_are_searched_is_part_of_the_key_and_not_of_the_text(everything, tmp_path):
    variables = {"CPATH": str(tmp_path), "LIBRARY_PATH": str(tmp_path)}
    for name, facts in found(tmp_path, "none", variables=variables)["none"].items():
        usual = everything["none"][name]
        assert facts["key"] != usual["key"]
        assert {**facts, "key": ""} == {**usual, "key": ""}


@thorough
def test_a_program_of_a_process_that_flushes_serves_one_that_does_not(tmp_path):
    """What such a process leaves in the cache has not lost its subnormal numbers."""
    flushed = found(tmp_path, "flush to zero")["flush to zero"]
    plain = found(tmp_path, "none")["none"]  # in the same cache
    assert plain["constants"]["is_numpys"]
    assert plain["constants"]["key"] == flushed["constants"]["key"]
