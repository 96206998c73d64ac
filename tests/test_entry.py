import json
import os
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transpile.cache import Cache
from transpile.entry import identifier, key

PARTS = {"program": "int f(void);", "flags": "-O3"}


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


class Builder:
    """A builder that counts how often it ran."""

    count = 0

    def __call__(self, directory):
        self.count += 1
        (directory / "program.c").write_text("int f(void);")
        (directory / "program.so").write_text("machine code")


parts = st.dictionaries(st.text(), st.text(), max_size=4)


@settings(max_examples=50)
@given(parts, parts)
def test_key_is_equal_exactly_when_the_ingredients_are(first, second):
    assert (key(first) == key(second)) == (first == second)
    assert key(first) == key(dict(reversed(first.items())))


def test_key_keeps_neighbouring_texts_apart():
    lists = [{"ab": "c"}, {"a": "bc"}, {"abc": ""}, {"a": "", "b": "c"}, {"a": "b", "c": ""}, {}]
    assert len({key(parts) for parts in lists}) == len(lists)
    assert len(key({})) == 20
    assert key({"x": "\ud800"}) != key({"x": "?"})


@given(st.text())
def test_identifier_is_a_bounded_c_identifier(name):
    cleaned = identifier(name)
    assert cleaned.isidentifier() and cleaned.isascii() and len(cleaned) <= 48


def test_identifier_keeps_a_good_name():
    assert identifier("softmax_2") == "softmax_2"
    assert identifier("<lambda>") == "_lambda_"
    assert identifier("2x") == "_2x" and identifier("") == "_"


# -- damage ----------------------------------------------------------------------------------------


def truncate(entry):
    os.truncate(entry.path("program.so"), 5)


def truncate_source(entry):
    os.truncate(entry.path("program.c"), 5)


def overwrite(entry):
    entry.path("program.so").write_text("MACHINE CODE")


def lose_program(entry):
    entry.path("program.so").unlink()


def lose_meta(entry):
    entry.path("meta.json").unlink()


def garble_meta(entry):
    entry.path("meta.json").write_bytes(b"\x00" * 100)


def empty_meta(entry):
    entry.path("meta.json").write_text(json.dumps({"key": entry.key, "files": {"x": 1}}))


def open_to_others(entry):
    entry.directory.chmod(0o770)


def open_program_to_others(entry):
    entry.path("program.so").chmod(0o666)


def link_program(entry):
    entry.path("program.so").rename(entry.directory.parent / "elsewhere")
    entry.path("program.so").symlink_to(entry.directory.parent / "elsewhere")


def link_directory(entry):
    entry.directory.rename(entry.directory.parent / "elsewhere")
    entry.directory.symlink_to(entry.directory.parent / "elsewhere")


def be_a_file(entry):
    shutil.rmtree(entry.directory)
    entry.directory.touch()


def give_away(entry):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(entry.directory, 65534, 65534)


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        truncate_source,
        overwrite,
        lose_program,
        lose_meta,
        garble_meta,
        empty_meta,
        be_a_file,
        open_to_others,
        open_program_to_others,
        link_program,
        link_directory,
        give_away,
    ],
)
def test_a_damaged_entry_is_never_used_and_built_again(cache, damage):
    build = Builder()
    damage(cache.get_or_build("f", PARTS, build))
    assert cache.get("f", PARTS) is None
    assert "damaged" in cache.explain("f", PARTS) or "first" in cache.explain("f", PARTS)
    entry = cache.get_or_build("f", PARTS, build)
    assert build.count == 2 and entry.path("program.so").read_text() == "machine code"
    assert cache.get("f", PARTS) == entry and not os.listdir(cache.directory / "building")
