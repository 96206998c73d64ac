"""CUDA C++: a program of loops as kernels of a GPU, with the function that launches them."""
