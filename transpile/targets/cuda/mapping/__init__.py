"""How the loops of a program become kernels: cut into launches, dealt out to threads."""
