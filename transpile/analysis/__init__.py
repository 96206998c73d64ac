"""Analyses of graphs and loops, which change nothing: costs, value ranges, pictures."""
