"""The examples run as a reader would run them, and what they print is right, by its numbers."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import thorough

EXAMPLES = Path(__file__).parents[2] / "examples"
needs_digits = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None,
    reason="scikit-learn, which has the pictures of digits, is not installed",
)


def output(name, folder):
    """What an example prints, in a process of its own, with a cold cache, into a pipe."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        env={**os.environ, "TRANSPILE_CACHE_DIR": "cache"},
        cwd=folder,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if len(line) > 100] == []
    return done.stdout


def numbers(pattern, text):
    """The groups of the one line that a pattern describes, as numbers."""
    (found,) = re.findall(pattern, text, re.MULTILINE)
    return [float(number) for number in ([found] if isinstance(found, str) else found)]


@needs_digits
@thorough
def test_the_network_learns_to_read_digits(tmp_path):
    text = output("digits.py", tmp_path)
    learnt, tested = numbers(r"^(\d+) images to learn from, (\d+) to be tested with$", text)
    assert (learnt, tested) == (1437, 360)
    epochs = [
        (int(epoch), float(loss), float(accuracy))
        for epoch, loss, accuracy in re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)%$", text, re.M)
    ]
    assert [epoch for epoch, _, _ in epochs] == [1, 4, 8, 12, 16, 20]
    losses = [loss for _, loss, _ in epochs]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1
    (misread,) = numbers(r"^(\d+) misread$", text)
    assert epochs[-1][2] == pytest.approx(100 * (1 - misread / tested), abs=0.06)
    assert epochs[-1][2] > 95
    (apart,) = numbers(r"^200 steps from the same start end (\S+) from those of NumPy", text)
    assert apart < 1e-10
    assert min(numbers(r"images: compiled (\d+), NumPy (\d+) microseconds$", text)) > 0


@needs_digits
@thorough
def test_the_longest_gradients_find_wrong_labels(tmp_path):
    text = output("per_example_gradients.py", tmp_path)
    wrong, labels = numbers(r"^(\d+) of (\d+) labels were replaced", text)
    assert (wrong, labels) == (89, 1797)
    found, first = numbers(r"^(\d+) of the (\d+) pictures with the longest gradients", text)
    assert first == wrong
    assert found > 0.6 * wrong  # by chance it would be one in twenty
    shown = re.findall(r"(\d), is (\d)", text)
    assert len(shown) == 8
    assert sum(given != true for given, true in shown) >= 6
    assert numbers(r"gradient of the mean: (\S+)$", text)[0] < 1e-14
    assert numbers(r"gradients by a loop: +(\S+)$", text)[0] < 1e-12
    filled, needed = numbers(r"fill ([\d.]+) MB, vmap\(pull\) works in ([\d.]+) MB", text)
    assert filled == pytest.approx(1797 * (64 * 16 + 16 + 16 * 10 + 10) * 8 / 1e6, abs=0.05)
    assert needed < filled / 5
    assert len(re.findall(r"^  (?:a|one) .* [\d.]+ ms$", text, re.MULTILINE)) == 3


@pytest.fixture(scope="module")
def newton(tmp_path_factory):
    return output("newton.py", tmp_path_factory.mktemp("newton"))


def test_newton_converges_to_the_ones(newton):
    row = r"^ +(\d+) +(\S+) +(\S+) +(?:1|1/\d+)? +(\S+)$"
    path = [[float(number) for number in found] for found in re.findall(row, newton, re.MULTILINE)]
    assert [k for k, *_ in path] == list(range(len(path)))
    assert 10 < len(path) < 60
    values = [value for _, value, _, _ in path]
    assert values[0] > 1e4
    assert values == sorted(values, reverse=True)
    _, value, gradient, distance = path[-1]
    assert max(value, gradient, distance) < 1e-8
    # Newton's convergence is quadratic; a gradient or Hessian that is off makes it linear.
    assert path[-1][2] < 1e-5 * path[-3][2]
    assert "1/" in newton  # the line search had something to do


def test_the_hessian_of_the_valley_is_tridiagonal_and_agrees_with_its_products(newton):
    rows = re.findall(r"^ +((?:-?\d+ +){6})\.\.\.$", newton, re.MULTILINE)
    assert [[int(number) for number in row.split()] for row in rows] == [
        [802, -400, 0, 0, 0, 0],
        [-400, 1002, -400, 0, 0, 0],
        [0, -400, 1002, -400, 0, 0],
        [0, 0, -400, 1002, -400, 0],
    ]
    count, elements, width = numbers(
        r"^(\d+) of its (\d+) elements are not zero, none of them more than (\d+) beside", newton
    )
    assert (count, elements, width) == (298, 10000, 1)
    agreed, points, worst = numbers(
        r"^hvp agrees with it at (\d+) of (\d+) points, to (\S+)", newton
    )
    assert agreed == points > 10
    assert worst < 1e-13


@thorough
def test_the_rates_of_the_ode_are_found(tmp_path):
    text = output("fit_an_ode.py", tmp_path)
    losses = [float(loss) for loss in re.findall(r"^ +\d+ +([\d.]+)$", text, re.MULTILINE)]
    assert len(losses) == 6
    assert losses == sorted(losses, reverse=True)
    # 120 measurements with noise of a known size, six parameters: 57 on average, give or take 8.
    assert 30 < losses[-1] < 90
    row = r"^(\w+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(-?[\d.]+)$"
    rows = re.findall(row, text, re.MULTILINE)
    assert [name for name, *_ in rows] == ["births", "hunts", "deaths", "feeds", "hares", "lynxes"]
    for _, *columns in rows:
        true, guess, fitted, error, off = map(float, columns)
        assert abs(guess - true) > 0.09
        assert abs(fitted - true) < 4 * error
        assert abs(off) < 4
        assert error < 0.04 * true
    assert numbers(r"within ([\d.]+) standard errors of the truth$", text)[0] < 4


@thorough
def test_the_moments_of_the_densities_are_found(tmp_path):
    text = output("hamiltonian_monte_carlo.py", tmp_path)
    accepted = [float(part) for part in re.findall(r"accepted ([\d.]+)", text)]
    assert len(accepted) == 3
    assert all(0.7 < part < 0.9 for part in accepted)  # the steps were adapted to 0.8
    row = r"^  (\S.*?) +(-?[\d.]+) +(-?[\d.]+) +([\d.]+) +(-?[\d.]+) +(\d+)$"
    rows = re.findall(row, text, re.MULTILINE)
    assert len(rows) == 14
    for what, *columns in rows:
        known, found, error, off, worth = map(float, columns)
        assert abs(found - known) < 4.5 * error + 1e-4, what
        assert abs(off) < 4.5
        assert error < 0.12
        assert worth > 10_000


def test_a_model_of_jax_is_called_from_c(tmp_path):
    text = output("jax_model.py", tmp_path)
    rows = re.findall(r"^ +(\d) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert [int(day) for day, *_ in rows] == list(range(8))
    assert numbers(r"^the model is (\S+) from NumPy's loop at most$", text)[0] < 1e-5
    slope = numbers(r"readout by (-?[\d.]+) (-?[\d.]+) (-?[\d.]+) (-?[\d.]+)$", text)
    # The last state, which is a tanh.
    assert all(0 < abs(x) < 1 for x in slope)
    assert "for (int64_t i = 0; i < 8; i++)" in text  # the scan is a loop


LOSS = r"^ +\d+  ([\d.]+)$"


@thorough
def test_devices_learn_together(tmp_path):
    text = output("data_parallel.py", tmp_path)
    assert text.startswith("2 devices on 1 process(es), 2000 examples each")
    losses = [float(loss) for loss in re.findall(LOSS, text, re.MULTILINE)]
    assert len(losses) == 7 and losses == sorted(losses, reverse=True)
    # A linear model leaves more than 0.2 of it; the noise is 0.0025.
    assert losses[0] > 0.5 and losses[-1] < 0.05


def test_strips_of_a_plate_are_the_plate(tmp_path, monkeypatch):
    monkeypatch.setenv("HEAT_SIZE", "96")
    monkeypatch.setenv("HEAT_STEPS", "60")
    text = output("heat.py", tmp_path)
    assert text.startswith("96 x 96 points, 60 steps, 2 devices on 1 process(es)")
    assert numbers(r"^strips are (\S+) from the whole plate at most$", text)[0] < 1e-13
