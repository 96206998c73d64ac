"""The benchmarks run, check that the contestants agree, name those who fail, and keep what they
measured."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from thorough import each, one_in, thorough

import transpile
from benchmarks import (
    assignments,
    chart,
    compile_time,
    contest,
    first_call_cases,
    first_calls,
    growth,
    hand_written,
    library_sizes,
    loop_programs,
    networks,
    overhead,
    sizes,
    tables,
)
from benchmarks.cases import ARRAYS, CASES, LOOPS, NETWORKS
from benchmarks.every_case import EVERY_CASE, base_name
from benchmarks.peer import CONTESTANTS, fingerprint
from benchmarks.trees import leaves
from transpile import tree
from transpile.ir.dims import Dim

pytestmark = pytest.mark.full_level

ROOT = Path(__file__).parents[2]
HERE = dict.fromkeys(("transpile", "numpy", "c"), sys.executable)
ONE_ROUND = contest.Limits(rounds=1)

# Small enough to be compared here; `python -m benchmarks` compares all of them.
SMALL = {
    "elementwise": lambda r: (r.standard_normal(1003, np.float32), r.random(1003, np.float32)),
    "softmax": lambda r: (5 * r.standard_normal((7, 33), np.float32),),
    "logsumexp": lambda r: (5 * r.standard_normal((7, 33), np.float32),),
    "column_statistics": lambda r: (r.standard_normal((11, 600), np.float32) + 3,),
    "transposed_add": lambda r: tuple(r.standard_normal((2, 48, 48), np.float32)),
    "nbody": lambda r: (r.standard_normal((50, 3), np.float32), r.random(50, np.float32)),
    "cumulative_sum": lambda r: (r.standard_normal(200_003, np.float32),),
    "histogram": lambda r: (3 * r.standard_normal(5001, np.float32),),
    "sort": lambda r: (r.standard_normal(5001, np.float32),),
    "kmeans_step": lambda r: (r.random((1003, 8), np.float32), r.random((16, 8), np.float32)),
    "matmul_float32": lambda r: (r.random((37, 301), np.float32), r.random((301, 45), np.float32)),
    "matmul_float64": lambda r: (r.random((9, 700)), r.random((700, 17))),
    "moving_average": lambda r: (r.standard_normal(1003),),
    "floyd_warshall": lambda r: (r.exponential(size=(40, 40)),),
    "nussinov": lambda r: (r.integers(0, 4, 40),),
    "rosenbrock_hessian": lambda r: (r.standard_normal(13),),
    "mandelbrot": lambda r: loop_programs.plane(r, 32),
    "layer_norm": lambda r: tuple(r.random(shape, np.float32) for shape in ((7, 33), 33, 33)),
    "scatter": lambda r: (r.random(1003, np.float32), r.integers(0, 65536, 1003)),
    "dense_gelu": lambda r: tuple(
        r.standard_normal(shape, np.float32) / 3 for shape in ((9, 40), (40, 70), 70)
    ),
    "conv2d": lambda r: (
        r.random((2, 3, 13, 20), np.float32),
        r.standard_normal((16, 3, 3, 3), np.float32),
    ),
    "mlp_gradient_small": lambda r: networks.classifier(r, 1, (16, 32, 32, 4)),
    "mlp_training_step": lambda r: networks.classifier(r, 4, (784, 512, 512, 10)),
    "lstm_gradient": lambda r: networks.lstm(r, 6, 8, 5, 32),
    "attention_training_step": lambda r: networks.transformer(r, 2, 32, 256, 2),
    "convolutional_training_step": lambda r: networks.convolutional(r, 3),
}


# What their compilers take longest for.
LONG = {case for case in SMALL if case.endswith("training_step")}
LONG |= {"lstm_gradient", "matmul_float32", "conv2d"}


def run(*words):
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A folder in which hand-written C is compiled once."""
    folder = tmp_path_factory.mktemp("libraries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(hand_written.BUILT, str(folder / "c"))
        yield folder


@thorough
def test_a_run_prints_a_table_and_a_summary_and_keeps_the_numbers(tmp_path):
    words = ("--only", "small_call", "--only", "lu_numbers", "--rounds", "2")
    done = run(*words, "--without-peers", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    for word in ("best", "median", "transpile", "numpy", "C compiler", "geometric mean"):
        assert word in done.stdout
    assert "slower than the best peer" in done.stdout
    (file,) = tmp_path.glob("*.json")
    kept = json.loads(file.read_text())
    assert set(kept["cases"]["small_call"]) == {"transpile", "numpy", "c"}
    assert set(kept["summary"]["small_call"]["ratios"]) == {"numpy", "c"}
    assert kept["machine"]["cores"] >= 1
    ours = kept["cases"]["lu_numbers"]["transpile"]
    assert len(ours["seconds"]) == 6
    assert ours["steps"]["C compiler"] > ours["steps"]["run"] > 0
    assert ours["peak"] >= ours["before"] > 2**24


@thorough
def test_who_cannot_take_part_is_named_and_the_others_go_on(libraries):
    pythons = {"transpile": sys.executable, "numpy": "/bin/false", "c": sys.executable}
    outcome = contest.compare("small_call", pythons, ONE_ROUND, libraries)
    assert set(outcome.found) == {"transpile", "c"}
    assert outcome.failed == {"numpy": "the process has ended without a word"}
    lines = tables.case_lines("small call", outcome)
    assert lines[-1] == "  numpy FAILED: the process has ended without a word"


def test_without_ours_the_others_are_still_measured(libraries):
    pythons = {**HERE, "transpile": "/bin/false"}
    outcome = contest.compare("small_call", pythons, ONE_ROUND, libraries)
    assert set(outcome.found) == {"c", "numpy"}
    assert set(outcome.failed) == {"transpile"}
    assert tables.summary({"small_call": outcome.found}) == {}
    assert "numpy" in "\n".join(tables.case_lines("small call", outcome))


@each("case", SMALL, lambda case: case not in LONG)
def test_hand_written_c_gives_what_transpile_gives(case, libraries):
    arguments = SMALL[case](np.random.default_rng(0))
    function = CASES[case].build(np, None if case == "scatter" else transpile)
    ours = function(*arguments)
    theirs = hand_written.function(case)(*copy.deepcopy(arguments))  # which may be updated
    for mine, other in zip(leaves(ours), leaves(theirs), strict=True):
        assert np.shape(mine) == np.shape(other)
        np.testing.assert_allclose(other, mine, rtol=2e-4, atol=2e-4)


def test_hand_written_c_writes_its_results_into_the_same_memory_again(libraries):
    function = hand_written.function("small_call")
    first, second = np.arange(4.0), np.ones(4)
    result = function(first)
    assert function(first) is result
    np.testing.assert_array_equal(function(second), [3, 3, 3, 3])
    np.testing.assert_array_equal(result, [1, 3, 5, 7])  # other arguments have other memory
    with pytest.raises(ValueError, match="contiguous"):
        function(np.ones(8)[::2])


def test_every_case_that_names_hand_written_c_has_it():
    named = {base_name(name) for name, case in EVERY_CASE.items() if "c" in case.contestants}
    assert named == set(hand_written.ROUTINES)
    assert named >= set(ARRAYS | NETWORKS | LOOPS)
    files = {routine.file for routine in hand_written.ROUTINES.values()}
    assert files == {path.stem for path in hand_written.FOLDER.glob("*.c")}


@pytest.mark.parametrize("change", ["transposed", "negated", "one element", "not a number"])
def test_a_different_result_is_noticed(change):
    value, gradient = np.array(2.0), np.random.default_rng(0).standard_normal((30, 30))
    other = {"transposed": gradient.T, "negated": -gradient}.get(change, gradient).copy()
    if change in ("one element", "not a number"):
        other[3, 4] += 1 if change == "one element" else np.nan
    ours, same = fingerprint([value, gradient]), fingerprint([value, gradient * (1 + 1e-6)])
    assert contest.disagreements(1e-4, {"transpile": ours, "jax": same}) == {}
    found = contest.disagreements(
        1e-4, {"transpile": ours, "jax": fingerprint([value, other]), "c": same}
    )
    assert list(found) == ["jax"]
    assert found["jax"].startswith("result 1 is not ours")
    fewer = contest.disagreements(1e-4, {"transpile": ours, "torch": same[:1]})
    assert fewer == {"torch": "1 results, not 2"}


def measured(*seconds):
    return {"seconds": list(seconds)}


def test_the_summary_names_the_best_peer_and_where_ours_falls_short():
    found = tables.summary(
        {
            "slow": {"transpile": measured(4.0, 2.0), "jax": measured(1.0), "c": measured(1.0)},
            "fast": {
                "transpile": measured(1.0),
                "numpy": measured(9.0),
                "jax": measured(8.0, 12.0),
                "c": measured(1.0),
            },
            "failed": {"numpy": measured(1.0)},
        }
    )
    assert found == {
        "slow": {"ours": 2.0, "ratios": {"jax": 0.5, "c": 0.5}},
        "fast": {"ours": 1.0, "ratios": {"numpy": 9.0, "jax": 8.0, "c": 1.0}},
    }
    lines = tables.summary_lines(found)
    (fast,) = (line for line in lines if line.split()[0] == "fast")
    assert re.fullmatch(r" *fast +1 s +8 jax +8 +1", fast)
    (mean,) = (line for line in lines if "mean" in line)
    assert mean.split()[2:] == ["2", "2", "0.707"]  # of (0.5, 8), (0.5, 8) and (0.5, 1)
    assert lines[-2:] == [
        "  slower than the best peer: slow 0.50 (1 of 2)",
        "  below 0.8 of hand-written C: slow 0.50 (1 of 2)",
    ]


def test_the_chart_is_a_picture_or_a_sentence_that_says_what_is_missing(tmp_path, monkeypatch):
    found = {"softmax": {"ours": 1.0, "ratios": {"numpy": 9.0, "c": 0.8}}}
    path = tmp_path / "chart.png"
    monkeypatch.setattr(chart, "Figure", None)
    assert "transpile[bench]" in chart.draw(found, path)
    assert not path.exists()
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    assert "chart.png" in chart.draw(found, path)
    assert path.read_bytes().startswith(b"\x89PNG")


@thorough
def test_compile_times_have_every_step_and_say_what_took_too_long():
    python = {"transpile": sys.executable}
    found = compile_time.measure_all(python, kinds=["chain"], sizes=[20], limit=60)
    steps = found["chain"]["20"]["transpile"]
    assert list(steps) == ["trace", "lower and print", "C compiler"]
    assert all(seconds > 0 for seconds in steps.values())
    late = compile_time.measure_all(python, kinds=["chain"], sizes=[20, 40], limit=0.01)
    assert late == {"chain": {"20": {"transpile": "over 0 s"}, "40": {}}}
    assert any("over 0 s" in line for line in compile_time.lines(late))
    wrong = compile_time.measure("transpile", sys.executable, "no kind", 1, 60)
    assert wrong.startswith("FAILED: KeyError")


def test_growing_cases_are_four_times_as_large_each_time():
    for name, growing in growth.GROWING.items():
        sizes = [
            sum(x.size for x in growing.make(np.random.default_rng(0), size))
            for size in growing.sizes
        ]
        assert [b / a for a, b in itertools.pairwise(sizes)] == [4, 4, 4]
        assert len(growing.calls) == len(sizes) == 4
        assert base_name(f"{name}@{growing.sizes[0]}") == name
    lines = tables.growth_lines("softmax", {"64": {"transpile": measured(1.0)}, "256": {}})
    assert lines[-2].split() == ["64", "1", "s"]


def test_the_table_of_overheads_has_a_line_for_each_number_of_arguments():
    assert set(overhead.LINES.values()) <= set(EVERY_CASE)
    lines = tables.overhead_lines(
        {"one array": {"jax": measured(5e-6), "c": measured(4e-7), "transpile": measured(2e-7)}}
    )
    assert lines[1].split() == ["transpile", "jax", "c,", "ctypes"]
    assert lines[2].split() == ["one", "array", "0.20", "5.00", "0.40"]


def test_contestants_of_every_case_exist():
    assert {who for case in EVERY_CASE.values() for who in case.contestants} <= set(CONTESTANTS)


def test_what_a_case_prints_is_no_answer():
    """From Python, and to the descriptor as C does."""
    program = """
import os, sys
import numpy as np
from benchmarks import peer
from benchmarks.cases import Case
from benchmarks.every_case import EVERY_CASE

def build(xp, library):
    def f(x):
        print("x")
        os.write(1, b"y")
        return x
    return f

EVERY_CASE["prints"] = Case("prints", lambda random: (np.ones(2),), build)
sys.argv = ["peer", "numpy", "prints"]
peer.main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        input="first\nrun 2\n\n",
        capture_output=True,
        text=True,
        check=True,
    )
    ready, first, run = map(json.loads, ended.stdout.splitlines())
    assert ready == "ready" and "first call" in first["steps"] and len(run["seconds"]) == 2
    assert "x" in ended.stderr and "y" in ended.stderr


def test_an_unknown_benchmark_is_refused_with_the_names_there_are():
    done = run("--only", "nothing")
    assert done.returncode == 2
    for name in ("elementwise", "softmax", "small_call", "startup", "overhead", "growth", "sizes"):
        assert name in done.stderr


@thorough
def test_first_calls_are_measured_in_all_states():
    """Each state has been measured, and what follows a first call."""
    found, failed = first_calls.compare("solve", {"transpile": sys.executable}, 1)
    assert not failed
    taken = first_calls.medians(found)
    assert set(taken) == {("transpile", state) for state in first_calls.STATES["transpile"]}
    assert all(seconds > 0 for numbers in taken.values() for seconds in numbers.values())
    assert all(numbers["start"] > numbers["wall"] for numbers in taken.values())
    assert first_calls.line("solve", taken).startswith("solve")
    *_, last = first_calls.from_start({"solve": taken})
    assert last.split()[0] == "solve" and last.split().count("-") == 6  # no JAX, no Numba
    assert len(first_call_cases.CASES) == 12
    assert "median of transpile, warm" in "\n".join(first_calls.summary({"solve": taken}))


def test_runtime_sizes_are_compared_with_fixed_ones():
    found = sizes.measure_all(2, 0.1, ["small_call", "sort"])
    assert len(found["small_call"]) == 2 and min(found["small_call"]) > 0
    lines = list(sizes.lines({**found, "sort": "UnsupportedError: a reason"}))
    assert lines[-1].endswith("of 2 within 5 %, 1 not compiled")
    for name, extent in sizes.RUNTIME.items():
        args = CASES[name].make(np.random.default_rng(0)) if name in ("mlp", "lu_rows") else ()
        shapes = [t.shape for t in tree.leaves(sizes.abstract(args, extent))]
        assert not args or any(isinstance(d, Dim) for shape in shapes for d in shape)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")
def test_library_sizes_are_code_constants_and_the_rest(tmp_path):
    found = library_sizes.sizes_of("small_call", tmp_path)
    one, several = (found[march] for march in library_sizes.MARCHES)
    for file, code, constants in (one, several):
        assert 0 < code < file and 0 < constants < file
    assert several[1] > one[1]
    title, _, line = library_sizes.lines({"small_call": found})
    assert "multi" in title and f"{one[0] / 1000:.1f} kB" in line


@pytest.mark.parametrize("name", assignments.FUNCTIONS)
@one_in(3)
def test_assignments_are_those_of_numpy(name):
    function = assignments.FUNCTIONS[name]
    for shape, share in (((12, 11), 0.5), ((10, 14), 0.1)):
        args = assignments.arguments(shape, share, np.random.default_rng(3))
        ours, numpys = assignments.copies(args), assignments.copies(args)
        transpile.jit(function)(*ours)
        function(*numpys)
        for own, other in zip(ours, numpys, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)


def test_assignments_are_timed_beside_numpy(capsys):
    assignments.main(["a_block", "--shapes", "12x11"])
    title, row, summary = capsys.readouterr().out.splitlines()
    assert title.split() == ["12x11"] and row.split()[0] == "a_block"
    assert re.fullmatch(r"geometric mean \d+\.\d\d; slower than NumPy: [01] of 1", summary)
