"""Collectives: primitives over the examples of mapped axes, or the devices along them, by name."""
