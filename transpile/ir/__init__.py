"""The two forms of a program, graphs and loops, with their types, sizes, checks and rewriting."""
