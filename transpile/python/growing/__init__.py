"""Lists that statements of the program add elements to, and take them from."""
