"""Array manipulation: shapes, transposes, joins and splits."""
