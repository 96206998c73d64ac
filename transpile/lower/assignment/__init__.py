"""The parts of storage assignment: places of values, carries, loops and branches, calls, memory."""
