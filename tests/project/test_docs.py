"""The documentation is true: its code runs, and what it shows is what comes out today.

A document's Python blocks run one after another in one namespace; a block whose first line is a
comment `# name.py` is that file. A block of C or plain text after one of Python occurs in what that
printed. A block of C that starts with `/* name.c */` is written to that file, and the commands of a
console block run in the same folder and print what stands under them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from transpile import Options
from transpile.ir.primitive import TABLE

pytestmark = pytest.mark.full_level

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    return [(match[1], match[2]) for match in BLOCK.finditer(text)]


def run_python(code, name, namespace):
    """What a block prints."""
    named = re.match(r"# (\w+\.py)\n", code)
    path = Path(named[1] if named else name)
    path.write_text(code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # A file has what it imports itself, and what follows has what the file has.
        scope = {"__name__": path.stem} if named else namespace
        exec(compile(code, str(path), "exec", dont_inherit=True), scope)
        namespace.update(scope)
    return printed.getvalue()


def run_console(text):
    """Run the commands of a console block; each prints at least what is shown under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if command.startswith("python "):
            command = f"{shlex.quote(sys.executable)} {command.removeprefix('python ')}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert shown.strip() in done.stdout


def test_each_decision_has_a_letter_of_its_own():
    """As which other pages refer to it."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    letters = [page.name.partition("-")[0] for page in pages]
    assert letters == [chr(ord("a") + k) for k in range(len(pages))]
    for page, letter in zip(pages, letters, strict=True):
        assert page.read_text(encoding="utf-8").startswith(f"# {letter}. "), page.name


@pytest.fixture
def the_table_as_it_was():
    """Rows that an example adds are gone when it has run."""
    before = dict(TABLE)
    yield
    TABLE.clear()
    TABLE.update(before)


@pytest.fixture
def loggers_as_they_were():
    """Levels and handlers that an example sets are no concern of later tests in this process."""
    loggers = [logging.getLogger(f"transpile{part}") for part in ("", ".cache", ".build")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.usefixtures("the_table_as_it_was", "loggers_as_they_were")
def test_the_examples_of_a_document_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRANSPILE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    printed = ""
    namespace = {"__name__": "document"}
    for number, (language, code) in enumerate(blocks(document)):
        file = re.match(r"/\* (\w+\.[ch]) \*/\n", code)
        if language == "python":
            printed = run_python(code, f"block{number}.py", namespace)
        elif language == "console":
            run_console(code)
        elif file:
            Path(file[1]).write_text(code)
        elif language in ("c", "text"):
            assert code.strip() in printed, f"block {number} of {document} is out of date"


def test_the_readme_shows_python_c_and_a_program():
    languages = [language for language, _ in blocks("README.md")]
    assert languages[:2] == ["python", "c"]
    assert languages.count("console") == 2


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    folder = (ROOT / document).parent
    assert [link for link in linked(text) if not folder.joinpath(link).exists()] == []


def linked(text):
    """The files that a text links to."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", BLOCK.sub("", text))
    return [target for target in targets if "://" not in target]


def test_links_are_seen():
    text = "[a](docs/a.md) and [b](b.md#part)\n```c\nx[0](y)\n```\n[c](https://d.org/e.md)"
    assert linked(text) == ["docs/a.md", "b.md"]


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    names = re.findall(r"`((?:transpile|templates|runtime_c|tests|docs|benchmarks)/[\w./]+)`", text)
    assert names and [name for name in names if not (ROOT / name).exists()] == []


def test_the_readme_lists_every_option_and_its_default():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", text, re.MULTILINE)
    assert rows == [
        (name, repr(value).replace("'", '"')) for name, value in vars(Options()).items()
    ]


def test_sentences_of_the_architecture_are_short():
    text = re.sub(r"```.*?```", "", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), flags=re.DOTALL)
    sentences = re.split(r"(?<=[.!?:])\s+|\n\n|^\|.*$", text, flags=re.MULTILINE)
    assert [s for s in sentences if s and len(s.split()) > 40] == []


def test_the_picture_of_the_packages_is_drawn_from_the_imports():
    script = ROOT / "docs" / "package_picture.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert done.stdout in text, "run docs/package_picture.py --write"


def test_architecture_walks_through_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = {path.name for path in (ROOT / "transpile").glob("*.py")} - {"__init__.py"}
    packages = {f"{path.parent.name}/" for path in (ROOT / "transpile").glob("*/__init__.py")}
    assert {name for name in modules | packages if f"`{name}`" not in text} == set()


def test_from_scratch_runs_and_is_short():
    script = ROOT / "docs" / "from_scratch.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 300
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "both agree with NumPy" in done.stdout


def test_the_commands_of_the_makefile_are_explained():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()) - {"compiler"}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {name for name in targets if f"`make {name}`" in text} == targets


def asking_for_jax():
    paths = (ROOT / "tests").rglob("test_*.py")
    return [p for p in paths if re.search(r'importorskip\("jax', p.read_text(encoding="utf-8"))]


def imported(path, seen):
    """The packages that a file of tests imports, and the files of ours that it imports."""
    if path in seen:
        return set()
    seen.add(path)
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in (name.partition(".")[0] for name in names):
            folders = path.parent, ROOT / "tests/support"
            ours = [f / f"{name}.py" for f in folders if (f / f"{name}.py").exists()]
            found |= imported(ours[0], seen) if ours else {name}
    return found


def test_tests_that_ask_for_jax_have_all_else_beside_it():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["compat"]]
    there = {re.match(r"\w+", word)[0].replace("protobuf", "google") for word in needed}
    packages = set().union(*(imported(path, set()) for path in asking_for_jax()))
    ours = {path.name for path in (ROOT / "tests/support").iterdir()} | {"transpile"}
    assert packages - there - ours - sys.stdlib_module_names == set()


def test_tests_that_ask_for_jax_are_run_beside_it():
    """Elsewhere they are skipped: one that no command runs would go on being skipped for ever."""
    asking = {str(path.relative_to(ROOT)) for path in asking_for_jax()}
    commands = [
        subprocess.run(["make", "-n", name], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in ("compat", "xla")
    ]
    named = {word for done in commands for word in done.stdout.split() if word.startswith("tests/")}
    run = {name for name in asking if any(name == n or name.startswith(f"{n}/") for n in named)}
    assert len(asking) > 15 and run == asking


def test_every_variable_of_the_environment_is_in_the_table():
    """What the code reads with the package's prefix, and what else it asks the environment for."""
    text = (ROOT / "docs/environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    read = set()
    for folder in ("transpile", "runtime_c", "templates"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".py", ".h", ".c", ".j2"):
                code = path.read_text(encoding="utf-8")
                asked = r"(?:environ\.get|getenv|setting)\(\s*\"(\w+)\""
                read.update(re.findall(asked, code))
                read.update(re.findall(r"\"(TRANSPILE_[A-Z_]+[A-Z])\"", code))
    of_the_system = {"PATH", "HOME"}
    assert {name for name in listed if name.startswith("TRANSPILE_")} == {
        name for name in read if name.startswith("TRANSPILE_")
    }
    assert read - of_the_system <= listed


def test_every_logger_is_in_the_table():
    text = (ROOT / "docs/environment.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([\w.]+)` \| [A-Z]+ \|", text, re.MULTILINE))
    used = set()
    for path in (ROOT / "transpile").rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        used.update(re.findall(r"= (?:Log|logging\.getLogger)\(\"([\w.]+)\"\)", code))
    assert listed == used
