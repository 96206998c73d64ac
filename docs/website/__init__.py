"""The documentation site: pages of this repository, and pages made from its code, for Sphinx."""
