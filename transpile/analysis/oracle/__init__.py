"""An interpreter of loop programs that checks every access: the oracle of the tests."""
