"""The words of commands."""
