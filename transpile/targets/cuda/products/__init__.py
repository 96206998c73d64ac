"""What is computed with matrix products in one launch."""
