"""Interpreters of loop programs that check each access, for tests."""
