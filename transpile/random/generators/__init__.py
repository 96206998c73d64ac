"""The generators of random bits: Threefry-2x32, which is the default, and those that JAX has beside
it. Each says what the bits of a key are, and which keys are derived from it."""
