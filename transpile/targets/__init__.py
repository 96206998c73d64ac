"""Targets other than the C of a processor: what programs are made for, built with, loaded by."""
