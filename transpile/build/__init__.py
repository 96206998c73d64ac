"""From a graph to a shared object: the pipeline, C compilers and their flags, support libraries."""
