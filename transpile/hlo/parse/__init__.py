"""Texts and messages of others as modules: the way back of `text.py`, `stablehlo.py`, `proto.py`.

    StableHLO --mlir--> operations --stablehlo--+
    HLO text ---------hlo_text------------------+--> Module, and where each instruction stands
    HloModuleProto ---proto---------------------+

A text is data, and is never evaluated. What is malformed or not understood raises HloError, which
says where. Nothing recurses over the length of a text; what nests deeper than `MOST_NESTED` is
refused.
"""
