"""The peers of the benchmarks have a function for every case that names them, and no others.

Their modules are read, not imported: Numba and PyTorch are not installed for the tests.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.every_case import EVERY_CASE, base_name

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PEERS = ["numba", "torch"]


def modules(peer):
    """The syntax trees of a peer's modules by their names."""
    return {
        path.stem: ast.parse(path.read_text()) for path in sorted(BENCHMARKS.glob(f"{peer}_*.py"))
    }


def functions(tree):
    """The names of the functions of a module."""
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def table(peer):
    """The entries of FUNCTIONS, {case: syntax tree}."""
    for node in modules(peer)[f"{peer}_peer"].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FUNCTIONS":
            cases = [ast.literal_eval(key) for key in node.value.keys]
            assert len(cases) == len(set(cases))
            return dict(zip(cases, node.value.values, strict=True))
    raise AssertionError(f"{peer}_peer has no table of functions")


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_has_the_functions_of_the_cases_that_name_it(peer):
    named = {base_name(name) for name, case in EVERY_CASE.items() if peer in case.contestants}
    assert set(table(peer)) == named
    assert len(named) > 30


@pytest.mark.parametrize("peer", PEERS)
def test_the_entries_of_a_peer_are_functions_of_its_modules(peer):
    trees = modules(peer)
    for case, entry in table(peer).items():
        for node in ast.walk(entry):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in trees:
                assert node.attr in functions(trees[ast.unparse(node.value)]), case
            elif isinstance(node, ast.Name) and not isinstance(entry, ast.Attribute):
                known = functions(trees[f"{peer}_peer"]) | {"functional", "torch"}
                assert node.id in known, case


@pytest.mark.parametrize("peer", PEERS)
def test_no_function_of_a_peer_is_unused(peer):
    defined, used = set(), set()
    for tree in modules(peer).values():
        defined |= functions(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
    assert not defined - used
