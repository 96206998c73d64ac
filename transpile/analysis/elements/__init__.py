"""Elements of arrays that statements read and assign to: which they are, and if they exist."""
