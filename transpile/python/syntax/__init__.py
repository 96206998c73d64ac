"""From the source of a function to one in which statements that choose or repeat are calls."""
