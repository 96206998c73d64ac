"""Utilities without arrays: records, lazy imports, locks, interrupts, atomic files, texts.

Six of them replace parts of the standard library for start-up time alone. Each line has the
increase without it, in milliseconds of CPU time: to import transpile after NumPy, for a first call
of a program from the cache, and from a function of some hundred operations to its C (`python -m
benchmarks.startup_parts`, medians of 24 rounds on a busy machine, where differences below 10 ms are
noise; transpile itself takes 172, 56 and 471).

    frozen_records.dataclass   dataclasses                      +19   +19   +48
    frozen_records.replace     dataclasses.replace               +3    +1   +15
    lazy.imports.Later         imports at once                 +394   -44  -298
    lazy.imports.on_demand     names imported at once          +351   -45   -47
    lazy.registry              all primitives at once          +143    -1   -82
    lazy.loggers               logging                           +9    +1    +0
    hashing                    hashlib                          +10    -1    -8
    gc_pause                   a collector that runs on          +6    +1   +58

To import `logging` and `hashlib` by themselves takes 4.0 and 2.7 ms, the least of 25 processes. A
`replace` takes 1.2 microseconds less than that of dataclasses; the function above has 2,000 of them
on its way to C, which is 2.4 ms. Nothing here saves less than 2 ms.
"""
