import json
import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transpile.disk_cache.cache import Cache
from transpile.disk_cache.cache_entry import DamagedError, identifier, key
from transpile.disk_cache.cache_ownership import META
from transpile.disk_cache.sealed_json import seal, unseal

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
        (directory / "meta.json").write_text('{"workspace": 4096}')


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


def pipe_meta(entry):
    entry.path("meta.json").unlink()
    os.mkfifo(entry.path("meta.json"), 0o600)


def pipe_program(entry):
    entry.path("program.so").unlink()
    os.mkfifo(entry.path("program.so"), 0o600)


def swap_files(entry):
    entry.path("program.c").replace(entry.path("program.so"))


def nest_meta(entry):  # a parser without a bound on nesting would end in a RecursionError
    entry.path("meta.json").write_text("[" * 100_000 + "]" * 100_000)


def larger_workspace(entry):
    meta = entry.path("meta.json")
    meta.write_text(meta.read_text().replace('"workspace": 4096', '"workspace": 4296'))


def other_file(entry):  # sound but for what it names
    meta = json.loads(entry.path("meta.json").read_text())
    meta["files"]["../../outside"] = meta["files"].pop("program.c")
    del meta["checksum"]
    entry.path("meta.json").write_text(json.dumps(meta))


def is_sound(cache):
    entry = cache.get("f", PARTS)
    if entry is None:
        return False
    try:
        entry.verify()
    except DamagedError:
        return False
    return True


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
        pipe_meta,
        pipe_program,
        swap_files,
        nest_meta,
        larger_workspace,
        other_file,
    ],
)
def test_a_damaged_entry_is_never_used_and_built_again(cache, damage):
    build = Builder()
    damage(cache.get_or_build("f", PARTS, build))
    assert not is_sound(cache)
    entry = cache.get_or_build("f", PARTS, build)
    assert build.count == 2 and entry.path("program.so").read_text() == "machine code"
    assert cache.get("f", PARTS) == entry and not os.listdir(cache.directory / "building")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_changed_byte_of_an_entry_is_believed(cache, data):
    entry = cache.get_or_build("f", PARTS, Builder())
    path = entry.path(data.draw(st.sampled_from([META, *entry.meta["files"]])))
    before = path.read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != before[at]))
    kept = data.draw(st.sampled_from([at + 1, len(before)]))  # the rest of the file, or not
    path.write_bytes((before[:at] + bytes([byte]) + before[at + 1 :])[:kept])
    assert not is_sound(cache)
    path.write_bytes(before)
    assert is_sound(cache)


def test_every_size_of_file_is_hashed(cache):
    size = 9 << 20

    def build(directory):
        (directory / "program.so").write_bytes(bytes(size))

    path = cache.get_or_build("f", PARTS, build).path("program.so")
    with open(path, "r+b") as file:
        file.seek(size - 1)
        file.write(b"\1")
    assert not is_sound(cache)


def test_meta_is_json_that_people_and_programs_read(cache):
    entry = cache.get_or_build("f", PARTS, Builder())
    meta = json.loads(entry.path(META).read_text())
    assert len(meta.pop("checksum")) == 64 and meta == entry.meta


values = st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans()))


@given(values, st.data())
def test_what_is_sealed_comes_back_and_nothing_else_does(values, data):
    values.pop("checksum", None)
    sealed = seal(values)
    assert unseal(sealed) == values
    at = data.draw(st.integers(0, len(sealed) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    damaged = sealed[:at] + bytes([sealed[at] ^ bit]) + sealed[at + 1 :]
    for other in (damaged, sealed[:at], sealed + b" ", b"{}"):
        with pytest.raises(ValueError, match="checksum"):
            unseal(other)
