"""Programs in the process: loading, calls, dispatch by signature, memory, callbacks, devices."""
