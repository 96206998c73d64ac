"""The jitted function: signatures, traces that are kept, settings."""
