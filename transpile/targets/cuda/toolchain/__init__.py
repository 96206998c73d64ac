"""nvcc, and CUDA's library for the host: where they are, and how programs are built with them."""
