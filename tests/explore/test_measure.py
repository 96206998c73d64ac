"""The times of kernels, by the program itself, and their places under the machine's roofline."""

import re
import sys

import numpy as np
import pytest

import transpile
from transpile import lax
from transpile.__main__ import main
from transpile.analysis.cost_model import kernel_bytes, program_cost
from transpile.errors import UnsupportedError
from transpile.explore import measure, roofline
from transpile.explore.costs import KernelCost, for_sizes
from transpile.explore.measure import drawn, measured
from transpile.explore.roofline import Roof, Speed, roofline_svg

X = np.linspace(0.5, 1.5, 40_000).reshape(100, 400)


@pytest.fixture(autouse=True)
def brief(monkeypatch, shared_cache):
    """Milliseconds for the roof and for programs."""
    monkeypatch.setattr(roofline, "_ELEMENTS", 1 << 16)
    monkeypatch.setattr(roofline, "_ROUNDS", 1000)
    monkeypatch.setattr(roofline, "_SECONDS", 0.001)
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.01)


def centred(x):
    low = x - x.mean(axis=0)
    return np.sort(low, axis=1), np.exp(low).sum(axis=1)


def test_each_kernel_has_a_time_and_a_place(tmp_path):
    lowered = transpile.jit(centred).lower(X)
    text = lowered.explore(tmp_path / "a.html", measure=True).read_text(encoding="utf-8")
    kernels = [kernel.name for kernel in lowered._lowering.program().kernels]
    rows = re.findall(r'<th scope="row">(\w+)</th><td>([\d,.]+)</td>', text)
    assert [name for name, _ in rows] == kernels and len(kernels) > 1
    assert all(float(time.replace(",", "")) > 0 for _, time in rows)
    drawing = text[text.index('class="roofline"') :]
    points = re.findall(
        r'<g class="point" tabindex="0" data-places="[\d ]+"><title>(\w+): ', drawing
    )
    assert set(points) <= {*kernels} and points
    assert re.search(r"<title>1 thread: \d+ GB/s, \d+ Gop/s</title>", drawing)
    without = lowered.explore(tmp_path / "b.html").read_text(encoding="utf-8")
    assert "microseconds" not in without and "<code>measure=True</code>" in without


def test_times_are_of_the_arguments_that_are_given(tmp_path):
    def halvings(x):
        return lax.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] * 0.5, s[1] + 1), (x, 0))

    lowered = transpile.jit(halvings).lower(1.0)
    with pytest.raises(UnsupportedError, match="halvings has loops whose length depends on values"):
        lowered.explore(tmp_path / "a.html", measure=True)
    text = lowered.explore(tmp_path / "a.html", measure=(1e300,)).read_text(encoding="utf-8")
    assert "microseconds" in text
    with pytest.raises(TypeError, match="measure has arguments of"):
        lowered.explore(tmp_path / "a.html", measure=(1.0, 2.0))


def test_arguments_that_are_assigned_to_stay():
    def update(x):
        x += 1.0
        return x.sum()

    given = np.zeros(5)
    times = measured(transpile.jit(update).lower(given)._lowering, [given])
    assert times.call > 0 and not given.any()


def test_callbacks_and_sizes():
    def printing(x):
        transpile.debug.print("{}", x)
        return x * 2

    with pytest.raises(UnsupportedError, match="printing calls functions of yours"):
        measured(transpile.jit(printing).lower(1.0)._lowering, None)


def test_runtime_sizes_are_those_of_the_arguments_or_given(tmp_path):
    sized = transpile.jit(centred).lower(transpile.ShapeDtypeStruct(("n", "m"), np.float64))
    wanted = (
        r"--measure-size n=1000 --measure-size m=1000 .* explore\(path, measure=\{'n': 1000, 'm'"
    )
    with pytest.raises(UnsupportedError, match=wanted):
        sized.explore(tmp_path / "a.html", measure=True)
    with pytest.raises(TypeError, match="measure has a runtime size 'k', and centred has n, m"):
        sized.explore(tmp_path / "a.html", measure={"n": 30, "m": 40, "k": 1})
    assert measured(sized._lowering, [np.ones((30, 40))]).sizes == {"n": 30, "m": 40}
    text = sized.explore(tmp_path / "a.html", measure={"n": 30, "m": 40}).read_text("utf-8")
    assert "Runtime sizes are n = 30, m = 40." in text and "nominal" not in text


def test_what_is_counted_is_that_of_a_program_for_these_sizes():
    def raised(x):
        return np.exp(x * 2.0) - x

    sized = transpile.jit(raised).lower(transpile.ShapeDtypeStruct(("n", "m"), np.float64))
    counted = for_sizes(sized._lowering.program(), {"n": 512, "m": 1024})
    elements = 512 * 1024
    cost = program_cost(counted)
    assert cost.bytes == 16 * elements
    # And the comparisons by which it chooses between versions.
    assert cost.flops == pytest.approx(2 * elements, rel=1e-4)
    assert cost.transcendentals == pytest.approx(elements, rel=1e-4)


def test_drawn_arguments_are_of_all_dtypes():
    for dtype in (np.float32, np.float64, np.complex64, np.int8, np.uint64, np.bool_, np.float16):
        (kind,) = transpile.make_jaxpr(lambda x: x)(np.ones((2, 3), dtype)).inputs
        array = drawn(kind.type)
        assert array.shape == (2, 3) and array.dtype == dtype and np.isfinite(array).all()


def test_the_part_of_the_roof_is_that_of_the_nearer_limit():
    roof = Roof(1, 10e9, 100e9)
    assert (roof.at(1.0), roof.at(50.0)) == (10e9, 100e9)
    cost = transpile.analysis.cost_model.Cost
    streaming = KernelCost("a", cost(10**9, 0, 10**9), ())
    assert Speed.of(streaming, 0.2, [roof]).part == pytest.approx(0.5)
    computing = KernelCost("b", cost(0, 10**9, 10**6), (3,))
    assert Speed.of(computing, 0.02, [roof]).part == pytest.approx(0.5)
    drawing = roofline_svg([roof], [streaming, computing], [0.2, 0.02])
    assert drawing.count('<g class="point"') == 2 and 'data-places="3"' in drawing


def test_the_command_measures_and_shows_helpers_of_other_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "halves.py").write_text("def half(x):\n    return x * 0.5\n")
    (tmp_path / "uses.py").write_text(
        "from halves import half\n\n\ndef f(x):\n    return half(x) + 1.0\n"
    )
    assert main(["explore", "--measure", "uses.py:f", "--arg", "float64[1000]"]) == 0
    assert capsys.readouterr().out == "f.html\n"
    command = ["explore", "uses.py:f", "--arg", "float64[n]", "--measure-size"]
    assert main([*command, "n"]) == 2 and "such as n=1000" in capsys.readouterr().err
    assert main([*command, "n=500"]) == 0
    assert "Runtime sizes are n = 500." in (tmp_path / "f.html").read_text(encoding="utf-8")
    assert main(["explore", "uses.py:f", "--arg", "float64[1000]", "--measure"]) == 0
    text = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "Gop/s" in text and "microseconds" in text
    python = text[text.index('id="pane-python"') : text.index('id="pane-loops"')]
    python = re.sub(r"<[^>]*>", "", python)
    assert "return x * 0.5" in python and "return half(x) + 1.0" in python


def scheduled_bytes(function, *arguments):
    program = transpile.jit(function).lower(*arguments)._lowering.program()
    return [kernel_bytes(program, kernel) for kernel in program.kernels]


def test_the_bytes_of_a_kernel_are_those_of_all_its_blocks():
    """Loops over blocks of a range, and parts of arrays that a kernel of products keeps itself."""
    x, w = np.ones((2048, 256)), np.ones((256, 512))
    assert scheduled_bytes(lambda x: ((x * 2.0) ** 2).mean(), x)[0] >= x.nbytes
    first, *_ = scheduled_bytes(lambda x, w: (x - x.mean(axis=1)[:, None]) @ w, x, w)
    assert x.nbytes + w.nbytes <= first < 3 * (x.nbytes + w.nbytes + 2048 * 512 * 8)
