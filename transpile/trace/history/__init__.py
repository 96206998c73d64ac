"""What a trace has met of the user's Python: functions, loops and branches, and what became of
them."""
