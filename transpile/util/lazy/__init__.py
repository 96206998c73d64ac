"""Lazy imports, registries and loggers, which keep `import transpile` short."""
