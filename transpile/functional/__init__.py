"""Functions of functions: derivatives, batches, derivatives of one's own, as users call them."""
