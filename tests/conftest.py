"""One cache for the whole run: equal programs compile once, and no user's cache is touched."""

import os

import pytest
from hypothesis import HealthCheck, settings

# The machine may be busy: nothing is wrong with a test that is slow. In continuous integration
# equal commits have equal examples; fresh ones are drawn wherever else the tests run.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory):
    """A directory of this run for every compiled program."""
    before = os.environ.get("TRANSPILE_CACHE_DIR")
    os.environ["TRANSPILE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["TRANSPILE_CACHE_DIR"]
    else:
        os.environ["TRANSPILE_CACHE_DIR"] = before
