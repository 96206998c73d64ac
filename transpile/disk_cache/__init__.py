"""The on-disk cache: private directories, entries with digests, locks between processes."""
