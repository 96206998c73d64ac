"""Updates of elements that may meet, made by many threads at once: results do not depend on their
order."""
