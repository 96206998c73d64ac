"""The elements of arrays that statements read and assign to: which they are, and whether they exist."""
