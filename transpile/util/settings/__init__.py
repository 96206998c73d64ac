"""What is set for a thread, or for all: by a context, or by the configuration."""
