"""What is found out about graphs and loops without changing them: cost, ranges, pictures."""
