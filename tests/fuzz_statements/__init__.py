"""Drawn functions of Python's statements: `programs` draws them, `search` compares them with what
Python makes of them, `__main__` does so for many.
"""
