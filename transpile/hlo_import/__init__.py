"""Modules of XLA as functions: the way back of `transpile.hlo`.

    StableHLO, HLO text, HloModuleProto --hlo/parse--> Module --computations--> Graph --> a function

Each computation becomes a graph, callees first, so that nothing recurses over a module. An
instruction has a rule (`rules/`), which applies the functions of `transpile.lax` to its operands; a
computation that it calls is a function there. What loops, sorts and reductions mean is found in
their computations (`loops.py`, `orders.py`): a `while` that counts becomes a scan.
"""
