"""One cache for the whole run: equal programs compile once, and no user's cache is touched.

gcc takes three times as long at -O3 as at -O0. So the programs of tests are compiled at -O0, but
those of tests that are marked `full_level`: tests of schedules, of lanes and threads, of the last
bits of results, of flags, and of what a program looks like once it is compiled. The thorough tier
(`support/thorough.py`) compiles all of them as users' are, and has tests of its own.
"""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from thorough import THOROUGH, is_ordinary, tries

from transpile.build import toolchain
from transpile.codegen.compile_budget import level
from transpile.options import Options
from transpile.runtime import fast_call

# The machine may be busy: nothing is wrong with a test that is slow. In continuous integration
# equal commits have equal examples; fresh ones are drawn wherever else the tests run.
# A run that a shell has put into the background ignores Ctrl-C, and so would what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
    max_examples=tries(100),
)
settings.load_profile("patient")


def low_level(effort, asked):
    """The -O level of a program in a test about values: 0, where the test asks for none itself."""
    return 0 if asked == Options().opt_level else level(effort, asked)


# A compiler in the background would be a child process that tests about child processes find.
fast_call.in_background = False


@pytest.hookimpl(tryfirst=True)  # before `-k`, so that it does not matter which are counted
def pytest_collection_modifyitems(config, items):
    """Without TRANSPILE_TEST_THOROUGH=1 there are no thorough tests."""
    if THOROUGH:
        return
    numbers, left_out, kept = {}, [], []
    for item in items:
        (kept if is_ordinary(item, numbers) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish():
    """Python's collector need not look at the tests themselves, sixteen thousand objects of
    pytest's, each time: a full collection would take a third of a second."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before the fixtures of its module, which compile programs too
def pytest_runtest_setup(item):
    is_full = THOROUGH or item.get_closest_marker("full_level")
    toolchain.level = level if is_full else low_level


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory):
    """A directory of this run, of all its processes, for every compiled program."""
    before = os.environ.get("TRANSPILE_CACHE_DIR")
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    os.environ["TRANSPILE_CACHE_DIR"] = str(root / "cache")
    yield
    if before is None:
        del os.environ["TRANSPILE_CACHE_DIR"]
    else:
        os.environ["TRANSPILE_CACHE_DIR"] = before
