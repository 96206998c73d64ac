"""Intrinsics: the routines that programs call, with their operands, meaning, cost and spelling."""
