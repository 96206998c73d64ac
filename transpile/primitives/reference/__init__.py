"""What the rows of special functions mean: textbook series and continued fractions with NumPy, in
the widest floating-point type there is."""
