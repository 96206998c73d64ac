"""Graph to Graph (and graph to values): transformations that name no primitive.

The rules stand in the rows. A transformation traces its result anew: it walks over the equations
and lets the rules append theirs, so that a rule is written like any traced function.
"""
