"""The two intermediate representations, graphs and loops: types, shapes, verifiers, rewriting."""
