"""How many threads programs have: control groups as files, and what processes are given."""

import os
import subprocess
from pathlib import Path

import pytest

from transpile.build import toolchain
from transpile.options import Options

ROOT = Path(__file__).parents[2]
COMPILER = toolchain.find_compiler(Options())

pytestmark = [
    pytest.mark.full_level,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("processors") / "processors"
    strict = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-g"]
    sources = [ROOT / "tests" / "c" / "processors.c", f"-I{ROOT / 'runtime_c' / 'python'}"]
    subprocess.run([*COMPILER.command, *strict, *sources, "-o", path], check=True)
    return path


NEW = "29 23 0:26 {from_} {to} rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate"
OLD = "33 24 0:29 {from_} {to} rw,nosuid shared:9 - cgroup cgroup rw,{controllers}"
OTHERS = [
    "22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw",
    "28 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "40 28 0:44 / /mnt rw - fuse - rw",
    "damaged",
]


def new(to="/sys/fs/cgroup", from_="/"):
    return NEW.format(from_=from_, to=to)


def old(controllers, to, from_="/"):
    return OLD.format(from_=from_, to=to, controllers=controllers)


def paid(program, tmp_path, groups, mounts, files):
    """What the program says of a machine with these files."""
    everything = {
        "proc/self/cgroup": "".join(f"{line}\n" for line in groups),
        "proc/self/mountinfo": "".join(f"{line}\n" for line in [*OTHERS, *mounts]),
        **files,
    }
    for name, text in everything.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([program, tmp_path], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    "text, processors",
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("100001 100000\n", 2),
        ("50000 100000\n", 1),
        ("1000 100000\n", 1),
        ("6400000 100000\n", 64),
        ("max 100000\n", 0),
        ("max\n", 0),
        ("", 0),
        ("nonsense\n", 0),
        ("200000 0\n", 0),
        ("-1 100000\n", 0),
        ("99999999999999999999 1\n", 0),
    ],
)
def test_version_2_says_quota_and_period_in_a_line(program, tmp_path, text, processors):
    files = {"sys/fs/cgroup/app.slice/cpu.max": text}
    assert paid(program, tmp_path, ["0::/app.slice"], [new()], files) == processors


@pytest.mark.parametrize(
    "quota, period, processors",
    [("300000", "100000", 3), ("-1", "100000", 0), ("25000", "50000", 1), ("0", "100000", 0)],
)
def test_version_1_says_them_in_a_file_each(program, tmp_path, quota, period, processors):
    where = "sys/fs/cgroup/cpu,cpuacct/docker/abc"
    files = {f"{where}/cpu.cfs_quota_us": quota, f"{where}/cpu.cfs_period_us": period}
    groups = ["11:cpuset:/elsewhere", "4:cpu,cpuacct:/docker/abc", "1:name=systemd:/x", "0::/"]
    mounts = [
        old("cpuset", "/sys/fs/cgroup/cpuset"),
        old("cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
    ]
    assert paid(program, tmp_path, groups, mounts, files) == processors


def test_the_least_quota_of_a_group_and_those_around_it_counts(program, tmp_path):
    top = "sys/fs/cgroup"
    files = {
        f"{top}/a/cpu.max": "500000 100000\n",
        f"{top}/a/b/cpu.max": "200000 100000\n",
        f"{top}/a/b/c/cpu.max": "800000 100000\n",
        f"{top}/a/other/cpu.max": "100000 100000\n",
    }
    assert paid(program, tmp_path, ["0::/a/b/c"], [new()], files) == 2
    assert paid(program, tmp_path, ["0::/a/b/c/d/e"], [new()], files) == 2
    assert paid(program, tmp_path, ["0::/a"], [new()], files) == 5
    assert paid(program, tmp_path, ["0::/"], [new()], files) == 0


def test_a_container_sees_its_own_group_at_the_top(program, tmp_path):
    files = {"sys/fs/cgroup/cpu.max": "400000 100000\n"}
    assert paid(program, tmp_path, ["0::/"], [new()], files) == 4
    # The name that the machine has for the group, and what of the hierarchy is mounted.
    mounted = [new(from_="/docker/abc")]
    assert paid(program, tmp_path, ["0::/docker/abc"], mounted, files) == 4
    assert paid(program, tmp_path, ["0::/../other"], [new()], files) == 4
    inner = {**files, "sys/fs/cgroup/inner/cpu.max": "100000 100000\n"}
    assert paid(program, tmp_path, ["0::/docker/abc/inner"], mounted, inner) == 1


def test_both_versions_side_by_side(program, tmp_path):
    groups = ["4:cpu,cpuacct:/x", "0::/y"]
    mounts = [old("cpuacct,cpu", "/cg/cpu"), new("/cg/unified")]
    files = {"cg/cpu/x/cpu.cfs_quota_us": "300000", "cg/cpu/x/cpu.cfs_period_us": "100000"}
    assert paid(program, tmp_path, groups, mounts, files) == 3
    files["cg/unified/y/cpu.max"] = "200000 100000"
    assert paid(program, tmp_path, groups, mounts, files) == 2


def test_without_files_there_is_no_limit(program, tmp_path):
    done = subprocess.run([program, tmp_path / "no"], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_long_lines_and_names_are_no_matter(program, tmp_path):
    name = "/" + "a" * 200 + ("/" + "b" * 200) * 10
    files = {f"sys/fs/cgroup{name}/cpu.max": "200000 100000"}
    assert paid(program, tmp_path, [f"0::{name}"], [new()], files) == 2
    long = "0::/" + "c" * 9000
    assert paid(program, tmp_path / "x", [long], [new()], {}) == 0
