"""Pickles of jitted functions and of stages: by name where that can be imported, else by value."""

import base64
import copy
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from thorough import one_in, thorough

import transpile
from transpile.stages import Compiled, Lowered, Traced

X = np.arange(3.0)


def plain(x):
    return x + 1


@transpile.jit
def decorated(x):
    return x + 2


again = transpile.jit(plain)


class Model:
    def __init__(self, w):
        self.w = w

    @transpile.jit
    def forward(self, x):
        return x * self.w


def test_functions_of_modules_are_pickled_by_name():
    for dumps in (pickle.dumps, cloudpickle.dumps):
        assert pickle.loads(dumps(decorated)) is decorated
        again(X)
        assert pickle.loads(dumps(plain)) is plain
        found = pickle.loads(dumps(again))
        np.testing.assert_array_equal(found(X), X + 1)
        assert found.__wrapped__ is plain and found._tracing.table is again._tracing.table
        method = pickle.loads(dumps(Model(3.0).forward))
        np.testing.assert_array_equal(method(X), X * 3)


def test_copies_are_the_function_itself():
    fast = transpile.jit(lambda x: x)
    for function in (decorated, again, fast):
        assert copy.copy(function) is function and copy.deepcopy(function) is function


def test_functions_without_a_name_are_pickled_by_value():
    w = np.full(3, 2.0)
    fast = transpile.jit(
        lambda x, n: x * w + n, static_argnums=1, compiler_options={"opt_level": 1}
    )
    fast(X, 2)
    found = pickle.loads(cloudpickle.dumps(fast))
    np.testing.assert_array_equal(found(X, 3), X * w + 3)
    assert found is not fast and found._config == fast._config
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(fast)
    function = fast.__wrapped__  # has been jitted, and is a function as before
    np.testing.assert_array_equal(pickle.loads(cloudpickle.dumps(function))(X, 3), X * w + 3)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_stages(dumps):
    def f(x, *, k):
        k[0] = 7.0
        return {"y": x * k + X}

    traced = transpile.jit(f).trace(X, k=X)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        found = pickle.loads(dumps(stage))
        assert type(found) is type(stage) and found.in_paths == stage.in_paths
        if isinstance(found, Traced):
            found = found.lower()
        if isinstance(found, Lowered):
            assert found.as_text() == traced.lower().as_text()
            found = found.compile()
        assert isinstance(found, Compiled)
        k = X.copy()
        np.testing.assert_array_equal(found(X, k=k)["y"], X * [7, 1, 2] + X)
        assert k[0] == 7


SCRIPT = """
import multiprocessing, pickle, sys
import cloudpickle, joblib
import numpy as np
import transpile

RATE = 3.0

@transpile.jit
def decorated(x):
    return x * RATE

def plain(x):
    return x + RATE

again = transpile.jit(plain, donate_argnums=0)
anonymous = transpile.jit(lambda x: x - RATE)

class Model:
    @transpile.jit
    def forward(self, x):
        return x / RATE

if __name__ == "__main__":
    x = np.arange(3.0)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    decorated(x), again(x.copy()), anonymous(x), Model().forward(x)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for f in (decorated, again):
            np.testing.assert_array_equal(pool.map(f, [x.copy()])[0], f(x.copy()))
    functions = [decorated, plain, again, anonymous, Model().forward]
    jobs = [joblib.delayed(f)(x.copy()) for f in functions]
    for f, found in zip(functions, joblib.Parallel(n_jobs=2, backend="loky")(jobs)):
        np.testing.assert_array_equal(found, f(x.copy()))
    sys.stdout.buffer.write(cloudpickle.dumps([*functions, decorated.lower(x)]))
"""


@thorough
def test_functions_of_a_script(tmp_path):
    """Processes that are spawned, joblib's, and one that knows nothing of the script."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run([sys.executable, script], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    *functions, lowered = pickle.loads(done.stdout)
    expected = [X * 3, X + 3, X + 3, X - 3, X / 3]
    for function, wanted in zip(functions, expected, strict=True):
        np.testing.assert_array_equal(function(X.copy()), wanted)
    np.testing.assert_array_equal(lowered.compile()(X), X * 3)


# How dask.distributed pickles: by name where no name is of the script, else as cloudpickle does;
# and with buffers beside the text. Ray registers a project's modules to be pickled by value.
SENT = """
import pickle, sys
import cloudpickle
import numpy as np
import transpile
import helpers_of_the_script as helpers

WEIGHTS = np.arange(3000.0)

def make(n):
    inner = transpile.jit(lambda x: x + WEIGHTS[n])
    return transpile.jit(lambda x: inner(x) * n)

@transpile.jit
def slope(x):
    return transpile.grad(lambda v: (v * v).sum())(x)

def task(x):
    return slope(x) + make(2)(x) + helpers.scaled(x)

def dumps(value, buffers):
    try:
        text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        if b"__main__" not in text:
            return text
    except (AttributeError, pickle.PicklingError):
        pass
    buffers.clear()
    return cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)

if __name__ == "__main__":
    cloudpickle.register_pickle_by_value(helpers)
    x = np.arange(3.0)
    values = [slope, make(2), task, make(3).lower(x), slope.lower(x).compile(), slope.trace(x)]
    if "called" in sys.argv:
        values[0](x), values[1](x), task(x)
    everything = []
    for value in values:
        buffers = []
        text = dumps(value, buffers)
        everything.append((text, [bytes(buffer.raw()) for buffer in buffers]))
    sys.stdout.buffer.write(pickle.dumps(everything))
"""
HELPERS = """
import transpile

RATE = 4.0

@transpile.jit
def scaled(x):
    return x * RATE
"""


@pytest.mark.parametrize("words", [(), ("called",)])
@one_in(2)
def test_functions_and_stages_that_are_sent_to_processes_without_the_script(tmp_path, words):
    (tmp_path / "sender.py").write_text(SENT)
    (tmp_path / "helpers_of_the_script.py").write_text(HELPERS)
    command = [sys.executable, tmp_path / "sender.py", *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    slope, product, task, lowered, compiled, traced = (
        pickle.loads(text, buffers=buffers) for text, buffers in pickle.loads(done.stdout)
    )
    for found in (slope(X), compiled(X), traced.lower().compile()(X)):
        np.testing.assert_array_equal(found, 2 * X)
    np.testing.assert_array_equal(product(X), (X + 2) * 2)
    np.testing.assert_array_equal(lowered.compile()(X), (X + 3) * 3)
    np.testing.assert_array_equal(task(X), 2 * X + (X + 2) * 2 + 4 * X)


# Made by version 0.1.0 when all modules lay in one folder: base64 of protocol 4.
OLD = json.loads((Path(__file__).parents[1] / "data" / "old_pickles.json").read_text())


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("lax.arrays.binary_operators", transpile.lax.add),
        ("lax.arrays.operators", transpile.lax.exp),
        ("lax.arrays.rounding", transpile.lax.clamp),
        ("lax.arrays.special", transpile.lax.lgamma),
    ],
)
def test_functions_are_found_where_they_were(module, function):
    """Pickles have functions by module and name."""
    former = f"ctranspile.{module}\n{function.__qualname__}\n.".encode()
    assert pickle.loads(former) is function
    assert module not in function.__module__


@pytest.mark.parametrize("name", OLD)
def test_pickles_of_an_earlier_layout_are_read(name):
    """And what comes of them is an instance of the class that has moved, not of a copy."""
    found = pickle.loads(base64.b64decode(OLD[name]))
    wanted = {
        "traced": Traced,
        "lowered": Lowered,
        "compiled": Compiled,
        "treedef": type(transpile.tree_util.tree_structure(0)),
        "path": list,
        "key": type(transpile.random.key(0)),
        "struct": transpile.ShapeDtypeStruct,
        "partial": transpile.tree_util.Partial,
        "convolution": transpile.lax.ConvDimensionNumbers,
        "gather": transpile.lax.GatherDimensionNumbers,
        "scatter": transpile.lax.ScatterDimensionNumbers,
        "mode": transpile.lax.GatherScatterMode,
        "precision": transpile.lax.Precision,
        "rounding": transpile.lax.RoundingMethod,
        "jitted": type(decorated),
        "options": transpile.Options,
    }
    assert wanted.keys() == OLD.keys()
    assert type(found) is wanted[name]
    again = pickle.dumps(found)
    assert not any(old in again for old in (b"transpile.graph", b"transpile.types"))
    if name in ("traced", "lowered", "compiled"):
        stage = found.lower() if name == "traced" else found
        stage = stage.compile() if name != "compiled" else stage
        np.testing.assert_array_equal(stage(X, k=X)["y"], np.tanh(X) * X)
    elif name == "jitted":
        np.testing.assert_array_equal(found(X), X * X)
    elif name == "key":
        assert (
            transpile.random.key_data(found) == transpile.random.key_data(transpile.random.key(3))
        ).all()
