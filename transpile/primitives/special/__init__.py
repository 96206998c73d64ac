"""Special functions, with their derivatives."""
