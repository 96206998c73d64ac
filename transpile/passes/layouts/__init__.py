"""The order of axes: that of arguments and results in memory, of reductions, of computed values."""
