"""Programs on disk: directories that are ours, entries, locks between processes."""
