"""Random bits by a generator's state: Threefry, as XLA draws them.

The state is a key and a counter of 64 bits each.
"""

from __future__ import annotations

from typing import Any

from transpile.hlo_import.context import Call, Rules


def rng_bit_generator(call: Call, state: Any) -> list[Any]:
    """The next state, and bits."""
    raise call.fail(f"the generator {call.get('algorithm', str)} is not supported")


RULES: Rules = {"rng-bit-generator": rng_bit_generator}
