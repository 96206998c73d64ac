"""Which values of a graph are stored, and which equations become one loop nest."""
