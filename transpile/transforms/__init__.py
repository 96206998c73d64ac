"""Transform graphs: batching, forward and reverse differentiation, evaluation.

A transformation names no primitive: the rules are columns of the primitives. It retraces the graph
and applies the rule of each equation to tracers, so that a rule is written like any traced
function.
"""
