"""Memory of results: a pool of large blocks, and run-time alias tests."""
