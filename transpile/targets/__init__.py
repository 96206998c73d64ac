"""Targets besides C: what a program becomes on another machine, a package for each."""
