"""Programs on a GPU: devices, streams, memory, arrays, transfers, calls."""
