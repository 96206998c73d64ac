"""Sorting, searching, sets, histograms and quantiles."""
