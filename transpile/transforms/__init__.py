"""Graph to Graph (and graph to values): transformations that name no primitive."""
