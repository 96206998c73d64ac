"""Programs that run on several devices of one process at once: a thread for each."""
