"""Fill in the templates of C: `compiler.py` makes functions of them, `filling.py` calls these."""
