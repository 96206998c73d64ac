"""Unroll-and-jam: several rows of a nest at a time, whose accumulators are in registers."""
