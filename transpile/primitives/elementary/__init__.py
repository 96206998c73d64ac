"""Elementary functions, with their derivatives."""
