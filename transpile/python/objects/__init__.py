"""Objects that statements change: arrays and their views, lists and dicts."""
