"""What statements of Python mean for traced values: branches, loops, their state, and built-ins."""
