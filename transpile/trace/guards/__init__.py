"""Guards of what a trace read from its environment: found by static analysis, checked at calls."""
