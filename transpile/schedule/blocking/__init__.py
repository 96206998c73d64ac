"""Tiling, packing and fusion over blocks of rows."""
