"""The bytecode of users' functions: what it reads by name, and copies that ask whom they call."""
