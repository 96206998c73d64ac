"""Texts and messages that are damaged at random are read, or refused with HloError."""

import random
import re

import numpy as np
import pytest
from thorough import one_in

from transpile import from_hlo, from_stablehlo, lax, xla_computation
from transpile.errors import HloError
from transpile.hlo_import.rules import control


def program(x):
    y, parts = lax.scan(lambda c, t: (c + t, c * t), x[0], np.sort(x))
    return lax.cond(y[0] > 0, np.sin, np.cos, y), parts[np.array([1, 0])], np.fft.rfft(x), x @ x.T


MADE = xla_computation(program)(np.ones((3, 4)))
PIECES = (
    *('"', "<", ">", "{", "}", "(", ")", "[", "]", "%", "#", "@", ":", ",", "->", "-1", "0"),
    *("9" * 30, "1e999", "nan", "tensor<", "dense<", "0x", "\n", "^bb0", " = ", "i1", "true", "\0"),
)


def damaged(text, draw):
    """One to three pieces left out, put in, moved, or numbers replaced."""
    for _ in range(draw.randint(1, 3)):
        at, end = (draw.randrange(len(text)) for _ in range(2))
        end = min(end, at + 40)
        numbers = list(re.finditer(r"\d+", text))
        match draw.randrange(4):
            case 0:
                text = text[:at] + text[max(at, end) :]
            case 1:
                text = text[:at] + draw.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[min(at, end) : max(at, end)][:40] + text[at:]
            case _:
                number = draw.choice(numbers)
                other = draw.choice(("0", "1", "7", "-1", str(2**63), "100000"))
                text = text[: number.start()] + other + text[number.end() :]
    return text


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("form", ["stablehlo", "hlo", "message"])
@one_in(2)
def test_damaged_modules_are_refused(form, seed):
    draw = random.Random(seed)
    refused = 0
    for _ in range(60):
        try:
            if form == "stablehlo":
                from_stablehlo(damaged(MADE.as_stablehlo_text(), draw))
            elif form == "hlo":
                from_hlo(damaged(MADE.as_hlo_text(), draw))
            else:
                data = bytearray(MADE.as_serialized_hlo_module_proto())
                for _ in range(draw.randint(1, 4)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
                from_hlo(bytes(data))
        except HloError:
            refused += 1
    assert refused > 20


def nested(depth):
    """Branches in each other."""
    kind = "tensor<4xf32>"
    text = "".join(f'%v{i} = "stablehlo.if"(%c) ({{\n' for i in range(depth))
    text += f"stablehlo.return %x : {kind}\n"
    for i in reversed(range(depth)):
        text += f"}}, {{ stablehlo.return %x : {kind} }}) : (tensor<i1>) -> {kind}\n"
        text += f"stablehlo.return %v{i} : {kind}\n" if i else ""
    return (
        f"func.func @main(%x: {kind}, %c: tensor<i1>) -> {kind} {{\n{text}return %v0 : {kind}\n}}"
    )


def test_deep_nesting_is_read_or_refused():
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(from_stablehlo(nested(30))(x, np.True_), x)
    for text in (nested(1000), "func.func @main() {\n%0 = a {b = " + "[" * 50_000):
        with pytest.raises(HloError, match="nested deeper than 64 levels"):
            from_stablehlo(text)
    with pytest.raises(HloError, match="nested deeper than 64 levels"):
        from_hlo("ENTRY e {\n a = " + "(" * 50_000)


def test_long_chains_of_calls_are_inlined_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(control, "MOST_EQUATIONS", 5000)
    kind = "tensor<f32>"

    def chain(count, calls):
        lines = []
        for i in range(count):
            body = "".join(
                f"%{k} = call @f{i + 1}(%{'x' if not k else k - 1}) : ({kind}) -> {kind}\n"
                for k in range(calls)
            )
            lines.append(
                f"func.func @f{i}(%x: {kind}) -> {kind} {{ {body} return %{calls - 1} : {kind} }}"
            )
        last = f"func.func @f{count}(%x: {kind}) -> {kind} {{ %0 = stablehlo.sine %x : {kind}\n"
        return "\n".join(lines) + "\n" + last + f"return %0 : {kind} }}"

    assert from_stablehlo(chain(1000, 1))(np.float32(0)) == 0
    with pytest.raises(HloError, match="with all calls inlined there are more than"):
        from_stablehlo(chain(40, 2))
