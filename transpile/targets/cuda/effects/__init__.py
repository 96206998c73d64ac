"""What a program does besides computing: ends with errors, calls of functions of the host."""
