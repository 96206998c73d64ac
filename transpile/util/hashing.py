"""The hash function of keys and contents, imported without `hashlib`, which loads OpenSSL."""

try:
    from _blake2 import blake2b  # 3 ms less than hashlib, which has it from there
except ImportError:  # another Python than CPython, or one built without it
    from hashlib import blake2b

__all__ = ["blake2b"]
