"""Functions that run on several devices at once."""
