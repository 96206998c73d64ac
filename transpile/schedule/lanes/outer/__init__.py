"""Lanes that are iterations of an outer loop, in strips of it that go through inner loops."""
