"""Parts that know nothing of arrays: records, late imports, locks, interrupts, files, texts."""
