"""What is shown to people at a terminal, and in notebooks, while they wait.

status_line.py   a line that says what is waited for, and goes with it
"""
