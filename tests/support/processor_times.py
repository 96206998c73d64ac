"""Which tests take the processor, compilers included: `make test ARGS="-p processor_times"`.

pytest's `--durations` has wall time, which whatever else the machine does lengthens. This has the
processor seconds of the process of a test and of its children that have ended, user's and system's;
the preparation of a module or of the run counts for the test that comes first.
"""

import resource
from collections import defaultdict

import pytest

SHOWN = 100  # modules, and tests


def now():
    """(seconds of this process, seconds of its children that have ended)."""
    return tuple(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def pytest_configure(config):
    config.pluginmanager.register(Times())


class Times:
    """Seconds of tests: in a worker those of its own, in the process that reports those of all."""

    def __init__(self):
        self.since = now()
        self.tests = []  # (seconds of the process, of its children, test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            until = now()
            report.user_properties.append(
                ("processor", [b - a for a, b in zip(self.since, until, strict=True)])
            )
            self.since = until
        return report

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            own, children = dict(report.user_properties)["processor"]
            self.tests.append((own, children, report.nodeid))

    def pytest_terminal_summary(self, terminalreporter):
        modules = defaultdict(lambda: [0.0, 0.0, 0])
        for own, children, test in self.tests:
            module = modules[test.partition("::")[0]]
            module[:] = module[0] + own, module[1] + children, module[2] + 1
        lines = [(own, children, f"{name} ({n})") for name, (own, children, n) in modules.items()]
        for title, rows in (("modules", lines), ("tests", self.tests)):
            total = sum(own for own, _, _ in rows), sum(children for _, children, _ in rows)
            terminalreporter.section(
                f"processor seconds of {title}: {total[0]:.0f} + {total[1]:.0f}"
            )
            for own, children, name in sorted(rows, key=lambda r: -r[0] - r[1])[:SHOWN]:
                terminalreporter.write_line(f"{own:8.2f} + {children:6.2f}  {name}")
