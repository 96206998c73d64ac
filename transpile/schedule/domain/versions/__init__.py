"""Multiversioning: one test before a kernel or a loop chooses the text in which it is computed."""
