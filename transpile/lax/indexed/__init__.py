"""Gather, scatter, convolutions and windows."""
