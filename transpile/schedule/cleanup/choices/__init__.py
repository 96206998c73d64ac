"""Choices and conditions in scalar code."""
