"""Transformations of functions as users call them: derivatives, batches, custom derivatives."""
