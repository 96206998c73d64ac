"""XLA's HLO: a graph as a module that XLA reads, beside the programs in C.

    Graph --expand--> Graph --emit--> Module --text, proto, stablehlo, dot--> what others read

A primitive that XLA has an instruction for has a rule (`rules/`), which adds that instruction; one
that it has none for has an expansion (`expansions/`), a function over simpler primitives, traced
where it is needed. A module is data; the writers only print it. Nothing is compiled here.
"""
