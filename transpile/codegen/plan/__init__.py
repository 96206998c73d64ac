"""What is decided on the loops before there is a text."""
