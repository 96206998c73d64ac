"""Compiles the library of `[tool.transpile]` into the package, for a wheel of this platform."""

import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py


class BuildLibrary(build_py):
    """The package's files, and the library's beside them."""

    def run(self):
        super().run()
        command = [sys.executable, "-m", "transpile", "build", "-o", f"{self.build_lib}/damped"]
        subprocess.run(command, check=True)


class WheelOfPlatform(bdist_wheel):
    """There is no module in C: one wheel serves all versions of Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    """Not the same files on every platform."""

    def has_ext_modules(self):
        return True


setup(distclass=WithLibrary, cmdclass={"build_py": BuildLibrary, "bdist_wheel": WheelOfPlatform})
