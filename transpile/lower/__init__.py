"""From a graph to loops: storage, loop nests, library calls, control flow."""
