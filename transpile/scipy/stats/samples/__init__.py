"""Statistics of samples along an axis, with the names and arguments of `scipy.stats`."""
