"""Primitives that become several others before lowering."""
