"""From loops to C: expressions, statements, the text of a program."""
